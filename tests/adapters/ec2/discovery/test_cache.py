from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.adapters.ec2.refusals import SleptTime
from tests.probes import PlainDice
from treenail.adapters.ec2.discovery.cache import AnswerCaches, Remembered
from treenail.domain.model.errors import InvalidError, PortError, UnavailableError


class Source:
    """Answers what it is told to, and counts how often it was asked."""

    def __init__(self, *answers: str | PortError) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, key: str) -> str:
        self.asked.append(key)
        answer = self.answers.pop(0)
        if isinstance(answer, PortError):
            raise answer
        return answer


class Rig:
    def __init__(self) -> None:
        self.time = SleptTime()
        self.lines: list[str] = []
        self.caches = AnswerCaches(self.time, PlainDice(), self._log)

    def _log(self, message: str, /, **fields: object) -> None:
        self.lines.append(f"{message}: {fields['error']}")

    def of(
        self,
        fetch: Callable[[str], str],
        *,
        seconds: float = 100,
        stand_in: str | None = None,
        patience: float | None = None,
    ) -> Remembered[str, str]:
        return self.caches.of(
            "things", fetch, seconds=seconds, retry_seconds=20, stand_in=stand_in, patience=patience
        )


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_an_answer_is_fetched_once_while_it_is_fresh(rig: Rig) -> None:
    source = Source("one", "two")
    things = rig.of(source)

    first = [things.get("a"), things.get("a")]
    rig.time.seconds = 101

    assert first == ["one", "one"]
    assert things.get("a") == "two"


def test_answers_are_kept_by_key(rig: Rig) -> None:
    source = Source("one", "two")
    things = rig.of(source)

    assert [things.get("a"), things.get("b"), things.get("a")] == ["one", "two", "one"]
    assert source.asked == ["a", "b"]


def test_an_answer_lives_a_little_less_than_its_time_by_luck(rig: Rig) -> None:
    class Early:
        def uniform(self, low: float, high: float) -> float:
            assert (low, high) == (0.9, 1.0)
            return low

        def token(self) -> str:
            raise AssertionError

    things = AnswerCaches(rig.time, Early(), rig._log).of("things", Source("one", "two"), seconds=100)
    things.get("a")
    rig.time.seconds = 91

    assert things.get("a") == "two"


def test_an_empty_answer_is_looked_at_again_soon(rig: Rig) -> None:
    things = rig.of(Source("", "", "found"))
    found = [things.get("a"), things.get("a")]
    rig.time.seconds = 11
    found.append(things.get("a"))
    rig.time.seconds = 22

    assert [*found, things.get("a")] == ["", "", "", "found"]


def test_where_fetching_fails_the_previous_answer_stands_for_a_while(rig: Rig) -> None:
    source = Source("one", UnavailableError("gone"), InvalidError("not allowed"), "two")
    things = rig.of(source)
    found = [things.get("a")]
    for second in (101, 110, 122, 130, 143):
        rig.time.seconds = second
        found.append(things.get("a"))

    assert found == ["one", "one", "one", "one", "one", "two"]
    assert len(source.asked) == 4
    assert rig.lines == [
        "cannot look up things, going on with what is known: gone",
        "cannot look up things, going on with what is known: not allowed",
    ]


def test_an_error_is_raised_where_nothing_is_known_and_the_next_call_tries_again(rig: Rig) -> None:
    things = rig.of(Source(UnavailableError("gone"), "one"))

    with pytest.raises(UnavailableError, match="gone"):
        things.get("a")
    assert things.get("a") == "one"


def test_a_stand_in_stands_until_there_is_an_answer(rig: Rig) -> None:
    source = Source(UnavailableError("gone"), "one")
    things = rig.of(source, stand_in="shipped")

    found = [things.get("a"), things.get("a")]
    rig.time.seconds = 21

    assert [*found, things.get("a")] == ["shipped", "shipped", "one"]


def test_what_will_be_old_soon_is_fetched_ahead_of_time(rig: Rig) -> None:
    source = Source("one", "two")
    things = rig.of(source)
    things.get("a")
    rig.time.seconds = 50

    assert things.fresh("a")
    assert not things.fresh("a", ahead=60)
    assert things.get("a", ahead=39) == "one"
    assert things.get("a", ahead=60) == "two"


def test_what_is_forgotten_is_fetched_anew(rig: Rig) -> None:
    things = rig.of(Source("one", "two"))
    things.get("a")
    things.forget("a")

    assert not things.fresh("a")
    assert things.get("a") == "two"


class Slow:
    """Answers when it is let go, and tells when it was asked."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.asked = Event()
        self.go = Event()
        self.calls = 0

    def __call__(self, key: str) -> str:
        del key
        self.calls += 1
        self.asked.set()
        assert self.go.wait(5)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_all_who_ask_at_once_have_the_answer_of_one_call(rig: Rig) -> None:
    source = Slow("one")
    things = rig.of(source)
    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(things.get, "a") for _ in range(4)]
        assert source.asked.wait(5)
        source.go.set()

        assert [one.result(5) for one in asking] == ["one"] * 4
    assert source.calls == 1


def test_nobody_waits_for_what_is_known_while_it_is_fetched_anew(rig: Rig) -> None:
    source = Slow("one", "two")
    source.go.set()
    things = rig.of(source)
    things.get("a")
    rig.time.seconds = 101
    source.go.clear()
    source.asked.clear()
    with ThreadPoolExecutor(1) as threads:
        refreshing = threads.submit(things.get, "a")
        assert source.asked.wait(5)
        meanwhile = things.get("a")
        source.go.set()

        assert (meanwhile, refreshing.result(5), things.get("a")) == ("one", "two", "two")


def test_whoever_has_but_a_stand_in_waits_for_the_answer(rig: Rig) -> None:
    source = Slow(UnavailableError("gone"), "one")
    source.go.set()
    things = rig.of(source, stand_in="shipped")
    things.get("a")
    rig.time.seconds = 21
    source.go.clear()
    source.asked.clear()
    with ThreadPoolExecutor(2) as threads:
        asking = [threads.submit(things.get, "a") for _ in range(2)]
        assert source.asked.wait(5)
        source.go.set()

        assert [one.result(5) for one in asking] == ["one", "one"]


def test_whoever_runs_out_of_patience_takes_the_stand_in_and_the_answer_comes_yet(rig: Rig) -> None:
    source = Slow("one")
    things = rig.of(source, stand_in="shipped", patience=0.0)
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(things.get, "a")
        assert source.asked.wait(5)
        meanwhile = things.get("a"), things.last("a")
        source.go.set()

        assert (meanwhile, asking.result(5)) == (("shipped", None), "one")
    assert things.get("a") == things.last("a") == "one"


@pytest.mark.parametrize("error", [UnavailableError("gone"), ZeroDivisionError("a defect")])
def test_all_who_wait_have_the_error_too_and_nobody_waits_for_ever(rig: Rig, error: Exception) -> None:
    source = Slow(error, "one")
    things = rig.of(source)
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(things.get, "a")
        assert source.asked.wait(5)
        # What others would wait for: whether another thread does already cannot be seen.
        awaited = things._flights["a"]
        source.go.set()

        assert asking.exception(5) is error
        assert awaited.exception(5) is error
    assert things.get("a") == "one"
