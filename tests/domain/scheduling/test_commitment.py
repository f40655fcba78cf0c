from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import (
    START,
    at,
    bound_pod,
    claim,
    decided,
    node,
    node_class,
    node_pool,
    pending_pod,
    planned_claim,
    resources,
)
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind, ObjectGone, ObjectSeen
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.model.claims import replaced_nodes
from treenail.domain.packing.plan import PackingPlan, PlannedClaim, RefusedClass
from treenail.domain.packing.refusal_reasons import Reason, Refusal
from treenail.domain.scheduling.commitment import commit

LASTS = timedelta(seconds=20)
ROOM = resources(cpu=4, pods=10)
IN_USE = (
    claim("c1", provider_id="aws:///a/i-1", initialized=True, room=ROOM),
    node("n1", provider_id="aws:///a/i-1", room=ROOM),
)


def model(*things: ClusterObject) -> ClusterModel:
    made = ClusterModel(promise_lasts=LASTS)
    for thing in (node_pool(), node_class(), *things):
        made.learn(ObjectSeen(object=thing), START)
    return made


def plan(known: ClusterModel, *claims: PlannedClaim, **nominations: str) -> PlanCommitted:
    """Commit a plan that was made on the model as it stands."""
    made = decided(known.snapshot(START), *claims, nominations=nominations)
    return commit(known, made, now=START, promise_lasts=LASTS)


def promised(known: ClusterModel) -> dict[str, str]:
    return {p.pod: p.target for p in known.promises.all()}


def test_a_claim_says_which_nodes_its_pods_are_to_leave_for_it() -> None:
    known = model(*IN_USE, bound_pod("p1", "n1"), bound_pod("p2", "n1"), pending_pod("p3"))
    known.mark_for_disruption("c1")

    committed = plan(known, planned_claim("p1", "p2", "p3"))

    assert [replaced_nodes(made) for made in committed.claims] == [("n1",)]


def test_the_pods_of_a_new_claim_are_promised_a_place_on_it_until_it_is_there() -> None:
    known = model(pending_pod("p1"), pending_pod("p2"))

    committed = plan(known, planned_claim("p1", "p2"))

    assert [c.name for c in committed.claims] == ["default-d1-0"]
    assert promised(known) == {"p1": "default-d1-0", "p2": "default-d1-0"}
    assert {p.expires_at for p in known.promises.all()} == {None}
    assert known.objects.claims["default-d1-0"].resource_version == 0
    assert known.snapshot(START).pods == ()


def test_what_is_carried_out_comes_with_the_pool_and_class_it_is_bought_from() -> None:
    known = model(pending_pod("p1"))

    committed = plan(known, planned_claim("p1"))

    assert committed.pools == {"default": node_pool()}
    assert committed.node_classes == {"EC2NodeClass/default": node_class()}


def test_each_pod_with_a_place_is_named_with_it_be_it_a_node_or_a_claim_that_is_made_for_it() -> None:
    known = model(*IN_USE, pending_pod("p1"), pending_pod("p2"), pending_pod("p3"))

    committed = plan(known, planned_claim("p2", "p3"), p1="c1")

    assert committed.places == (
        (pending_pod("p1"), "nodeclaim/c1, node/n1"),
        (pending_pod("p2"), "nodeclaim/default-d1-0"),
        (pending_pod("p3"), "nodeclaim/default-d1-0"),
    )


def test_a_pod_nominated_to_a_node_in_use_keeps_its_place_for_a_while() -> None:
    known = model(*IN_USE, pending_pod("p1"))

    committed = plan(known, p1="c1")

    assert committed.nominations == ((pending_pod("p1"), "c1"),)
    assert known.promises.at("c1")[0].expires_at == START + LASTS


def test_a_pod_nominated_to_a_node_on_its_way_keeps_its_place_until_it_is_there() -> None:
    known = model(claim("c1", provider_id="aws:///a/i-1", room=ROOM), pending_pod("p1"))

    plan(known, p1="c1")

    assert known.promises.at("c1")[0].expires_at is None


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(ObjectGone(kind=Kind.POD, key="p1"), id="it is gone"),
        pytest.param(ObjectSeen(object=bound_pod("p1", "n1", version=9)), id="it was bound"),
    ],
)
def test_a_pod_that_no_longer_waits_loses_its_place(meanwhile: ObjectGone | ObjectSeen) -> None:
    known = model(*IN_USE, pending_pod("p1"), pending_pod("p2"))
    made = decided(known.snapshot(START), planned_claim("p1"), planned_claim("p1", "p2"))
    known.learn(meanwhile, START)

    committed = commit(known, made, now=START, promise_lasts=LASTS)

    assert [c.name for c in committed.claims] == ["default-d1-1"]
    assert promised(known) == {"p2": "default-d1-1"}


def test_a_pod_that_has_a_place_already_gets_no_other() -> None:
    known = model(*IN_USE, pending_pod("p1"))
    made = decided(known.snapshot(START), planned_claim("p1"), nominations={"p1": "c1"})

    committed = commit(known, made, now=START, promise_lasts=LASTS)

    assert committed.claims == ()
    assert promised(known) == {"p1": "c1"}


