"""Consolidation as the cluster state serves it: when a pass is made, and what becomes of its moves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.actors.cluster_rig import Knowing
from tests.builders import (
    START,
    bound_pod,
    claim_of,
    decided,
    node_of,
    pending_pod,
    planned_claim,
    resources,
    view,
)
from tests.domain.disruption.consolidating import BOUGHT, pool
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind, ObjectGone, ObjectSeen
from treenail.domain.cluster.consolidating import ConsolidationPostponed, ConsolidationWanted, MoveWithdrawn
from treenail.domain.cluster.planning import Consolidation, PlanCommitted, PlanDecided, SnapshotTaken
from treenail.domain.disruption.disruption import (
    DisruptionAllowed,
    DisruptionEnded,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
    NodeEmptied,
)
from treenail.domain.launch.launching import ClaimFailed
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.consolidated_claims import Origin, read_origins, shape_of
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import LabelSelector
from treenail.domain.model.zonal_shifts import ZonesShifted
from treenail.domain.telemetry import metrics


def standing(name: str) -> NodeView:
    return view(name, of_claim={"labels": BOUGHT}, of_node={"labels": BOUGHT})


def there(name: str, *pods: str) -> tuple[ClusterObject, ...]:
    one = standing(name)
    return claim_of(one), node_of(one), *(bound_pod(pod, f"node-{name}") for pod in pods)


class Consolidated(Knowing):
    """A cluster of the nodes c1, with the pod p1, and c2, with p2."""

    def __init__(self, *, synced: bool = True, patient: NodePool | None = None) -> None:
        own = patient or replace(pool(), resource_version=2)
        super().__init__(own, *there("c1", "p1"), *there("c2", "p2"), synced=synced)
        self.selector.received.clear()

    def want(self, **more: Any) -> None:
        self.tell(ConsolidationWanted(**more))

    def passes(self) -> list[Consolidation]:
        """Return what was given to be consolidated."""
        taken = self.selector.of(SnapshotTaken)
        return [one.consolidation for one in taken if one.consolidation is not None]

    def postponed(self) -> list[bool]:
        """Return, of each pass that was postponed, whether that was for decisions on pods."""
        return [one.busy for one in self.consolidator.of(ConsolidationPostponed)]

    def allow(self, planned: PlanDecided, *names: str) -> None:
        """Allow a move of these nodes."""
        planned = replace(planned, removed=names, saves=0.2)
        proposal = DisruptionProposed(
            pool="", candidates=names, cause=Cause.UNDERUTILIZED, together=True, planned=planned
        )
        self.tell(DisruptionAllowed(proposal=proposal, candidates=names, budgets=("default",)))

    def move(self, *, name: str = "pass-0", after: tuple[str, ...] = ()) -> None:
        """Move p1 to c2, and give c1 back."""
        snapshot = self.model.snapshot(START, movable=("c1", "c2"))
        planned = decided(snapshot, nominations={"p1": "c2"}, name=name)
        self.allow(replace(planned, after=after), "c1")

    def replace(self, *, back_to: tuple[str, ...] = (), premium: float = 0.0) -> NodeClaim:
        """Replace c1 with a node that is bought for 0.10 $/h, to save 0.20; return its claim."""
        snapshot = self.model.snapshot(START, movable=("c1", "c2"))
        planned = decided(snapshot, planned_claim("p1"), name="pass-0")
        self.allow(replace(planned, back_to=back_to, premium=premium), "c1")
        (claim,) = self.launcher.of(PlanCommitted)[-1].claims
        return claim

    def launched(self, claim: NodeClaim, price: float) -> NodeClaim:
        """Return the claim once it has a machine for this price, $/h."""
        return replace(
            claim,
            resource_version=5,
            provider_id="aws:///a/i-new",
            capacity=resources(cpu=4, pods=10),
            allocatable=resources(cpu=4, pods=10),
            annotations={**claim.annotations, labels.PRICE: f"{price:.6f}"},
        )

    def orders(self) -> list[tuple[list[str], Cause]]:
        """Return which nodes were given up, and why."""
        return [([one.name for one in order.nodes], order.cause) for order in self.arbiter.of(DisruptNodes)]

    def refusals(self) -> list[tuple[tuple[str, ...], str]]:
        return [(one.candidates, one.why.sentence) for one in self.arbiter.of(DisruptionRefused)]

    def withdrawn(self) -> list[tuple[str, ...]]:
        return [one.names for one in self.termination.of(MoveWithdrawn)]

    def places(self) -> dict[str, list[bool]]:
        """Return what was told last of each node that goes: which places of its pods are ready."""
        told = {one.name: list(one.places.values()) for one in self.termination.of(NodeChanged) if one.going}
        return {name: told[name] for name in sorted(told)}

    def going(self, name: str) -> bool:
        """Return whether who ends nodes was told last that this one goes."""
        return [one for one in self.termination.of(NodeChanged) if one.name == name][-1].going


# --- when a pass is made


def test_a_pass_looks_at_the_nodes_that_may_go_with_their_pods_to_be_placed() -> None:
    stage = Consolidated()

    stage.want(urgent_only=True)

    (found,) = stage.passes()
    assert [one.name for one in found.candidates] == ["c1", "c2"]
    assert found.urgent_only
    (taken,) = stage.selector.of(SnapshotTaken)
    assert [pod.uid for pod in taken.snapshot.pods] == ["p1", "p2"]
    assert stage.postponed() == []


def test_a_node_that_a_pod_just_left_takes_no_others_though_its_claim_does_not_say_so_yet() -> None:
    stage = Consolidated()
    patient = replace(pool().disruption, consolidate_after=timedelta(minutes=1))
    stage.see(replace(pool(disruption=patient), resource_version=3), bound_pod("p3", "node-c2"))
    stage.run(60)

    stage.lose(Kind.POD, "p3")
    stage.want()

    (found,) = stage.passes()
    assert [one.name for one in found.candidates] == ["c1"]
    assert found.not_receiving == {"c2"}


def test_before_all_of_the_cluster_is_known_no_pass_is_made() -> None:
    stage = Consolidated(synced=False)

    stage.want()

    assert (stage.passes(), stage.postponed()) == ([], [True])


def test_while_pods_wait_no_pass_is_made() -> None:
    stage = Consolidated()
    stage.see(pending_pod("p9"))

    stage.want()

    assert (stage.passes(), stage.postponed()) == ([], [True])


def test_while_a_decision_is_made_no_pass_is_made() -> None:
    stage = Consolidated()
    stage.see(pending_pod("p9"))
    stage.close_batch()
    stage.see(replace(pending_pod("p9", version=2), node_name="node-c1"))

    stage.want()

    assert (stage.passes(), stage.postponed()) == ([], [True])


def test_a_fruitless_state_is_not_planned_again_until_something_changes() -> None:
    stage = Consolidated()
    stage.want()
    (found,) = stage.passes()

    stage.want(fruitless=found.state)
    assert (len(stage.passes()), stage.postponed()) == (1, [False])

    stage.see(bound_pod("p3", "node-c2"))
    stage.want(fruitless=found.state)
    assert (len(stage.passes()), stage.postponed()) == (2, [False])


def test_a_pass_is_made_once_the_time_alone_lets_a_node_go() -> None:
    window = replace(pool().disruption, consolidate_after=timedelta(minutes=1))
    stage = Consolidated(patient=replace(pool(), resource_version=3, disruption=window))
    stage.want()
    stage.run(59)
    stage.want()
    assert (stage.passes(), stage.postponed()) == ([], [False, False])

    stage.run(2)
    stage.want()
    assert [one.name for one in stage.passes()[-1].candidates] == ["c1", "c2"]


@pytest.mark.parametrize(
    "news",
    [
        pytest.param(
            ObjectSeen(object=PodDisruptionBudget(name="all", selector=LabelSelector(), resource_version=9)),
            id="a budget of pods",
        ),
        pytest.param(ZonesShifted(zone_ids=frozenset({"use1-az1"})), id="a zone that is shifted away from"),
        pytest.param(
            ObjectSeen(object=replace(claim_of(standing("c1")), resource_version=9, conditions=())),
            id="a claim that is in use no more",
        ),
    ],
)
def test_nodes_are_looked_at_anew_after_any_news(news: object) -> None:
    stage = Consolidated()
    for name in ("c1", "c2"):
        placed = {**BOUGHT, labels.ZONE_ID: "use1-az1"}
        stage.see(replace(node_of(standing(name)), resource_version=9, labels=placed))
    stage.want()
    (first,) = stage.passes()
    stage.want(fruitless=first.state)

    stage.tell(news)
    stage.want(fruitless=first.state)

    looked_at = [one.consolidation for one in stage.consolidator.of(ConsolidationPostponed)]
    looked_at += stage.passes()
    assert len([one for one in looked_at if one is not None and one.candidates != first.candidates]) == 1


def test_nodes_are_not_looked_at_anew_where_nothing_happened() -> None:
    stage = Consolidated()
    stage.want()
    (first,) = stage.passes()

    for _ in range(2):
        stage.run(100)
        stage.want(fruitless=first.state)

    one, other = (said.consolidation for said in stage.consolidator.of(ConsolidationPostponed))
    assert one is first
    assert other is first


# --- moves that are made


def test_a_move_promises_the_places_and_gives_its_nodes_up_once_pods_are_there() -> None:
    stage = Consolidated()

    stage.move()

    assert stage.orders() == [(["c1"], Cause.UNDERUTILIZED)]
    assert stage.arbiter.of(DisruptNodes)[0].replaced_first
    assert [one.pod for one in stage.model.promises.at("c2")] == ["p1"]
    assert stage.going("c1")
    assert stage.withdrawn() == []


def test_a_move_is_refused_while_pods_wait() -> None:
    stage = Consolidated()
    stage.see(pending_pod("p9"))

    stage.move()

    assert stage.orders() == []
    assert stage.refusals() == [(("c1",), "pods wait for a decision")]
    assert not stage.model.promises.at("c2")


@pytest.mark.parametrize(("after", "made"), [("pass-0", True), ("pass-1", False), ("other-0", False)])
def test_a_move_is_made_only_after_those_that_it_relies_on(after: str, made: bool) -> None:  # noqa: FBT001
    stage = Consolidated()
    stage.see(*there("c3", "p3"), *there("c4"))
    snapshot = stage.model.snapshot(START, movable=("c1", "c2", "c3"))
    stage.allow(decided(snapshot, nominations={"p3": "c4"}, name="pass-0"), "c3")

    planned = decided(snapshot, nominations={"p1": "c2"}, name="pass-2")
    stage.allow(replace(planned, after=(after,)), "c1")

    assert stage.orders()[1:] == ([(["c1"], Cause.UNDERUTILIZED)] if made else [])
    assert [why for _, why in stage.refusals()] == ([] if made else ["a move that it relies on was not made"])


def test_what_a_move_saves_is_counted_when_its_nodes_are_gone_by_the_launched_price() -> None:
    stage = Consolidated()
    bought = stage.replace()
    stage.see(stage.launched(bought, 0.15))
    assert stage.telemetry.counted(metrics.CONSOLIDATION_SAVED.name, nodepool="default") == 0

    stage.tell(ObjectGone(kind=Kind.NODE, key="node-c1"))
    stage.tell(ObjectGone(kind=Kind.NODE_CLAIM, key="c1"))

    saved = stage.telemetry.counted(metrics.CONSOLIDATION_SAVED.name, nodepool="default")
    assert saved == pytest.approx(0.15)
    (span,) = stage.spans("move")
    (decision,) = stage.spans("consolidate")
    assert span.parent == decision.context
    assert span.attributes["treenail.removed"] == ("c1",)
    assert span.attributes["treenail.saves_usd_hour"] == 0.2
    assert span.attributes["treenail.saved_usd_hour"] == 0.15


# --- moves that do not work out


def test_a_replacement_that_cannot_be_bought_withdraws_the_move_and_the_node_stays() -> None:
    stage = Consolidated()
    bought = stage.replace()
    assert stage.going("c1")

    stage.tell(ClaimFailed(claim=bought.name, cause=Cause.INSUFFICIENT_CAPACITY, why="none left"))

    assert stage.withdrawn() == [("c1",)]
    assert not stage.going("c1")
    assert "c1" not in stage.model.marks.for_disruption
    (span,) = stage.spans("withdraw")
    assert span.error == "not all pods of the node have other places"
    assert span.attributes["treenail.stays"] == ("c1",)
    (told,) = stage.consolidator.of(MoveWithdrawn)
    assert [ref.name for ref in told.about] == ["node-c1", "c1"]
    assert told.saves == 0.2
    assert stage.telemetry.counted(metrics.CONSOLIDATION_SAVED.name, nodepool="default") == 0


def test_a_node_that_stays_since_its_pods_could_not_be_evicted_withdraws_the_move() -> None:
    stage = Consolidated()
    stage.move()

    stage.tell(DisruptionEnded(name="c1", why="some of its pods could not be evicted for an hour"))

    assert stage.withdrawn() == [("c1",)]
    assert not stage.going("c1")
    (span,) = stage.spans("withdraw")
    assert span.error == "some of its pods could not be evicted for an hour"
    (told,) = stage.consolidator.of(MoveWithdrawn)
    assert told.names == ("c1",)


def test_a_dearer_replacement_is_given_back_and_the_node_stays() -> None:
    stage = Consolidated()
    bought = stage.replace()

    stage.see(stage.launched(bought, 0.25))

    assert stage.withdrawn() == [("c1",)]
    assert not stage.going("c1")
    assert stage.orders()[1:] == [([bought.name], Cause.EMPTY)]
    assert stage.going(bought.name)


def test_a_replacement_for_the_planned_price_is_kept() -> None:
    stage = Consolidated()
    bought = stage.replace()

    stage.see(stage.launched(bought, 0.1))

    assert stage.withdrawn() == []
    assert stage.going("c1")
    assert not stage.going(bought.name)


def test_a_node_that_is_deleted_already_does_not_come_back_when_a_place_is_lost() -> None:
    stage = Consolidated()
    bought = stage.replace()
    stage.see(replace(claim_of(standing("c1")), deleting_since=START, resource_version=9))

    stage.tell(ClaimFailed(claim=bought.name, cause=Cause.INSUFFICIENT_CAPACITY, why="none left"))

    assert stage.withdrawn() == []
    assert stage.going("c1")


def test_a_return_may_cost_as_much_more_as_was_said_and_no_more() -> None:
    for price, withdrawn in ((0.14, []), (0.16, [("c1",)])):
        stage = Consolidated()
        bought = stage.replace(back_to=("heavy",), premium=0.05)

        stage.see(stage.launched(bought, price))

        assert stage.withdrawn() == withdrawn
        assert [one.bought for one in stage.consolidator.of(MoveWithdrawn)] == [1 for _ in withdrawn]


def test_no_node_of_a_move_goes_before_all_its_replacements_are_in_use() -> None:
    stage = Consolidated()
    snapshot = stage.model.snapshot(START, movable=("c1", "c2"))
    planned = decided(snapshot, planned_claim("p1"), planned_claim("p2"), name="pass-0")
    stage.allow(planned, "c1", "c2")
    first, second = stage.launcher.of(PlanCommitted)[-1].claims

    def ready(claim: NodeClaim) -> None:
        one = view(claim.name)
        made = replace(claim_of(one), annotations=claim.annotations, resource_version=9)
        stage.see(made, node_of(one))

    ready(first)
    assert stage.places() == {"c1": [False], "c2": [False]}

    ready(second)
    assert stage.places() == {"c1": [True], "c2": [True]}


@pytest.mark.parametrize("moved", [True, False], ids=["of a move", "that waits"])
def test_a_node_bought_for_a_pod_of_a_move_whose_place_is_taken_is_in_place_of_its_node(
    moved: bool,  # noqa: FBT001
) -> None:
    stage = Consolidated()
    if moved:
        stage.move()
        said = {labels.CAUSE: Cause.UNDERUTILIZED.value}
        going = replace(claim_of(standing("c1")), annotations=said, deleting_since=START, resource_version=9)
        stage.see(going)
        stage.see(*(bound_pod(f"other-{number}", "node-c2", cpu=1) for number in range(4)))
    else:
        stage.see(pending_pod("p1", version=2))
    stage.close_batch()

    stage.decide(planned_claim("p1"))

    (bought,) = stage.committed()[-1].claims
    origin = Origin(saving=0.0, at=stage.now(), replaced=(shape_of(claim_of(standing("c1"))),))
    assert read_origins(bought) == ((origin,) if moved else ())


def emptied(stage: Consolidated, name: str) -> list[NodeEmptied]:
    return [one for one in stage.disruptor.of(NodeEmptied) if one.name == name]


def test_a_new_node_whose_pod_went_elsewhere_waits_for_other_pods_of_its_move() -> None:
    stage = Consolidated()
    new = stage.replace()
    in_use = view(new.name)
    stage.see(replace(claim_of(in_use), annotations=new.annotations, resource_version=9), node_of(in_use))

    # p1 stops, and the pod made in its place was sent to c2.
    stage.see(replace(bound_pod("p1", "node-c1"), deleting_since=stage.now(), resource_version=9))
    stage.model.promises.end("p1")
    stage.see(bound_pod("p9", f"node-{new.name}"))
    stage.lose(Kind.POD, "p9")
    since = stage.now()
    (waits,) = [one for one in emptied(stage, new.name) if one.since is not None]
    assert waits == NodeEmptied(name=new.name, since=since, not_before=since + timedelta(minutes=10))

    stage.run(300)
    stage.lose(Kind.POD, "p1")
    stage.lose(Kind.NODE, "node-c1")
    stage.lose(Kind.NODE_CLAIM, "c1")

    # It has been empty since then all the same.
    assert emptied(stage, new.name)[-1] == NodeEmptied(name=new.name, since=since)
