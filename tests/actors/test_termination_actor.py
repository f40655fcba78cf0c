from __future__ import annotations

from dataclasses import replace

import pytest

from tests.actors.ending import Ending, moved
from tests.builders import at, node, view
from treenail.actors.termination_actor.drain_calls import END_TRACE, DrainCalls
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import DisruptionEnded, DisruptNodes
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.taints import DISRUPTED
from treenail.domain.telemetry.ending_roots import disruption_context, interruption_context
from treenail.domain.telemetry.tracing import SpanContext
from treenail.domain.termination.drain import InstanceTerminated
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving

EXCLUDED = labels.EXCLUDE_FROM_LOAD_BALANCERS


def test_a_node_leaves_step_by_step() -> None:
    stage = Ending()
    stage.cloud.troubles.calls = stage.calls()

    stage.disrupt()
    stage.run(60)

    stage.assert_all_gone()
    assert stage.calls() == [
        "patch_node node-c1",
        *("explain c1", "delete_claim c1"),
        "delete_node node-c1",
        *("show c1", "terminate i-c1", "instances"),
        *("patch_node node-c1", "release c1"),
    ]
    assert stage.told() == ["NodeCordoned", "NodeDrained", "InstanceTerminated"]
    assert stage.arbiter.received == [DisruptionEnded(name="c1")]


def test_each_step_follows_soon_after_the_one_before_it() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.interrupt()
    stage.decide()
    stage.world.run_until(lambda: "evict_pod p1" in stage.calls(), at_most=150)
    assert 5 <= stage.seconds - 90 < 6  # five in which other warnings may come
    stage.world.run_until(lambda: stage.api.claims() == (), at_most=150)

    assert stage.seconds - 90 < 10  # five of which pods have to show up that were bound before the cordon


def test_a_node_says_it_goes_before_anything_is_moved() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.disrupt(Cause.DELETED)
    stage.world.run_until(lambda: "evict_pod p1" in stage.calls(), at_most=150)

    there, of = stage.node(), stage.claim()
    assert there is not None
    assert of is not None
    assert DISRUPTED in there.taints
    assert there.labels[EXCLUDED] == "karpenter"
    assert there.deleting_since is not None
    assert of.leaving
    assert of.annotations[labels.CAUSE] == "deleted"


def test_a_node_of_the_old_api_is_made_unschedulable() -> None:
    stage = Ending(generation=Generation.V1ALPHA5)

    stage.disrupt()
    stage.run(2)

    there = stage.node()
    assert there is not None
    assert there.unschedulable
    assert there.taints == ()


def test_the_end_of_a_node_is_one_trace() -> None:
    stage = Ending()
    of = stage.claim()
    assert of is not None
    stage.run(10)

    stage.disrupt()
    stage.run(60)

    root = disruption_context(of)
    (tree,) = stage.telemetry.tree(root.trace_id)
    assert (tree.span.name, tree.span.start) == ("disrupt", at(100))
    assert tree.span.attributes["treenail.cause"] == "empty"
    assert [t.span.name for t in tree.children] == ["cordon", "drain", "terminate"]
    assert stage.telemetry.orphans() == ()
    reason = stage.telemetry.counted("karpenter_nodeclaims_disrupted_total", reason="empty")
    assert reason == stage.telemetry.counted("karpenter_nodeclaims_terminated_total") == 1


def test_the_drain_links_to_the_decisions_that_replace_the_node() -> None:
    stage = Ending()
    stage.disrupt(Cause.DELETED)

    there = stage.views.view("c1")
    stage.actor.tell(NodeChanged(name="c1", view=there, going=True, decisions=("d1",)))
    stage.run(60)

    (drain,) = stage.spans("drain")
    assert [link.to for link in drain.links] == [SpanContext.root("decide/d1")]


# --- the way back


def test_an_empty_node_that_gets_a_pod_is_opened_again() -> None:
    stage = Ending()
    stage.disrupt()
    stage.run(3)

    stage.pod("p1")
    stage.run(60)

    there, of = stage.node(), stage.claim()
    assert there is not None
    assert of is not None
    assert (there.taints, EXCLUDED in there.labels, of.leaving) == ((), False, False)
    assert stage.arbiter.received == [DisruptionEnded(name="c1", why="node is not empty any more")]
    assert stage.told() == ["NodeCordoned", "NodeUncordoned"]
    assert len(stage.cloud.bought) == 1


def test_an_empty_node_of_the_old_api_that_gets_a_pod_is_opened_again() -> None:
    stage = Ending(generation=Generation.V1ALPHA5)
    stage.disrupt()
    stage.run(3)

    stage.pod("p1")
    stage.run(60)

    there = stage.node()
    assert there is not None
    assert (there.unschedulable, EXCLUDED in there.labels) == (False, False)


def test_a_node_that_was_opened_again_can_be_given_up_later() -> None:
    stage = Ending()
    stage.disrupt()
    stage.run(3)
    late = stage.pod("p1")
    stage.run(60)
    stage.views.unmark("c1")
    stage.api.delete_pod(late.namespace, late.name, uid=late.uid, grace_seconds=0)
    stage.run(60)

    stage.disrupt()
    stage.run(60)

    stage.assert_all_gone()


