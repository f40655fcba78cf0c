from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import (
    START,
    at,
    bound_pod,
    claim,
    claim_of,
    conditions,
    decided,
    node_of,
    node_pool,
    pending_pod,
    planned_claim,
    resources,
    spec,
    view,
)
from tests.domain.models import (
    IN_USE,
    LASTS,
    ROOM,
    daemon,
    existing_nodes,
    lose,
    model,
    promise,
    see,
    to_place,
)
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, ObjectSeen
from treenail.domain.cluster.promises import Promise
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model import labels
from treenail.domain.model.nodes import LAUNCHED, REGISTERED, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pods import LabelSelector, Owner, Phase, PodAffinityTerm
from treenail.domain.model.taints import DISRUPTED
from treenail.domain.scheduling.commitment import commit

NARROW = resources(cpu=1, pods=10)
LEAVING = (claim_of(view("c2")), node_of(view("c2")))

# --- pods


def test_pods_are_known_by_their_node() -> None:
    known = model(*IN_USE, bound_pod("p2", "node-c1"), bound_pod("p1", "node-c1"), pending_pod("p3"))

    assert [p.uid for p in known.objects.pods_on("c1")] == ["p1", "p2"]
    see(known, replace(bound_pod("p1", "node-c1", version=2), phase=Phase.SUCCEEDED))
    lose(known, Kind.POD, "p2")
    assert known.objects.pods_on("c1") == ()


def test_a_pod_that_is_bound_is_told_with_its_promise() -> None:
    known = model(*IN_USE, pending_pod("p1"))
    promise(known, "p1", "c1")
    known.take_changes()

    see(known, bound_pod("p1", "node-c1", version=2))

    (told,) = known.take_changes().bound
    assert (told.pod.uid, told.view.name) == ("p1", "c1")
    assert told.promise is not None
    assert len(known.promises) == 0


def test_a_promise_holds_on_a_node_that_has_less_until_it_is_in_use() -> None:
    starting = view(
        of_claim={"conditions": conditions(LAUNCHED, REGISTERED)}, of_node={"allocatable": NARROW}
    )
    known = model(claim_of(starting), node_of(starting), pending_pod("p1", 2))
    promise(known, "p1", "c1")
    see(known, replace(node_of(starting), resource_version=2))
    assert known.promises.of("p1") is not None

    see(known, replace(claim_of(view()), resource_version=2))

    assert known.promises.of("p1") is None
    assert to_place(known) == ["p1"]


def test_daemons_and_static_pods_are_not_told_as_bound() -> None:
    known = model(*IN_USE)
    static = replace(bound_pod("m1", "node-c1"), owners=(Owner(kind="Node", name="node-c1", uid="n"),))

    see(known, daemon("d1", "node-c1"), static, bound_pod("p1", "unknown"))

    assert known.take_changes().bound == []


def test_a_pod_bound_where_another_was_promised_takes_its_room() -> None:
    known = model(*IN_USE, pending_pod("p1"), pending_pod("p2"))
    promise(known, "p1", "c1")
    promise(known, "p2", "c1")
    known.take_changes()

    see(known, bound_pod("big", "node-c1", 3))

    assert known.promises.of("p1") is not None
    assert known.promises.of("p2") is None
    assert "p2" in known.take_changes().pods
    assert known.waiting("p2")


OTHER = (claim_of(view("c3")), node_of(view("c3")))


def crossed(uid: str, *, owner: str = "web", cpu: int = 3) -> ClusterModel:
    """Return a model in which a pod with a place on c3 was bound to c1, to which another one is to move."""
    pods = bound_pod("p1", "node-c2", 3), pending_pod(uid, cpu, owner=owner)
    known = model(*IN_USE, *LEAVING, *OTHER, *pods)
    known.mark_for_disruption("c2")
    promise(known, "p1", "c1")
    promise(known, uid, "c3")
    see(known, bound_pod(uid, "node-c1", cpu, version=2, owner=owner))
    return known


def test_an_equal_pod_that_takes_its_place_leaves_it_its_own() -> None:
    known = crossed("p2")

    (moved,) = known.promises.at("c3")
    assert (moved.pod, moved.expires_at) == ("p1", None)
    assert not known.empty("c3")


@pytest.mark.parametrize(("owner", "cpu"), [("other", 3), ("web", 4)])
def test_one_of_another_workload_or_size_leaves_it_none(owner: str, cpu: int) -> None:
    known = crossed("p2", owner=owner, cpu=cpu)

    assert known.promises.of("p1") is None
    assert known.empty("c3")


