"""Nodes that are replaced: given up when their pods have places, and not before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.cluster_rig import IN_USE, Knowing
from tests.builders import (
    START,
    bound_pod,
    claim_of,
    decided,
    decision,
    node_of,
    node_pool,
    pending_pod,
    planned_claim,
    view,
)
from treenail.domain.cluster.batch_window import NodesToReplace
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import ClusterObject
from treenail.domain.cluster.planning import PlanCommitted, PlanDecided, SnapshotTaken
from treenail.domain.disruption.disruption import (
    DisruptionAllowed,
    DisruptionBlocked,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
)
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Reason, Refusal

ON_C1 = bound_pod("p1", "node-c1")
NOWHERE = RefusedClass(pods=("p1",), refusals=(Refusal("default", Reason.LIMIT_REACHED, "no room"),))


def another(name: str, *pods: str) -> tuple[ClusterObject, ...]:
    there = view(name)
    return claim_of(there), node_of(there), *(bound_pod(pod, f"node-{name}") for pod in pods)


def allowed(*names: str, **more: Any) -> DisruptionAllowed:
    proposal = DisruptionProposed(pool="default", candidates=names, cause=Cause.DRIFTED, **more)
    return DisruptionAllowed(proposal=proposal, candidates=names, budgets=("default",))


def disrupted(stage: Knowing) -> list[list[str]]:
    return [[one.name for one in order.nodes] for order in stage.arbiter.of(DisruptNodes)]


def refusals(stage: Knowing) -> list[tuple[tuple[str, ...], bool]]:
    """Return which nodes were refused, and whether that lasts."""
    return [(one.candidates, one.lasting) for one in stage.arbiter.of(DisruptionRefused)]


def test_a_node_is_not_given_up_before_its_pods_have_places() -> None:
    stage = Knowing(*IN_USE, ON_C1)

    stage.tell(allowed("c1"))

    assert disrupted(stage) == []
    assert stage.batcher.received == [NodesToReplace(names=("c1",))]
    assert not stage.termination.of(NodeChanged)[-1].going


def test_its_pods_are_planned_as_if_it_were_gone_already() -> None:
    stage = Knowing(*IN_USE, ON_C1)
    stage.tell(allowed("c1"))

    stage.close_batch()

    assert stage.snapshots() == [("d1", ["p1"])]
    (room,) = stage.selector.of(SnapshotTaken)[-1].snapshot.existing_nodes
    assert (room.open, room.residents) == (False, ())


def test_it_is_given_up_when_they_all_have_places_and_who_ends_it_knows_them_by_then() -> None:
    stage = Knowing(*IN_USE, ON_C1, *another("c2"))
    stage.tell(allowed("c1"))
    stage.close_batch()

    stage.decide(p1="c2")

    assert disrupted(stage) == [["c1"]]
    assert stage.arbiter.of(DisruptNodes)[0].replaced_first
    told = [one for one in stage.termination.of(NodeChanged) if one.name == "c1"][-1]
    assert (told.going, told.places) == (True, {"p1": True})
    assert [p.pod for p in stage.model.promises.at("c2")] == ["p1"]


def test_a_pod_that_loses_its_place_to_one_the_scheduler_sent_there_is_decided_on_again() -> None:
    stage = Knowing(*IN_USE, ON_C1, *another("c2"))
    stage.tell(allowed("c1"))
    stage.close_batch()
    stage.decide(p1="c2")

    stage.see(*(bound_pod(f"other-{number}", "node-c2", cpu=1) for number in range(4)))

    assert stage.model.promises.of("p1") is None
    assert stage.batcher.of(NodesToReplace)[1:] == [NodesToReplace(names=("c1",))]
    stage.close_batch("d2")
    assert stage.snapshots()[-1] == ("d2", ["p1"])


def test_pods_whose_node_went_already_when_the_controller_started_are_decided_on_at_once() -> None:
    claim, node = replace(claim_of(view("c1")), deleting_since=START), node_of(view("c1"))

    stage = Knowing(claim, node, ON_C1, *another("c2", "p2"))

    assert stage.batcher.of(NodesToReplace) == [NodesToReplace(names=("c1",))]
    stage.close_batch()
    assert stage.snapshots() == [("d1", ["p1"])]


def test_nobody_asks_for_places_of_a_node_that_went_already_without_pods_that_need_one() -> None:
    claim, node = replace(claim_of(view("c1")), deleting_since=START), node_of(view("c1"))

    stage = Knowing(claim, node, *another("c2", "p2"))

    assert stage.batcher.of(NodesToReplace) == []


def test_new_nodes_are_bought_for_them_only_if_it_goes() -> None:
    stage = Knowing(*IN_USE, ON_C1)
    stage.tell(allowed("c1"))
    stage.close_batch()
    stage.see(bound_pod("late", "node-c1"))  # the plan knows nothing of this one

    stage.decide(planned_claim("p1"))

    assert disrupted(stage) == []
    assert refusals(stage) == [(("c1",), False)]
    assert [one.claims for one in stage.committed()] == [()]
    assert stage.model.promises.of("p1") is None


def test_a_node_whose_pods_have_nowhere_to_go_is_refused_for_longer_and_people_are_told() -> None:
    stage = Knowing(*IN_USE, ON_C1)
    stage.tell(allowed("c1"))
    stage.close_batch()

    answer(stage, NOWHERE)

    assert disrupted(stage) == []
    assert refusals(stage) == [(("c1",), True)]
    (told,) = stage.event_publisher.of(DisruptionBlocked)
    assert told.why == "Not all pods would schedule, default/p1 => LimitReached: default: no room"
    assert {ref.name for ref in told.about} == {"c1", "node-c1"}


def test_of_nodes_that_cannot_all_go_some_are_tried_again_at_once() -> None:
    stage = Knowing(*IN_USE, ON_C1, *another("c2", "p2"))
    stage.tell(allowed("c1", "c2"))
    stage.close_batch()

    answer(stage, replace(NOWHERE, pods=("p1", "p2")))

    assert refusals(stage) == [(("c2",), False)]
    assert stage.event_publisher.of(DisruptionBlocked) == []
    assert stage.batcher.of(NodesToReplace)[-1] == NodesToReplace(names=("c1",))
    stage.close_batch("d2")
    assert stage.snapshots()[-1] == ("d2", ["p1"])


def test_a_node_without_pods_goes_at_once() -> None:
    stage = Knowing(*IN_USE)

    stage.tell(allowed("c1"))

    assert disrupted(stage) == [["c1"]]
    assert stage.batcher.received == []


def test_a_node_that_empties_while_it_waits_goes_when_the_window_closes() -> None:
    stage = Knowing(*IN_USE, ON_C1)
    stage.tell(allowed("c1"))
    stage.see(bound_pod("p1", "elsewhere", version=2))

    stage.close_batch()

    assert stage.snapshots() == []
    assert disrupted(stage) == [["c1"]]


def test_a_node_is_not_considered_twice() -> None:
    stage = Knowing(*IN_USE, ON_C1)
    stage.tell(allowed("c1"))

    stage.tell(allowed("c1").proposal)

    assert stage.arbiter.of(DisruptionProposed) == []
    assert stage.disruptor.of(DisruptionRefused) == []


def test_an_urgent_decision_is_not_on_pods_that_need_not_move() -> None:
    stage = Knowing(*IN_USE, ON_C1, pending_pod("p2"))
    stage.tell(allowed("c1"))

    stage.close_batch(urgent="spot_interrupted")
    assert stage.snapshots() == [("d1", ["p2"])]
    stage.decide(planned_claim("p2"))

    assert refusals(stage) == []
    # The window that closed was that of the node too.
    assert stage.batcher.of(NodesToReplace) == [NodesToReplace(names=("c1",))] * 2
    stage.close_batch("d2")
    assert stage.snapshots()[-1] == ("d2", ["p1"])


def test_nodes_whose_decision_never_came_are_refused_and_may_be_proposed_again() -> None:
    stage = Knowing(*IN_USE, ON_C1)
    stage.tell(allowed("c1"))
    stage.close_batch()

    stage.run(300)

    assert refusals(stage) == [(("c1",), False)]
    stage.tell(allowed("c1").proposal)
    assert len(stage.arbiter.of(DisruptionProposed)) == 1


# --- proposals that say where the pods would go


def brought(stage: Knowing, *names: str, **nominations: str) -> PlanDecided:
    """A plan for the pods of these nodes, made on the cluster as it is."""
    return decided(stage.model.snapshot(START, names), nominations=nominations, name="own")


def test_a_plan_that_comes_with_a_proposal_is_carried_out_with_it() -> None:
    stage = Knowing(*IN_USE, ON_C1, *another("c2"))

    stage.tell(allowed("c1", planned=brought(stage, "c1", p1="c2")))

    assert disrupted(stage) == [["c1"]]
    assert stage.batcher.received == []
    assert [one.nominations for one in stage.committed()] == [((ON_C1, "c2"),)]


def test_a_move_that_relies_on_another_one_of_its_pass_is_made_only_after_it() -> None:
    stage = Knowing(*IN_USE, ON_C1, *another("c2"), *another("c3", "p3"))
    first = replace(brought(stage, "c3", p3="c2"), decision=decision("pass-0"), removed=("c3",))
    second = brought(stage, "c1", p1="c2")
    second = replace(second, decision=decision("pass-1"), removed=("c1",), after=("pass-0",))

    def propose(name: str, planned: PlanDecided) -> None:
        made = allowed(name, planned=planned, together=True)
        stage.tell(replace(made, proposal=replace(made.proposal, cause=Cause.UNDERUTILIZED)))

    propose("c1", second)
    assert disrupted(stage) == []
    assert refusals(stage) == [(("c1",), False)]

    propose("c3", first)
    propose("c1", second)
    assert disrupted(stage) == [["c3"], ["c1"]]


def test_it_waits_while_another_plan_is_open() -> None:
    stage = Knowing(*IN_USE, ON_C1, *another("c2", "a", "b", "c"), pending_pod("p2"))
    own = brought(stage, "c1", p1="c2")
    stage.close_batch()

    stage.tell(allowed("c1", planned=own))
    assert stage.committed() == []
    stage.decide(p2="c2")

    # The room is promised by now.
    assert disrupted(stage) == []
    assert refusals(stage) == [(("c1",), False)]
    assert [one.decision.id for one in stage.launcher.of(PlanCommitted)] == ["d1"]


def test_nodes_of_several_pools_go_together_or_not_at_all() -> None:
    east = view("x1", of_claim={"pool": "east"})
    there = (node_pool("east"), claim_of(east), node_of(east), bound_pod("p2", "node-x1"))
    stage = Knowing(*IN_USE, ON_C1, *another("c2"), *there)
    both = replace(allowed("c1", "x1", together=True), budgets=("default", "east"))

    def propose(**nominations: str) -> None:
        own = brought(stage, "c1", "x1", **nominations)
        stage.tell(replace(both, proposal=replace(both.proposal, planned=own)))

    propose(p1="c2")
    assert disrupted(stage) == []
    assert refusals(stage) == [(("c1", "x1"), False)]
    assert stage.model.promises.of("p1") is None

    propose(p1="c2", p2="c2")
    assert disrupted(stage) == [["c1", "x1"]]
    # As long as one may wait for places of others.
    assert {p.expires_at for p in stage.model.promises.at("c2")} == {None}


@pytest.mark.parametrize("how", ["considered", "kept"])
def test_one_of_them_that_may_not_be_proposed_sends_all_back(how: str) -> None:
    kept = replace(ON_C1, annotations={labels.DO_NOT_DISRUPT: "true"})
    stage = Knowing(*IN_USE, kept if how == "kept" else ON_C1, *another("c2"))
    if how == "considered":
        stage.tell(allowed("c1"))

    stage.tell(allowed("c1", "c2", together=True).proposal)

    assert stage.arbiter.of(DisruptionProposed) == []
    assert [one.candidates for one in stage.disruptor.of(DisruptionRefused)] == [("c1", "c2")]


def answer(stage: Knowing, refused: RefusedClass) -> None:
    """Answer the last snapshot with a plan that has no place for these."""
    made = decided(stage.selector.of(SnapshotTaken)[-1].snapshot)
    stage.tell(replace(made, plan=replace(made.plan, refused=(refused,))))
