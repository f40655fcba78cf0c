from __future__ import annotations

from tests.actors.ending import Ending
from treenail.actors.termination_actor.drain_calls import DrainCalls
from treenail.actors.termination_actor.evictions import Evictions
from treenail.domain.model.runtime import Done
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