def test_a_node_that_waits_for_a_pods_new_place_is_told_when_another_takes_it() -> None:
    known = model(*IN_USE, *LEAVING, bound_pod("p1", "node-c2", 3))
    known.mark_for_disruption("c2")
    promise(known, "p1", "c1")
    known.take_changes()

    see(known, bound_pod("big", "node-c1", 3))

    assert known.promises.of("p1") is None
    assert "c2" in known.take_changes().views


def test_a_node_that_waits_for_a_pods_new_place_is_told_when_that_is_kept_no_longer() -> None:
    known = model(*IN_USE, *LEAVING, bound_pod("p1", "node-c2"))
    known.mark_for_disruption("c2")
    kept = Promise(like=known.objects.pods["p1"], target="c1", decision="d1", expires_at=START + LASTS)
    known.keep(kept)
    known.take_changes()

    known.expire_promises(START + LASTS)

    assert "c2" in known.take_changes().views


@pytest.mark.parametrize(
    "end",
    [
        ObjectSeen(object=replace(pending_pod("p1", version=2), phase=Phase.FAILED)),
        ObjectGone(kind=Kind.POD, key="p1"),
    ],
)
def test_a_pod_that_ends_gives_its_place_back(end: ObjectSeen | ObjectGone) -> None:
    known = model(*IN_USE, pending_pod("p1"))
    promise(known, "p1", "c1")
    assert existing_nodes(known) == {"c1": 3000}

    known.learn(end, START)

    assert existing_nodes(known) == {"c1": 4000}
    assert not known.waiting("p1")


def test_a_promise_on_a_node_in_use_expires() -> None:
    known = model(*IN_USE, pending_pod("p1"))
    made = decided(known.snapshot(START), nominations={"p1": "c1"})
    commit(known, made, now=START, promise_lasts=LASTS)
    known.take_changes()

    known.expire_promises(START + LASTS)

    assert known.waiting("p1")
    assert existing_nodes(known) == {"c1": 4000}
    changes = known.take_changes()
    assert (list(changes.pods), list(changes.views)) == (["p1"], ["c1"])


def test_pods_that_ask_about_others_are_decided_on_together_once_one_was_not_bound() -> None:
    near = spec(pod_affinity=(PodAffinityTerm(labels.ZONE),))
    asking = [replace(pending_pod(uid), spec=near) for uid in ("a", "b")]
    known = model(*IN_USE, *asking, pending_pod("c"))
    name = view().name
    for seconds, uid in ((0, "a"), (10, "b"), (10, "c")):
        like, expires_at = known.objects.pods[uid], at(seconds) + LASTS
        known.keep(Promise(like=like, target=name, decision="d1", expires_at=expires_at))

    known.expire_promises(START + LASTS)

    assert to_place(known) == ["a", "b"]


def test_a_promise_on_a_node_on_its_way_expires_a_while_after_it_is_there() -> None:
    starting = view(of_claim={"conditions": ()})
    known = model(claim_of(starting), pending_pod("p1"))
    promise(known, "p1", "c1")

    see(known, *(replace(thing, resource_version=9) for thing in IN_USE), seconds=100)

    assert known.promises.next_expiry() == at(100) + LASTS


def test_promises_of_a_claim_that_failed_end() -> None:
    known = model(pending_pod("p1"))
    commit(known, decided(known.snapshot(START), planned_claim("p1")), now=START, promise_lasts=LASTS)

    known.mark_launch_failed("default-d1-0")

    assert known.objects.claims == {}
    assert known.waiting("p1")


def test_what_limits_leave_at_most_counts_claims_on_their_way_as_what_their_pods_need() -> None:
    limited = node_pool(version=2, limits=resources(cpu=80))
    known = model(limited, pending_pod("p1"))
    planned = planned_claim("p1", cpu=48)

    commit(known, decided(known.snapshot(START), planned), now=START, promise_lasts=LASTS)
    snapshot = known.snapshot(START)

    assert snapshot.limits_left == {"default": resources(cpu=32)}
    assert snapshot.limits_at_most == {"default": resources(cpu=79)}
    known.mark_launch_failed("default-d1-0")
    assert known.snapshot(START).limits_at_most == {}


def test_a_written_claim_that_failed_counts_for_nothing_and_takes_no_pods() -> None:
    limited = node_pool(version=2, limits=resources(cpu=8))
    known = model(limited, claim("c1", room=ROOM), pending_pod("p1"))
    promise(known, "p1", "c1")
    assert known.capacity.limit_left(limited) == resources(cpu=4)

    known.mark_launch_failed("c1")

    assert known.capacity.limit_left(limited) == resources(cpu=8)
    assert known.waiting("p1")
    there = known.objects.view("c1")
    assert there is not None
    assert known.marks.going(there)


