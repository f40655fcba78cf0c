from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.cluster_rig import IN_USE, Knowing
from tests.builders import (
    START,
    at,
    bound_pod,
    claim,
    claim_of,
    node_class,
    node_of,
    node_pool,
    pending_pod,
    planned_claim,
    view,
)
from treenail.domain.cluster.batch_window import UrgentWork
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.disruption.disruption import (
    DisruptionAllowed,
    DisruptionEnded,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
    NodeEmptied,
    PoolChanged,
)
from treenail.domain.launch.launching import ClaimFailed
from treenail.domain.model import labels
from treenail.domain.model.blockers import Block
from treenail.domain.model.causes import Cause
from treenail.domain.model.taints import DISRUPTED

P1, P2 = pending_pod("p1"), pending_pod("p2")
CORDONED = {"unschedulable": True}


# --- nodes


@pytest.mark.parametrize("name", ["launcher", "lifecycle", "termination", "arbiter"])
def test_who_deals_with_nodes_hears_of_every_change(name: str) -> None:
    stage = Knowing()

    stage.see(claim_of(view()))
    stage.lose(Kind.NODE_CLAIM, "c1")

    assert [(m.name, m.view is not None) for m in getattr(stage, name).of(NodeChanged)] == [
        ("c1", True),
        ("c1", False),
    ]


def test_a_claim_that_waits_for_its_launch_is_told_with_what_it_is_launched_from() -> None:
    stage = Knowing()

    stage.see(claim("new"))

    (changed,) = stage.launcher.of(NodeChanged)
    assert (changed.pool, changed.node_class) == (node_pool(), node_class())


def test_a_node_that_goes_is_told_with_its_pods_and_who_replaces_it() -> None:
    stage = Knowing(*IN_USE, bound_pod("p1", "node-c1"))
    stage.interrupt()
    stage.close_batch("d1")

    stage.decide(planned_claim("p1"))

    before, *_, after = stage.termination.of(NodeChanged)
    assert (before.going, before.pods) == (False, ())
    assert (after.going, [p.uid for p in after.pods], after.decisions) == (True, ["p1"], ("d1",))
    assert after.places == {"p1": False}


def test_a_node_that_goes_is_told_again_when_the_new_place_of_its_pods_is_ready() -> None:
    stage = Knowing(*IN_USE, bound_pod("p1", "node-c1"))
    stage.interrupt()
    stage.close_batch("d1")
    stage.decide(planned_claim("p1"))
    (promise,) = stage.model.promises.at("default-d1-0")
    assert promise.pod == "p1"

    there = view("default-d1-0")
    stage.see(claim_of(there), node_of(there))

    last = [m for m in stage.termination.of(NodeChanged) if m.name == "c1"][-1]
    assert last.places == {"p1": True}


def test_a_node_that_goes_is_told_again_when_the_new_place_of_its_pods_fails() -> None:
    stage = Knowing(*IN_USE, bound_pod("p1", "node-c1"))
    stage.interrupt()
    stage.close_batch("d1")
    stage.decide(planned_claim("p1"))

    stage.tell(ClaimFailed(claim="default-d1-0", cause=Cause.LAUNCH_FAILED, why=""))

    last = [m for m in stage.termination.of(NodeChanged) if m.name == "c1"][-1]
    assert last.places == {}


def test_an_empty_node_is_told_to_its_pools_disruptor_once() -> None:
    stage = Knowing(*IN_USE)
    stage.run(5)

    stage.see(bound_pod("p1", "node-c1"), bound_pod("p2", "node-c1"))
    stage.lose(Kind.POD, "p1")
    stage.lose(Kind.POD, "p2")

    assert stage.disruptor.of(NodeEmptied) == [
        NodeEmptied(name="c1", since=START),
        NodeEmptied(name="c1", since=None),
        NodeEmptied(name="c1", since=at(5)),
    ]


def test_the_time_of_an_empty_node_restarts_with_each_pod_that_comes_though_it_costs_nothing_to_evict() -> (
    None
):
    free = replace(bound_pod("p1", "node-c1"), annotations={labels.POD_DELETION_COST: str(-(2**27))})
    stage = Knowing(*IN_USE)
    stage.run(5)
    stage.see(free)
    stage.run(5)
    stage.see(replace(free, resource_version=2, deleting_since=at(10)))
    stage.run(5)
    stage.lose(Kind.POD, "p1")

    assert stage.disruptor.of(NodeEmptied) == [
        NodeEmptied(name="c1", since=START),
        NodeEmptied(name="c1", since=at(5)),
        NodeEmptied(name="c1", since=at(10)),
    ]


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(view(of_claim={"conditions": ()}), id="not in use yet"),
        pytest.param(view(of_claim={"deleting_since": START}), id="on its way out"),
        pytest.param(view(of_node={"taints": (DISRUPTED,)}), id="marked by us"),
    ],
)
def test_a_node_that_cannot_be_given_back_is_not_told_as_empty(there: Any) -> None:
    stage = Knowing(there.claim, there.node)

    assert stage.disruptor.of(NodeEmptied) == []


def test_one_that_somebody_cordoned_can_be_given_back() -> None:
    there = view(of_node=CORDONED)
    stage = Knowing(claim_of(there), node_of(there))

    assert [told.name for told in stage.disruptor.of(NodeEmptied)] == ["c1"]


def test_a_node_nobody_claimed_is_not_told_as_empty() -> None:
    stage = Knowing(IN_USE[1])

    assert stage.disruptor.of(NodeEmptied) == []


