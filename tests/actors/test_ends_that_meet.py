"""One end on the heels of another: warnings during drains, nodes that vanish, claims deleted in between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.actors.cluster_rig import IN_USE, Knowing
from tests.actors.ending import Ending, budget, moved
from tests.builders import START, at, bound_pod, claim_of, conditions, node, spec, view
from treenail.domain.cluster.batch_window import UrgentWork
from treenail.domain.disruption.disruption import DisruptionEnded, DisruptNodes, NodeInterrupted
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import LAUNCHED
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.taints import UNREGISTERED
from treenail.domain.termination.drain import InstanceTerminated

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
SLOW: PodSpec = spec(1, grace_seconds=600)


def replacing(stage: Ending) -> None:
    """Let the node of c1 wait for a new one, as it drifted."""
    there = stage.views.mark_for_disruption("c1")
    order = DisruptNodes(nodes=(there,), cause=Cause.DRIFTED, replaced_first=True, decided_at=stage.now())
    stage.actor.tell(order)
    stage.decide(ready=False)
    stage.run(1)


def test_a_warning_that_comes_during_a_drain_counts_from_then_on() -> None:
    stage = Ending()
    stage.pod("slow", spec=SLOW, annotations=PROTECTED)
    stage.pod("safe", annotations=PROTECTED)
    stage.api.delete("NodeClaim", "c1")
    stage.run(1000)

    stage.interrupt(seconds=120)
    stage.run(78)
    # One that takes longer to stop than all of the notice does not take the others' time.
    assert [c.split()[:2] for c in moved(stage)] == [["delete_pod", "slow"]]
    stage.run(6)

    assert [c.split()[:2] for c in moved(stage)][1:] == [["delete_pod", "safe"]]


def test_pods_of_a_node_that_waited_long_for_another_one_stay_five_seconds_after_a_warning_too() -> None:
    stage = Ending()
    stage.pod("p1")
    replacing(stage)
    stage.run(100)

    stage.interrupt(seconds=120)
    stage.run(4)
    assert moved(stage) == []
    stage.run(4)

    assert moved(stage) == ["evict_pod p1"]


def test_they_wait_ten_seconds_for_a_decision_where_nobody_knows_the_end() -> None:
    stage = Ending()
    stage.pod("p1")
    replacing(stage)
    stage.run(100)
    # The nodes that were to be bought for its pods are not needed there any more.
    stage.views.places.clear()

    stage.interrupt(seconds=None, cause=Cause.REBALANCE_RECOMMENDED, decided=False)
    stage.run(8)
    assert moved(stage) == []
    stage.run(6)

    assert moved(stage) == ["evict_pod p1"]


def test_a_machine_that_is_terminated_by_somebody_takes_its_pods_with_it_though_a_budget_holds_them() -> None:
    stage = Ending()
    stage.pod("web", labels={"app": "web"})
    budget(stage, allowed=0)
    stage.disrupt(Cause.DRIFTED)
    stage.decide()
    stage.run(30)
    assert {c.split()[0] for c in moved(stage)} == {"evict_pod"}

    stage.interrupt(seconds=0, cause=Cause.INSTANCE_TERMINATED)
    stage.run(3)

    assert moved(stage)[-1] == "delete_pod web 1"


def test_a_node_that_joined_and_was_never_registered_goes_with_its_machine() -> None:
    stage = Ending()
    launched = view("c2", of_claim={"finalizers": (labels.TERMINATION_FINALIZER,), "node_name": ""})
    stage.add("c3")
    stage.api.apply(
        replace(claim_of(launched), uid="", conditions=conditions(LAUNCHED)),
        replace(node("node-c2", provider_id="aws:///a/i-c2", version=0), uid="", taints=(UNREGISTERED,)),
    )
    stage.cloud.bought["i-c2"] = replace(stage.cloud.bought["i-c3"], id="i-c2")
    stage.run(5)

    stage.interrupt(name="c2", cause=Cause.INSTANCE_TERMINATED, seconds=None)
    stage.run(300)

    assert [m.cause for m in stage.observer.of(InstanceTerminated)] == [Cause.INSTANCE_TERMINATED]
    assert sorted(c.name for c in stage.api.claims()) == ["c1", "c3"]
    assert sorted(n.name for n in stage.api.nodes()) == ["node-c1", "node-c3"]


def test_a_node_whose_finalizer_somebody_took_off_leaves_its_claim_to_end() -> None:
    stage = Ending()
    stage.pod("safe", annotations=PROTECTED)
    stage.disrupt(Cause.DRIFTED)
    stage.run(20)

    stage.api.patch_node("node-c1", NodePatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    assert stage.node() is None
    stage.run(60)

    stage.assert_all_gone()
    assert [m.cause for m in stage.observer.of(InstanceTerminated)] == [Cause.DRIFTED]


# --- what the cluster state makes of it


def warned(**more: Any) -> NodeInterrupted:
    told: dict[str, Any] = {"instance_id": "i-c1", "cause": Cause.SCHEDULED_CHANGE, "noticed_at": START}
    return NodeInterrupted(**{**told, **more})


def test_a_node_that_was_warned_of_is_not_spared_for_what_it_was_to_go_for_before() -> None:
    stage = Knowing(*IN_USE, bound_pod("p1", "node-c1"))
    stage.model.mark_for_disruption("c1")

    # It was opened again, as its pods had no other places, just when the warning came.
    stage.tell(warned(), DisruptionEnded(name="c1"))
    stage.close_batch()

    assert stage.snapshots() == [("d1", ["p1"])]


def test_a_node_that_drifted_and_is_warned_of_has_its_pods_placed_at_once() -> None:
    stage = Knowing(*IN_USE, bound_pod("p1", "node-c1"))
    stage.model.mark_for_disruption("c1")

    stage.tell(warned(cause=Cause.SPOT_INTERRUPTED, deadline=at(120)))
    stage.close_batch()

    assert stage.batcher.received == [UrgentWork(why="spot_interrupted")]
    assert stage.snapshots() == [("d1", ["p1"])]