def waiting_for_a_successor() -> ClusterModel:
    """Return a cluster in which the scheduler put a pod into the place kept for the successor of another."""
    other = view("c2")
    things = (*IN_USE, claim_of(other), node_of(other), bound_pod("old", "node", 4), pending_pod("new", 4))
    known = model(*things)
    known.keep(Promise(like=known.objects.pods["old"], target="c1", decision="d1", heir="web"))
    promise(known, "new", "c2")
    lose(known, Kind.POD, "old")

    see(known, bound_pod("new", "node-c1", 4, version=2))
    return known


def test_the_place_that_another_pod_left_in_exchange_is_inherited() -> None:
    known = waiting_for_a_successor()

    see(known, pending_pod("successor", 4))

    assert [one.pod for one in known.promises.at("c2")] == ["successor"]


def test_the_place_that_another_pod_left_for_one_to_come_counts_once() -> None:
    other = view("c2")
    web = Workload(uid="web", kind="ReplicaSet", name="web", resource_version=1, wanted=2)
    known = model(*IN_USE, claim_of(other), node_of(other), pending_pod("new", 4), web)
    to_come = pending_pod("expected/web/1", 4)
    known.keep(
        Promise(like=to_come, target="c1", decision="d1", heir="web", expected=True, expires_at=START + LASTS)
    )
    promise(known, "new", "c2")

    see(known, bound_pod("new", "node-c1", 4, version=2))

    assert [one.expected for one in known.promises.at("c2")] == [True]
    assert known.promises.heirless("web") == 1


WEB = Workload(uid="web", kind="ReplicaSet", name="web", resource_version=1, wanted=2)


def with_two_places() -> ClusterModel:
    """A cluster with places on a second node: of a pod to come, and of one that is to move there."""
    other = view("c2")
    known = model(*IN_USE, claim_of(other), node_of(other), bound_pod("old", "node-c1"), WEB)
    to_come = pending_pod("expected/web/1")
    known.keep(Promise(like=to_come, target="c2", decision="d1", heir="web", expected=True))
    known.keep(Promise(like=known.objects.pods["old"], target="c2", decision="d2", heir="web"))
    return known


def test_the_eviction_of_a_pod_leaves_the_places_of_those_to_come() -> None:
    known = with_two_places()

    see(known, replace(bound_pod("old", "node-c1", version=2), deleting_since=START))
    assert known.promises.heirless("web") == 2

    see(known, replace(WEB, resource_version=2))
    assert known.promises.heirless("web") == 2


def test_successors_that_come_before_the_news_of_their_workload_leave_the_places_of_others() -> None:
    known = with_two_places()

    see(known, replace(bound_pod("old", "node-c1", version=2), deleting_since=START))
    assert known.expected.unpromised("web") == 0
    see(known, pending_pod("successor"))

    assert known.promises.of("successor") is not None
    assert known.promises.to_come("web") == 1
    assert (known.expected.to_come("web"), known.expected.surplus("web")) == (1, 0)


def test_a_place_is_not_kept_for_good_for_a_successor_that_never_comes() -> None:
    known = waiting_for_a_successor()
    assert [one.pod for one in known.promises.at("c2")] == ["old"]

    known.expire_promises(START + LASTS)

    assert known.promises.at("c2") == ()


@pytest.mark.parametrize(
    "starting",
    [
        pytest.param(claim("c1", initialized=True), id="in use"),
        pytest.param(claim("c1", leaving=True), id="leaving"),
    ],
)
def test_places_of_before_a_restart_are_kept_on_claims_on_their_way_only(starting: NodeClaim) -> None:
    annotations = {"treenail.sh/pods": "p1"}
    known = model(replace(starting, annotations=annotations))

    see(known, pending_pod("p1"))

    assert known.waiting("p1")


# --- what is to be placed


def test_pods_to_place_are_those_that_wait_without_a_promise_oldest_first() -> None:
    young = replace(pending_pod("a"), created_at=at(5))
    known = model(*IN_USE, young, pending_pod("c"), pending_pod("b"), pending_pod("d"))
    promise(known, "d", "c1")

    assert to_place(known) == ["b", "c", "a"]


