from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Any

import pytest

from treenail.adapters.runtime.timers import ThreadTimers

SECONDS = 5.0


class Clock:
    """A clock that a test moves on: a second for each look at it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds


class Heard:
    """A Ref that hands over what it is told."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()

    def tell(self, message: object, /) -> None:
        self._queue.put(message)

    def next(self) -> Any:
        return self._queue.get(timeout=SECONDS)

    @property
    def empty(self) -> bool:
        return self._queue.empty()


class Broken:
    """A Ref that fails."""

    def tell(self, message: object, /) -> None:
        raise ValueError(message)


class Bench:
    """Timers, and what came of them."""

    def __init__(self) -> None:
        self.clock, self.failures, self.delays, self.heard = Clock(), Heard(), Heard(), Heard()
        self.timers = ThreadTimers(self.clock, failed=self.failures.tell, late=self.delays.tell)

    def at(self, seconds: float) -> None:
        """Let it be `seconds`, and have the timers look at once."""
        self.clock.seconds = seconds
        self.timers.arm("look", Heard(), "", at=float("-inf"))


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    assert bench.timers.stop(SECONDS)


def test_messages_are_sent_when_they_are_due_and_in_that_order(bench: Bench) -> None:
    for at in (3, 1, 2, 9):
        bench.timers.arm(at, bench.heard, f"due at {at}", at=at)

    bench.at(3)

    assert [bench.heard.next() for _ in range(3)] == ["due at 1", "due at 2", "due at 3"]
    assert bench.heard.empty
    bench.at(9)
    assert bench.heard.next() == "due at 9"


def test_what_is_due_already_is_sent_at_once(bench: Bench) -> None:
    bench.timers.arm("late", bench.heard, "late", at=-5)

    assert bench.heard.next() == "late"
    assert bench.delays.next() == 5


def test_arming_again_takes_the_place_of_what_was_armed(bench: Bench) -> None:
    bench.timers.arm("key", bench.heard, "first", at=1)
    bench.timers.arm("key", bench.heard, "second", at=2)
    bench.timers.arm("end", bench.heard, "end", at=3)

    bench.at(3)

    assert [bench.heard.next(), bench.heard.next()] == ["second", "end"]


def test_each_target_has_keys_of_its_own(bench: Bench) -> None:
    other = Heard()
    bench.timers.arm("key", bench.heard, "mine", at=1)
    bench.timers.arm("key", other, "theirs", at=1)
    bench.timers.cancel("key", bench.heard)
    bench.timers.cancel("never armed", bench.heard)

    bench.at(1)

    assert other.next() == "theirs"
    assert bench.heard.empty


def test_a_target_that_fails_is_reported_and_silences_no_other(bench: Bench) -> None:
    bench.timers.arm("broken", Broken(), "no", at=1)
    bench.timers.arm("sound", bench.heard, "yes", at=2)

    bench.at(2)

    assert repr(bench.failures.next()) == "ValueError('no')"
    assert bench.heard.next() == "yes"


def test_a_timer_can_be_armed_by_what_another_one_rings(bench: Bench) -> None:
    class Again:
        """A Ref that arms a timer."""

        def tell(self, message: object, /) -> None:
            bench.timers.arm("again", bench.heard, message, at=0)

    bench.timers.arm("first", Again(), "rung", at=0)

    assert bench.heard.next() == "rung"


def test_stopped_timers_send_nothing_more(bench: Bench) -> None:
    bench.timers.arm("key", bench.heard, "never", at=1)

    assert bench.timers.stop(SECONDS)
    bench.at(2)

    assert bench.heard.empty


def test_timers_that_are_held_up_by_a_target_are_told_of_when_they_stop(bench: Bench) -> None:
    let_go, held = threading.Event(), threading.Event()

    class Holding:
        """A Ref that holds its teller up."""

        def tell(self, _message: object, /) -> None:
            held.set()
            let_go.wait(SECONDS)

    bench.timers.arm("key", Holding(), "", at=0)
    assert held.wait(SECONDS)

    assert not bench.timers.stop(0.01)

    let_go.set()


def test_timers_that_are_armed_again_and_again_do_not_pile_up(bench: Bench) -> None:
    for _ in range(10_000):
        bench.timers.arm("key", bench.heard, "", at=1e9)

    assert len(bench.timers._due) < 2_000
    bench.at(1e9)
    assert bench.heard.next() == ""


def test_the_time_is_that_of_the_clock(bench: Bench) -> None:
    bench.clock.seconds = 7

    assert bench.timers.monotonic() == 7
    assert bench.timers.now() == datetime(2026, 1, 1, tzinfo=UTC)
