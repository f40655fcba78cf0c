from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.actors.ending import Ending
from treenail.actors.termination_actor.drain_calls import DrainCalls
from treenail.actors.termination_actor.evictions import Evictions
from treenail.domain.model.errors import (
    ConflictError,
    NotFoundError,
    PortError,
    TooManyRequestsError,
)
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Done, Failed
from treenail.domain.termination.eviction_order import MoveOut


def test_a_pod_that_was_evicted_is_not_asked_again_until_that_must_have_been_heard() -> None:
    stage, now = Ending(), 0.0
    calls = DrainCalls(reader=stage.api, writer=stage.api, cloud=stage.cloud)
    evictions = Evictions(calls, lambda: now)
    pod = stage.pod("p1")
    step = MoveOut(evict=(pod,), delete=())
    assert len(evictions.begin("c1", step)) == 1
    evictions.end(pod.uid, Done(None))

    now = 4.9
    assert evictions.begin("c1", step) == ()
    now = 5.1
    assert len(evictions.begin("c1", step)) == 1


def test_a_pod_that_its_budget_holds_for_an_hour_is_asked_every_ten_seconds_in_the_end() -> None:
    stage, now = Ending(), 0.0
    evictions = Evictions(DrainCalls(reader=stage.api, writer=stage.api, cloud=stage.cloud), lambda: now)
    pod = stage.pod("p1")
    asked = []

    while now < 3600:
        if evictions.begin("c1", MoveOut(evict=(pod,), delete=())):
            asked.append(now)
            evictions.end(pod.uid, Failed(TooManyRequestsError("its budget allows nothing")))
        now += 0.5

    pauses = [later - sooner for sooner, later in itertools.pairwise(asked)]
    assert pauses[:10] == [1.0] * 10
    assert pauses == sorted(pauses)
    assert pauses[-1] == 10.0


class Asking:
    """Evictions of a small pod of a node and of three larger ones, which leave in turn."""

    def __init__(self) -> None:
        self.now = 0.0
        stage = Ending()
        calls = DrainCalls(reader=stage.api, writer=stage.api, cloud=stage.cloud)
        self.evictions = Evictions(calls, lambda: self.now)
        names = ("small", "alike", "large", "largest")
        self.small, self.alike, self.large, self.largest = pods = tuple(map(stage.pod, names))
        sizes = zip((pod.uid for pod in pods), (0.2, 0.5, 0.6, 0.7), strict=True)
        self.at_first = dict(sizes)
        self.step = MoveOut(evict=pods, delete=(), sizes=self.at_first, in_turn=True)

    def asked(self, *together: str) -> list[str]:
        return [pod.name for pod, _, _ in self.evictions.begin("c1", self.step, together)]

    def answer(self, pod: Pod, error: Exception | None = None) -> None:
        self.evictions.end(pod.uid, Done(None) if error is None else Failed(error))

    def ask(self, *held: str, seconds: float) -> list[tuple[float, str]]:
        """Ask for so long, while budgets hold some; return who was asked first and when."""
        first: dict[str, float] = {}
        until = self.now + seconds
        while self.now < until:
            for name in self.asked():
                first.setdefault(name, self.now)
                self.answer(getattr(self, name), TooManyRequestsError("budget") if name in held else None)
            left = tuple(pod for pod in self.step.evict if pod.name not in first or pod.name in held)
            sizes = {pod.uid: self.step.sizes[pod.uid] for pod in left}
            self.step = replace(self.step, evict=left, sizes=sizes)
            self.now += 1
        return [(at, name) for name, at in first.items()]


def test_pods_are_asked_largest_first_and_smaller_ones_a_second_after_larger_ones_went() -> None:
    asking = Asking()

    assert asking.asked() == ["largest", "large"]
    assert asking.evictions.holds_back("c1")
    asking.answer(asking.largest)
    asking.now = 0.5
    asking.answer(asking.large)
    asking.now = 0.9
    assert asking.asked() == []
    asking.now = 1.0
    assert asking.asked() == ["alike"]
    asking.answer(asking.alike)
    asking.now = 1.9
    assert asking.asked() == []
    assert asking.evictions.holds_back("c1")
    asking.now = 2.0
    assert asking.asked() == ["small"]
    assert not asking.evictions.holds_back("c1")