def test_an_empty_node_that_goes_is_no_candidate_any_more() -> None:
    stage = Knowing(*IN_USE)

    stage.lose(Kind.NODE, "node-c1")

    assert [m.since for m in stage.disruptor.of(NodeEmptied)] == [START, None]


# --- pools


def test_pools_are_told_to_their_disruptors_and_the_arbiter() -> None:
    stage = Knowing()
    other = node_pool("other")

    stage.see(other)
    stage.lose(Kind.NODE_POOL, "other")

    told = stage.arbiter.of(PoolChanged)
    assert [(m.name, m.pool is not None) for m in told] == [
        ("default", True),
        ("default", True),
        ("other", True),
        ("default", True),
        ("other", False),
    ]
    assert stage.disruptor.of(PoolChanged) == told


# --- claims that fail


@pytest.mark.parametrize(
    ("cause", "urgent"),
    [(Cause.INSUFFICIENT_CAPACITY, ["insufficient_capacity"]), (Cause.LAUNCH_FAILED, [])],
)
def test_the_pods_of_a_claim_that_failed_wait_again(cause: Cause, urgent: list[str]) -> None:
    stage = Knowing(P1)
    stage.close_batch()
    stage.decide(planned_claim("p1"))

    stage.tell(ClaimFailed(claim="default-d1-0", cause=cause, why=""))

    assert stage.model.waiting("p1")
    assert stage.model.objects.claims == {}
    assert [m.why for m in stage.batcher.of(UrgentWork)] == urgent


# --- nodes to be given up


def allow(stage: Knowing, *names: str, cause: Cause = Cause.EMPTY) -> None:
    proposal = DisruptionProposed(pool="default", candidates=names, cause=cause)
    stage.tell(DisruptionAllowed(proposal=proposal, candidates=names, budgets=("default",)))


def test_what_is_proposed_goes_to_the_budgets_less_what_may_not_go() -> None:
    stage = Knowing(*IN_USE, bound_pod("p1", "node-c1"))
    proposal = DisruptionProposed(pool="default", candidates=("stranger", "c1"), cause=Cause.DRIFTED)

    stage.tell(proposal)

    assert stage.arbiter.of(DisruptionProposed) == [replace(proposal, candidates=("c1",))]
    assert stage.disruptor.of(DisruptionRefused) == [
        DisruptionRefused(pool="default", candidates=("stranger",), why=Block.CHANGED.by())
    ]
    assert stage.arbiter.of(DisruptNodes) == []


def test_where_nothing_proposed_may_go_the_budgets_are_not_asked() -> None:
    kept = replace(bound_pod("p1", "node-c1"), annotations={labels.DO_NOT_DISRUPT: "true"})
    stage = Knowing(*IN_USE, kept)

    stage.tell(DisruptionProposed(pool="default", candidates=("c1",), cause=Cause.DRIFTED))

    assert stage.arbiter.of(DisruptionProposed) == []
    assert stage.arbiter.of(DisruptionRefused) == []
    (refused,) = stage.disruptor.of(DisruptionRefused)
    assert refused.candidates == ("c1",)


def test_an_empty_node_is_given_up_when_it_still_is_empty() -> None:
    stage = Knowing(*IN_USE)

    allow(stage, "c1")

    assert stage.arbiter.of(DisruptNodes) == [
        DisruptNodes(nodes=(view(),), cause=Cause.EMPTY, decided_at=START, policies={"default": "when_empty"})
    ]
    assert [r.name for r in stage.model.snapshot(START).existing_nodes if r.open] == []
    assert stage.disruptor.of(NodeEmptied)[-1].since is None


def test_a_node_is_told_to_go_before_the_one_who_ends_it_hears_of_the_decision() -> None:
    stage = Knowing(*IN_USE)

    allow(stage, "c1")

    assert stage.termination.of(NodeChanged)[-1].going


@pytest.mark.parametrize("how", ["pod", "promise", "gone", "not in use", "going"])
def test_a_node_that_is_no_longer_as_it_was_stays(how: str) -> None:
    stage = Knowing(*IN_USE, P1)
    match how:
        case "pod":
            stage.see(bound_pod("p2", "node-c1"))
        case "promise":
            stage.close_batch()
            stage.decide(p1="c1")
        case "gone":
            stage.lose(Kind.NODE_CLAIM, "c1")
        case "not in use":
            stage.lose(Kind.NODE, "node-c1")
        case _:
            stage.interrupt()

    allow(stage, "c1")

    assert stage.arbiter.of(DisruptNodes) == []
    assert stage.arbiter.of(DisruptionRefused) == [
        DisruptionRefused(pool="default", candidates=("c1",), why=Block.CHANGED.by())
    ]


def test_a_node_may_go_with_its_pods_for_another_cause_than_emptiness() -> None:
    stage = Knowing(*IN_USE, bound_pod("p1", "node-c1"))

    allow(stage, "c1", "stranger", cause=Cause.DELETED)

    (disrupt,) = stage.arbiter.of(DisruptNodes)
    (refused,) = stage.arbiter.of(DisruptionRefused)
    assert [v.name for v in disrupt.nodes] == ["c1"]
    assert refused.candidates == ("stranger",)


def test_a_node_that_stays_after_all_takes_pods_again_and_may_be_empty_again() -> None:
    stage = Knowing(*IN_USE)
    allow(stage, "c1")

    stage.tell(DisruptionEnded(name="c1"))

    assert [r.name for r in stage.model.snapshot(START).existing_nodes] == ["c1"]
    assert stage.disruptor.of(NodeEmptied)[-1].since == START
