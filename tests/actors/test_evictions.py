from __future__ import annotations

import itertools

import pytest

from tests.actors.ending import Ending
from treenail.actors.termination_actor.drain_calls import DrainCalls
from treenail.actors.termination_actor.evictions import Evictions
from treenail.domain.model.errors import (
    ConflictError,
    NotFoundError,
    PortError,
    TooManyRequestsError,
    UnavailableError,
)
from treenail.domain.model.runtime import Done, Failed
from treenail.domain.termination.eviction_order import MoveOut


def test_a_pod_that_was_evicted_is_not_asked_again_until_that_must_have_been_heard() -> None:
    stage, now = Ending(), 0.0
    calls = DrainCalls(reader=stage.api, writer=stage.api, cloud=stage.cloud)
    evictions = Evictions(calls, lambda: now)
    pod = stage.pod("p1")
    step = MoveOut(evict=(pod,), delete=())
    assert len(evictions.begin(step)) == 1
    evictions.end(pod.uid, Done(None))

    now = 4.9
    assert evictions.begin(step) == ()
    now = 5.1
    assert len(evictions.begin(step)) == 1


def test_a_pod_that_its_budget_holds_for_an_hour_is_asked_every_ten_seconds_in_the_end() -> None:
    stage, now = Ending(), 0.0
    evictions = Evictions(DrainCalls(reader=stage.api, writer=stage.api, cloud=stage.cloud), lambda: now)
    pod = stage.pod("p1")
    asked = []

    while now < 3600:
        if evictions.begin(MoveOut(evict=(pod,), delete=())):
            asked.append(now)
            evictions.end(pod.uid, Failed(TooManyRequestsError("its budget allows nothing")))
        now += 0.5

    pauses = [later - sooner for sooner, later in itertools.pairwise(asked)]
    assert pauses[:10] == [1.0] * 10
    assert pauses == sorted(pauses)
    assert pauses[-1] == 10.0


def test_pods_are_asked_largest_first_and_smaller_ones_once_it_is_answered_for_larger_ones() -> None:
    stage, now = Ending(), 0.0
    evictions = Evictions(DrainCalls(reader=stage.api, writer=stage.api, cloud=stage.cloud), lambda: now)
    small, large, alike, held = (stage.pod(name) for name in ("small", "large", "alike", "held"))
    sizes = {small.uid: 0.2, large.uid: 0.6, alike.uid: 0.5, held.uid: 0.7}
    step = MoveOut(evict=(small, large, alike, held), delete=(), sizes=sizes)

    def asked() -> list[str]:
        return [pod.name for pod, _, _ in evictions.begin(step)]

    assert asked() == ["held", "large"]
    assert asked() == []

    evictions.end(held.uid, Failed(TooManyRequestsError("its budget allows nothing")))
    evictions.end(large.uid, Done(None))
    assert asked() == ["alike"]
    evictions.end(alike.uid, Done(None))
    now = 2.0
    assert asked() == ["held", "small"]


@pytest.mark.parametrize(
    "error", [NotFoundError("gone"), ConflictError("another"), UnavailableError("no answer")]
)
def test_a_smaller_pod_does_not_wait_for_a_larger_one_that_was_not_there_to_be_asked(
    error: PortError,
) -> None:
    stage = Ending()
    evictions = Evictions(DrainCalls(reader=stage.api, writer=stage.api, cloud=stage.cloud), lambda: 0.0)
    small, large = stage.pod("small"), stage.pod("large")
    step = MoveOut(evict=(small, large), delete=(), sizes={small.uid: 0.2, large.uid: 0.6})

    evictions.begin(step)
    evictions.end(large.uid, Failed(error))

    assert small in [pod for pod, _, _ in evictions.begin(step)]
