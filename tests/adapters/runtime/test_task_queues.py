from __future__ import annotations

from collections import Counter
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from treenail.adapters.runtime.task_queues import Begun, WaitingCalls
from treenail.domain.model.purposes import Purpose

INTERRUPTION, PROVISIONING, DISRUPTION, HOUSEKEEPING, TELLING = Purpose
MOST = 16


class Calls:
    """The calls to one port, of which a test says when they are over."""

    def __init__(self, most: int = MOST) -> None:
        self.waiting = WaitingCalls(most)
        self.under_way: list[Begun] = []
        self.begun: list[str] = []

    def put(self, purpose: Purpose, *names: str, key: str = "") -> None:
        for name in names:
            self.waiting.put(("shop", key or name), purpose, partial(self.begun.append, name))

    def begin(self) -> None:
        """Begin all that may begin."""
        while (begun := self.waiting.begin()) is not None:
            begun.call()
            self.under_way.append(begun)

    def end(self, number: int = 1) -> None:
        """Let the longest under way be over."""
        for begun in self.under_way[:number]:
            self.waiting.done(begun)
        del self.under_way[:number]

    def at(self) -> Counter[Purpose]:
        return Counter(begun.purpose for begun in self.under_way)


def named(kind: str, number: int) -> list[str]:
    return [f"{kind} {n}" for n in range(number)]


def test_workers_are_kept_for_whoever_is_more_urgent_than_those_that_hang() -> None:
    calls = Calls()

    for purpose in reversed(Purpose):
        calls.put(purpose, *named(purpose.name, 100))
        calls.begin()

    assert calls.at() == {TELLING: 2, HOUSEKEEPING: 4, DISRUPTION: 4, PROVISIONING: 2, INTERRUPTION: 4}


def test_one_that_is_urgent_begins_at_once_behind_five_thousand_events_that_hang() -> None:
    calls = Calls()
    calls.put(TELLING, *named("event", 5_000))
    calls.put(HOUSEKEEPING, *named("status", 500))
    calls.put(PROVISIONING, *named("launch", 200))
    calls.begin()

    calls.put(INTERRUPTION, "evict")
    calls.begin()

    assert calls.begun[-1] == "evict"


def test_events_have_a_share_though_the_urgent_never_stop_coming() -> None:
    calls = Calls()
    calls.put(TELLING, *named("event", 20))
    calls.put(HOUSEKEEPING, *named("status", 20))
    for number in range(300):
        calls.put(INTERRUPTION, *named(f"evict {number}", MOST))
        calls.begin()
        calls.end()

    begun = Counter(name.split()[0] for name in calls.begun)
    assert (begun["event"], begun["status"]) == (20, 20)


def test_calls_of_one_key_are_begun_one_after_the_other_in_order() -> None:
    calls = Calls()
    calls.put(TELLING, "first", key="pod")
    calls.put(INTERRUPTION, "second", key="pod")
    calls.put(HOUSEKEEPING, "third", key="pod")

    for _ in range(3):
        calls.begin()
        assert len(calls.under_way) == 1
        calls.end()

    assert calls.begun == ["first", "second", "third"]


def test_what_an_urgent_call_must_wait_for_is_as_urgent() -> None:
    calls = Calls(most=1)
    calls.put(PROVISIONING, "busy")
    calls.begin()
    calls.put(PROVISIONING, "launch")
    calls.put(HOUSEKEEPING, "says why", key="node")
    calls.put(INTERRUPTION, "cordon", key="node")

    for _ in range(3):
        calls.end()
        calls.begin()

    assert calls.begun == ["busy", "says why", "cordon", "launch"]


def test_a_port_with_one_worker_makes_all_calls_with_it() -> None:
    calls = Calls(most=1)
    for purpose in Purpose:
        calls.put(purpose, purpose.name)

    for _ in Purpose:
        calls.begin()
        calls.end()

    assert sorted(calls.begun) == sorted(purpose.name for purpose in Purpose)


purposes = st.sampled_from(Purpose)
# A call for this purpose under this key; or None: the first under way is over.
steps = st.lists(st.one_of(st.none(), st.tuples(purposes, st.integers(0, 5))), max_size=60)


@given(steps, st.integers(1, 16))
def test_as_many_begin_as_may_and_no_more(steps: list[tuple[Purpose, int] | None], most: int) -> None:
    calls = Calls(most)
    put: list[tuple[int, str]] = []
    for number, step in enumerate(steps):
        if step is None:
            calls.end()
        else:
            purpose, key = step
            put.append((key, f"{key} {number}"))
            calls.put(purpose, f"{key} {number}", key=str(key))
        expected = calls.waiting.startable
        before = len(calls.under_way)
        calls.begin()
        assert len(calls.under_way) - before == expected
        assert len(calls.under_way) <= most
        assert len({begun.key for begun in calls.under_way}) == len(calls.under_way)
    while calls.under_way:
        calls.end()
        calls.begin()

    assert calls.waiting.number == 0
    for key in range(6):
        assert [n for n in calls.begun if n.startswith(f"{key} ")] == [n for k, n in put if k == key]
