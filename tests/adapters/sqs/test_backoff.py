from __future__ import annotations

from treenail.adapters.sqs.backoff import Backoff


class Highest:
    def uniform(self, low: float, high: float) -> float:
        assert low == high / 2
        return high

    def token(self) -> str:
        return ""


def test_each_failure_is_waited_out_twice_as_long_up_to_a_limit() -> None:
    backoff = Backoff(Highest(), first=0.5, most=3.0)

    assert [backoff.next() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_success_starts_it_anew() -> None:
    backoff = Backoff(Highest(), first=0.5, most=3.0)
    backoff.next()
    backoff.next()

    backoff.reset()

    assert backoff.next() == 0.5


def test_a_thousand_failures_are_no_larger_a_wait() -> None:
    backoff = Backoff(Highest())

    assert {backoff.next() for _ in range(2000)} <= {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0}