def test_a_room_that_shrank_gets_only_what_fits() -> None:
    known = model(*IN_USE, pending_pod("p1", 2), pending_pod("p2", 2))
    made = decided(known.snapshot(START), nominations={"p1": "c1", "p2": "c1"})
    known.learn(ObjectSeen(object=bound_pod("other", "n1", 2)), START)

    committed = commit(known, made, now=START, promise_lasts=LASTS)

    assert [pod.uid for pod, _ in committed.nominations] == ["p1"]
    assert known.waiting("p2")


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(
            ObjectSeen(object=replace(IN_USE[0], resource_version=9, deleting_since=START)), id="leaving"
        ),
        pytest.param(ObjectGone(kind=Kind.NODE_CLAIM, key="c1"), id="gone"),
    ],
)
def test_a_room_on_its_way_out_gets_nothing(gone: ObjectGone | ObjectSeen) -> None:
    known = model(*IN_USE, pending_pod("p1"))
    made = decided(known.snapshot(START), nominations={"p1": "c1"})
    known.learn(gone, START)

    committed = commit(known, made, now=START, promise_lasts=LASTS)

    assert committed.nominations == ()
    assert known.waiting("p1")


def test_a_claim_whose_pods_are_all_gone_is_not_made() -> None:
    known = model(pending_pod("p1"))
    made = decided(known.snapshot(START), planned_claim("p1"))
    known.learn(ObjectGone(kind=Kind.POD, key="p1"), START)

    assert commit(known, made, now=START, promise_lasts=LASTS).claims == ()
    assert known.objects.claims == {}


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(ObjectGone(kind=Kind.NODE_POOL, key="default"), id="pool gone"),
        pytest.param(ObjectSeen(object=replace(node_pool(version=9), deleting=True)), id="pool deleting"),
        pytest.param(ObjectGone(kind=Kind.NODE_CLASS, key="EC2NodeClass/default"), id="class gone"),
    ],
)
def test_a_pool_that_cannot_buy_any_more_makes_no_claim(meanwhile: ObjectGone | ObjectSeen) -> None:
    known = model(pending_pod("p1"))
    made = decided(known.snapshot(START), planned_claim("p1"))
    known.learn(meanwhile, START)

    assert commit(known, made, now=START, promise_lasts=LASTS).claims == ()
    assert known.waiting("p1")


def test_no_claim_is_made_that_would_break_the_limits_counted_with_its_largest_type() -> None:
    known = model(node_pool(version=2, limits=resources(cpu=10)), *(pending_pod(f"p{n}") for n in range(3)))

    committed = plan(known, *(planned_claim(f"p{n}", cpu=4) for n in range(3)))

    assert [c.name for c in committed.claims] == ["default-d1-0", "default-d1-1"]
    assert known.capacity.limit_left(known.objects.pools["default"]) == resources(cpu=2)
    assert known.waiting("p2")


def test_a_limit_of_nodes_counts_claims() -> None:
    known = model(node_pool(version=2, limits=resources(nodes=1)), pending_pod("p1"), pending_pod("p2"))

    assert len(plan(known, planned_claim("p1"), planned_claim("p2")).claims) == 1


def test_a_limit_may_be_used_up_to_the_last() -> None:
    known = model(node_pool(version=2, limits=resources(cpu=4, nodes=1)), pending_pod("p1"))

    assert len(plan(known, planned_claim("p1", cpu=4)).claims) == 1


def test_a_pod_that_must_move_keeps_its_place_for_whoever_comes_after_it() -> None:
    known = model(*IN_USE, bound_pod("p1", "n1", owner="web"), bound_pod("bare", "n1", owner=""))
    known.mark_for_disruption("c1")

    plan(known, planned_claim("p1", "bare"))

    assert {p.pod: p.heir for p in known.promises.all()} == {"p1": "web", "bare": ""}


def test_a_pod_whose_node_stays_after_all_is_not_moved() -> None:
    known = model(*IN_USE, bound_pod("p1", "n1"))
    known.mark_for_disruption("c1")
    made = decided(known.snapshot(START), planned_claim("p1"))
    known.unmark("c1")

    assert commit(known, made, now=START, promise_lasts=LASTS).claims == ()
    assert promised(known) == {}


def test_a_pod_that_comes_back_nowhere_is_not_moved() -> None:
    known = model(*IN_USE, bound_pod("p1", "n1"))
    known.mark_for_disruption("c1")
    made = decided(known.snapshot(START), planned_claim("p1"))
    known.learn(ObjectSeen(object=replace(bound_pod("p1", "n1", version=9), deleting_since=START)), START)

    assert commit(known, made, now=START, promise_lasts=LASTS).claims == ()


def test_only_pods_that_still_wait_are_refused() -> None:
    refusals = (Refusal("default", Reason.TOO_LARGE, "too large"),)
    known = model(pending_pod("p1"), pending_pod("p2"), pending_pod("p3"))
    made = decided(known.snapshot(START))
    refused = (RefusedClass(pods=("p1", "p2"), refusals=refusals), RefusedClass(pods=("p3",), refusals=()))
    made = replace(made, plan=PackingPlan(refused=refused))
    known.learn(ObjectGone(kind=Kind.POD, key="p2"), START)

    committed = commit(known, made, now=START, promise_lasts=LASTS)

    assert committed.refused == ((pending_pod("p1"), refused[0]), (pending_pod("p3"), refused[1]))


def test_committing_twice_promises_nothing_twice() -> None:
    known = model(*IN_USE, pending_pod("p1"), pending_pod("p2"))
    made = decided(known.snapshot(START), planned_claim("p1"), nominations={"p2": "c1"})
    commit(known, made, now=START, promise_lasts=LASTS)

    again = commit(known, made, now=at(1), promise_lasts=LASTS)

    assert (again.claims, again.nominations) == ((), ())
