from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.model.backoff import CALLS, Backoff, Retries

BACKOFF = Backoff(first=0.5, longest=3.0)
BACKOFFS = st.builds(
    Backoff,
    first=st.floats(0.001, 60),
    longest=st.floats(60, 1e6),
    factor=st.floats(1, 10),
    jitter=st.floats(0, 1),
)


def highest(low: float, high: float) -> float:
    assert low == high / 2
    return high


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 20), (7, 20), (10_000, 20)]
)
def test_pauses_of_calls_double_up_to_twenty_seconds(failures: int, seconds: float) -> None:
    assert CALLS.after(failures) == seconds


def test_a_factor_makes_pauses_grow_faster() -> None:
    backoff = Backoff(first=0.2, longest=5.0, factor=4.0)

    assert [backoff.after(n) for n in range(1, 5)] == pytest.approx([0.2, 0.8, 3.2, 5.0])


@given(backoff=BACKOFFS, failures=st.integers(1, 10_000), chance=st.floats(0, 1))
def test_a_pause_is_within_its_bounds_whatever_chance_says(
    backoff: Backoff, failures: int, chance: float
) -> None:
    low, high = backoff.bounds(failures)

    assert 0 <= low <= backoff.after(failures, chance) <= high <= backoff.longest


@given(backoff=BACKOFFS, failures=st.integers(1, 10_000))
def test_no_pause_is_shorter_than_the_one_before(backoff: Backoff, failures: int) -> None:
    assert backoff.after(failures) <= backoff.after(failures + 1)


def test_each_failure_is_waited_out_twice_as_long_up_to_a_limit() -> None:
    retries = Retries(BACKOFF, highest)

    assert [retries.failed() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_success_starts_it_anew() -> None:
    retries = Retries(BACKOFF, highest)
    retries.failed()
    retries.failed()

    retries.succeeded()

    assert retries.failures == 0
    assert retries.failed() == 0.5


def test_a_pause_that_somebody_asked_for_is_exceeded() -> None:
    assert Retries(BACKOFF, highest).failed(at_least=7) == 7.5