def test_a_pod_that_comes_after_the_claim_is_deleted_is_moved_out() -> None:
    stage = Ending()
    stage.disrupt()
    stage.world.run_until(lambda: "delete_claim c1" in stage.calls(), at_most=150)

    stage.pod("p1")
    stage.run(60)

    assert "evict_pod p1" in stage.calls()
    stage.assert_all_gone()


# --- who else ends nodes


@pytest.mark.parametrize(("kind", "name"), [("NodeClaim", "c1"), ("Node", "node-c1")])
def test_a_node_that_a_user_deletes_leaves_as_carefully(kind: str, name: str) -> None:
    stage = Ending()
    stage.pod("p1")

    stage.api.delete(kind, name)
    stage.run(60)

    stage.assert_all_gone()
    assert "evict_pod p1" in stage.calls()
    (ended,) = stage.observer.of(InstanceTerminated)
    assert ended.cause is Cause.DELETED


def test_a_node_whose_claim_is_gone_is_drained_and_let_go() -> None:
    stage = Ending()
    stage.api.apply(replace(node("alone", version=0), uid="", finalizers=(labels.TERMINATION_FINALIZER,)))

    stage.api.delete("Node", "alone")
    stage.run(60)

    assert [n.name for n in stage.api.nodes()] == ["node-c1"]
    assert stage.arbiter.received == [DisruptionEnded(name="alone")]


def test_a_node_that_is_none_of_ours_is_let_alone() -> None:
    stage = Ending()
    stage.api.apply(replace(node("foreign", version=0), uid="", finalizers=("example.com/theirs",)))

    stage.api.delete("Node", "foreign")
    stage.run(60)

    assert stage.calls() == []


# --- interruptions


def test_an_interrupted_node_leaves_at_once() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.interrupt()
    stage.run(60)

    stage.assert_all_gone()
    (ended,) = stage.observer.of(InstanceTerminated)
    assert ended.cause is Cause.SPOT_INTERRUPTED
    parents = {s.parent for s in stage.telemetry.spans()}
    assert parents == {interruption_context("i-c1", Cause.SPOT_INTERRUPTED).child("process")}


def test_a_notice_of_a_node_that_is_gone_meanwhile_changes_nothing() -> None:
    stage = Ending()
    stage.interrupt(name="c2")

    stage.add("c2")
    stage.run(60)

    assert [c.name for c in stage.api.claims()] == ["c1", "c2"]


def test_an_empty_node_that_is_interrupted_is_not_opened_again() -> None:
    stage = Ending()
    stage.disrupt()
    stage.run(3)

    stage.interrupt()
    stage.pod("p1")
    stage.decide()
    stage.run(60)

    stage.assert_all_gone()


def test_a_second_notice_changes_nothing() -> None:
    stage = Ending()

    stage.interrupt()
    stage.interrupt(seconds=None)
    stage.run(60)

    stage.assert_all_gone()
    assert stage.told() == ["NodeCordoned", "NodeDrained", "InstanceTerminated"]


# --- one step, one call


def test_what_takes_more_than_one_call_is_none() -> None:
    stage = Ending()
    calls = DrainCalls(reader=stage.api, writer=stage.api, cloud=stage.cloud)
    state = Leaving(cause=Cause.EMPTY, trace=SpanContext.root("test"), began_at=stage.now())

    with pytest.raises(TypeError, match="is not one call"):
        calls.of(MoveOut(evict=(), delete=()), view(), state)


@pytest.mark.parametrize(("said", "cause"), [("empty", Cause.EMPTY), ("boredom", Cause.DELETED)])
def test_a_claim_says_why_it_goes(said: str, cause: Cause) -> None:
    stage = Ending(annotations={labels.CAUSE: said, END_TRACE: "nonsense"})

    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    assert [m.cause for m in stage.observer.of(InstanceTerminated)] == [cause]


@pytest.mark.parametrize("moment", [0.02, 0.05, 0.1, 0.2, 1.0])
def test_an_interruption_while_the_node_is_opened_again_still_ends_it(moment: float) -> None:
    stage = Ending()
    stage.disrupt()
    stage.run(3)
    stage.pod("p1")
    stage.run(moment)

    stage.interrupt()
    stage.run(100)

    gone = stage.claim()
    assert gone is None or gone.leaving
    assert "delete_claim c1" in stage.calls()


def test_an_order_for_a_node_that_is_gone_ends_at_once() -> None:
    stage = Ending()
    stale = view("c9")

    stage.actor.tell(DisruptNodes(nodes=(stale,), cause=Cause.EMPTY, decided_at=at(0)))
    stage.run(60)

    assert stage.arbiter.received == [DisruptionEnded(name="c9")]
    assert stage.calls() == []


def test_places_that_were_told_before_the_node_was_to_go_are_not_waited_for() -> None:
    stage = Ending()
    stage.pod("web")
    there = stage.views.mark_for_disruption("c1")
    stage.decide()

    stage.actor.tell(
        DisruptNodes(nodes=(there,), cause=Cause.DRIFTED, replaced_first=True, decided_at=stage.now())
    )
    stage.run(20)

    assert moved(stage) == ["evict_pod web"]