@pytest.mark.parametrize("how", ["condemned", "claim deleted", "node deleted"])
def test_pods_of_a_node_that_goes_need_other_places(how: str) -> None:
    known = model(*IN_USE, bound_pod("p1", "node-c1"), daemon("d1", "node-c1"))
    safe = replace(bound_pod("safe", "node-c1"), annotations={labels.DO_NOT_DISRUPT: "true"})
    see(known, safe)

    match how:
        case "condemned":
            known.mark_for_disruption("c1")
        case "claim deleted":
            see(known, replace(IN_USE[0], resource_version=9, deleting_since=START))
        case _:
            see(known, replace(IN_USE[1], resource_version=9, deleting_since=START))

    assert to_place(known) == ["p1"]
    assert existing_nodes(known) == {}
    known.unmark("c1")
    assert to_place(known) == ([] if how == "condemned" else ["p1"])


@pytest.mark.parametrize(
    ("limited", "budgets", "moving"),
    [
        pytest.param(False, 1, [], id="kept"),
        pytest.param(False, 2, [], id="kept by two budgets, whatever they say"),
        pytest.param(True, 1, ["p1"], id="deleted when the grace period of the node is over"),
    ],
)
def test_pods_that_a_budget_keeps_on_a_node_that_goes_need_no_other_place(
    *, limited: bool, budgets: int, moving: list[str]
) -> None:
    grace = timedelta(hours=1) if limited else None
    going = replace(IN_USE[0], termination_grace_period=grace, deleting_since=START)
    portion = Portion(0 if budgets == 1 else 5)
    kept = PodDisruptionBudget(
        name="b", selector=LabelSelector(), max_unavailable=portion, disruptions_allowed=5
    )

    known = model(going, IN_USE[1], bound_pod("p1", "node-c1"))
    see(known, *(replace(kept, name=f"b{number}") for number in range(budgets)))

    assert to_place(known) == moving


@pytest.mark.parametrize("mark", [{"unschedulable": True}, {"taints": (DISRUPTED,)}])
def test_pods_of_a_node_that_is_only_cordoned_stay_where_they_are(mark: dict[str, object]) -> None:
    known = model(IN_USE[0], node_of(view(of_node=mark)), bound_pod("p1", "node-c1"))

    assert to_place(known) == []
    assert existing_nodes(known) == {}


def test_only_of_a_node_that_somebody_else_cordoned_it_is_said_what_is_free() -> None:
    known = model(IN_USE[0], node_of(view(of_node={"unschedulable": True})), bound_pod("p1", "node-c1"))

    (existing_node,) = known.snapshot(START).existing_nodes
    assert (existing_node.open, existing_node.cordoned) == (False, True)
    assert existing_node.free == ROOM.minus(resources(cpu=1, pods=1))

    known.mark_for_disruption("c1")

    assert not any(one.cordoned for one in known.snapshot(START).existing_nodes)


@pytest.mark.parametrize("mark", [{"taints": (DISRUPTED,)}, {"unschedulable": True, "taints": (DISRUPTED,)}])
def test_of_one_that_is_marked_as_leaving_it_is_not(mark: dict[str, object]) -> None:
    known = model(IN_USE[0], node_of(view(of_node=mark)))

    assert [existing_node.cordoned for existing_node in known.snapshot(START).existing_nodes] == [False]


def test_sparing_what_was_not_condemned_changes_nothing() -> None:
    known = model(*IN_USE)

    known.unmark("c1")

    assert not known.take_changes()


def test_a_successor_that_comes_while_the_pod_before_it_stops_inherits_its_place() -> None:
    known = model(*IN_USE, bound_pod("old", "node-c1"))
    known.mark_for_disruption("c1")
    made = decided(known.snapshot(START), planned_claim("old"))
    commit(known, made, now=START, promise_lasts=LASTS)
    see(known, replace(bound_pod("old", "node-c1", version=2), deleting_since=START))

    see(known, pending_pod("new"))

    assert [p.pod for p in known.promises.at("default-d1-0")] == ["new"]


def test_a_pod_of_a_stateful_set_is_succeeded_only_when_it_is_gone() -> None:
    owner = (Owner(kind="StatefulSet", name="db", uid="db"),)
    old = replace(bound_pod("old", "node-c1"), owners=owner)
    known = model(*IN_USE, old)
    known.mark_for_disruption("c1")
    commit(known, decided(known.snapshot(START), planned_claim("old")), now=START, promise_lasts=LASTS)
    see(known, replace(old, resource_version=2, deleting_since=START))
    assert [p.pod for p in known.promises.at("default-d1-0")] == ["old"]

    lose(known, Kind.POD, "old")
    see(known, replace(pending_pod("new"), owners=owner))

    assert [p.pod for p in known.promises.at("default-d1-0")] == ["new"]