def test_pods_wait_as_long_for_a_larger_one_of_a_node_that_goes_with_theirs_and_of_no_other() -> None:
    asking = Asking()
    of_other = replace(asking.step, evict=(asking.largest,), sizes={asking.largest.uid: 0.7})
    asking.step = replace(asking.step, evict=(asking.small,), sizes={asking.small.uid: 0.2})
    asking.evictions.begin("c2", of_other)
    asking.answer(asking.largest)
    asking.evictions.begin("c2", replace(of_other, evict=(), sizes={}))

    asking.now = 0.9
    assert asking.asked("c2") == []
    assert asking.asked() == ["small"]


def test_smaller_pods_wait_a_minute_for_a_larger_one_that_its_budget_holds_and_leave_in_order_then() -> None:
    asking = Asking()

    assert asking.ask("largest", seconds=90) == [(0, "largest"), (0, "large"), (60, "alike"), (61, "small")]


def test_each_pod_that_is_held_is_waited_for_by_itself_and_not_again_soon() -> None:
    asking = Asking()
    first = asking.ask("largest", "alike", seconds=300)
    assert first == [(0, "largest"), (0, "large"), (60, "alike"), (120, "small")]

    # The node stays, and is to go after all a little later.
    asking.evictions.forget("c1")
    asking.step = replace(asking.step, evict=(asking.small,), sizes=asking.at_first)

    assert asking.asked() == ["small"]


def test_a_pod_waits_for_a_larger_one_of_a_node_that_goes_with_it() -> None:
    asking = Asking()
    other = replace(asking.step, evict=(), sizes={"another": 1.0})
    asking.evictions.begin("c2", other)
    assert asking.asked("c2") == []
    assert asking.evictions.holds_back("c1")

    asking.evictions.end("another", Done(None))

    assert asking.asked("c2") == ["largest", "large"]


@pytest.mark.parametrize("ends", [Evictions.rest, Evictions.forget])
def test_nobody_waits_for_a_node_whose_pods_do_not_leave_any_more(
    ends: Callable[[Evictions, str], None],
) -> None:
    asking = Asking()
    asking.evictions.begin("c2", replace(asking.step, evict=(), sizes={"another": 1.0}))

    ends(asking.evictions, "c2")

    # One that is forgotten is no longer named.
    assert asking.asked(*(["c2"] if ends is Evictions.rest else [])) == ["largest", "large"]


def test_pods_wait_a_minute_for_a_node_of_their_move_that_has_not_begun() -> None:
    asking = Asking()
    asking.evictions.rest("c2")
    assert asking.asked("c2") == []

    asking.now = 59
    assert asking.asked("c2") == []
    asking.now = 60
    assert asking.asked("c2") == ["largest", "large"]


def test_a_node_that_has_begun_once_is_waited_for_again_in_the_next_move() -> None:
    asking = Asking()
    assert asking.asked("c2") == []
    asking.evictions.begin("c2", replace(asking.step, evict=(), sizes={}))
    for node in ("c1", "c2"):
        asking.evictions.forget(node)

    asking.now = 120
    assert asking.asked("c2") == []


def test_pods_that_need_not_leave_in_order_wait_for_nobody() -> None:
    asking = Asking()
    asking.step = replace(asking.step, sizes={}, in_turn=False)

    assert sorted(asking.asked("c2")) == ["alike", "large", "largest", "small"]


def test_outside_of_moves_smaller_pods_do_not_wait_for_one_that_its_budget_holds() -> None:
    asking = Asking()
    asking.step = replace(asking.step, in_turn=False)

    asked = asking.ask("largest", seconds=5)

    assert asked == [(0, "largest"), (0, "large"), (1, "alike"), (2, "small")]
    assert not asking.evictions.holds_back("c1")


@pytest.mark.parametrize("error", [NotFoundError("gone"), ConflictError("another")])
def test_a_smaller_pod_does_not_wait_for_a_larger_one_that_was_not_there_to_be_asked(
    error: PortError,
) -> None:
    asking = Asking()
    asking.asked()

    for pod in (asking.large, asking.largest):
        asking.answer(pod, error)
    assert asking.asked() == ["alike"]
    asking.answer(asking.alike, error)

    assert asking.asked() == ["small"]
