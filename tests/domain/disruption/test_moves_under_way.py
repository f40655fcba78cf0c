from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import (
    START,
    bound_pod,
    claim,
    claim_of,
    decided,
    node_class,
    node_of,
    node_pool,
    planned_claim,
    resources,
    view,
)
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind, ObjectGone, ObjectSeen, Resynced
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.cluster.promises import Promise
from treenail.domain.disruption.moves_under_way import MovesUnderWay
from treenail.domain.model import labels
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.pods import Owner, Pod

ALL = ("c1", "c2", "c9", "new")
NO_PLACE = "not all pods of the node have other places"


def costing(name: str, price: float | None, *, launched: bool = True) -> NodeClaim:
    """Return a claim of this price in $/h, None where it says none."""
    said = {} if price is None else {labels.PRICE: f"{price:.6f}"}
    if not launched:
        return claim(name, version=2, annotations=said)
    room = resources(cpu=4, pods=10)
    return claim(name, version=3, provider_id=f"aws:///a/i-{name}", room=room, annotations=said)


def in_use(name: str) -> tuple[ClusterObject, ...]:
    """Return a claim and its node, which is ready."""
    one = view(name)
    return replace(claim_of(one), resource_version=8), node_of(one)


class Moving:
    """A move of the nodes c1 and c2, with a pod each: p1 goes to c9, p2 to a new claim for 0.10 $/h.

    It saves 0.20 $/h.
    """

    def __init__(self, *, nodes: tuple[str, ...] = ("c1", "c2"), buys: bool = True) -> None:
        self.model = ClusterModel(promise_lasts=timedelta(seconds=20))
        standing = (one for name in ("c1", "c2", "c9") for one in (claim_of(view(name)), node_of(view(name))))
        pods = tuple(bound_pod(f"p{number}", f"node-c{number}") for number in (1, 2))
        there: tuple[ClusterObject, ...] = (node_pool(), node_class(), *standing, *pods)
        self.model.learn(Resynced(revision=1, objects=there), START)
        self.moves = MovesUnderWay(self.model)
        new = claim("new", version=0)
        if buys:
            self.model.add_claim(new)
        for name in nodes:
            self.model.mark_for_disruption(name)
        self.place(pods[0], "c9")
        self.place(pods[1], "new" if buys else "c9")
        plan = decided(self.model.snapshot(START), *((planned_claim("p2"),) if buys else ()), name="pass-0")
        self.decision = replace(plan, removed=nodes, saves=0.2)
        committed = PlanCommitted(decision=plan.decision, claims=(new,) if buys else ())
        self.moves.begin(self.decision, committed, map(view, nodes), START)

    def place(self, pod: Pod, target: str) -> None:
        self.model.keep(Promise(like=pod, target=target, decision="pass-0"))

    def see(self, *things: ClusterObject) -> None:
        for thing in things:
            self.model.learn(ObjectSeen(object=thing), START)

    def lose(self, kind: Kind, key: str) -> None:
        self.model.learn(ObjectGone(kind=kind, key=key), START)

    def withdrawn(self, *changed: str) -> list[tuple[tuple[str, ...], str]]:
        """Return the nodes that stay after all, and why, where these views changed, or any."""
        return [(nodes, why) for _, nodes, why in self.moves.withdrawn(changed or ALL)]

    def unneeded(self, *changed: str) -> list[str]:
        return [one.name for one in self.moves.unneeded(changed or ALL)]

    def made(self, *changed: str) -> list[float]:
        """Return what the moves save that are made by now, $/h."""
        return [saved for _, saved in self.moves.made(changed or ALL)]

    def completed(self, *changed: str) -> list[tuple[str, ...]]:
        """Return the nodes of the moves whose last replacement came into use."""
        return [move.nodes for move in self.moves.completed(changed or ALL)]

    def end(self, *names: str) -> None:
        """Let nodes and their claims be gone."""
        for name in names:
            self.lose(Kind.NODE, f"node-{name}")
            self.lose(Kind.NODE_CLAIM, name)

    def withdraw(self) -> None:
        """Withdraw the move, and do with its nodes as the cluster state does."""
        self.see(costing("new", 9.0, launched=False))
        assert [nodes for nodes, _ in self.withdrawn()] == [("c1", "c2")]
        for name in ("c1", "c2"):
            self.model.unmark(name)


def test_a_move_whose_pods_have_places_goes_on() -> None:
    moving = Moving()

    assert moving.withdrawn() == []
    assert len(moving.moves) == 1


def test_a_lost_place_withdraws_the_move_while_its_nodes_may_stay() -> None:
    moving = Moving()

    moving.model.mark_launch_failed("new")

    assert moving.withdrawn("new") == [(("c1", "c2"), NO_PLACE)]
    assert len(moving.moves) == 0


def test_a_receiving_node_that_is_gone_withdraws_the_move() -> None:
    moving = Moving(nodes=("c1",), buys=False)

    moving.lose(Kind.NODE, "node-c9")
    moving.lose(Kind.NODE_CLAIM, "c9")

    assert moving.model.promises.of("p1") is None
    assert moving.withdrawn("c1") == [(("c1",), NO_PLACE)]


def test_a_pod_that_came_and_has_no_place_withdraws_the_move() -> None:
    moving = Moving()

    moving.see(bound_pod("late", "node-c2"))

    assert moving.withdrawn("c2") == [(("c1", "c2"), NO_PLACE)]


def test_a_pod_of_a_daemon_that_came_does_not() -> None:
    moving = Moving()

    owner = Owner(kind="DaemonSet", name="logs", uid="logs")
    moving.see(replace(bound_pod("daemon", "node-c2"), owners=(owner,)))

    assert moving.withdrawn() == []


def test_only_nodes_that_are_not_deleted_yet_may_stay() -> None:
    moving = Moving()
    moving.see(replace(claim_of(view("c1")), deleting_since=START, resource_version=9))

    moving.model.mark_launch_failed("new")

    assert moving.withdrawn() == [(("c2",), NO_PLACE)]


def test_the_pods_of_deleted_nodes_do_not_hold_up_the_others() -> None:
    moving = Moving()
    moving.see(replace(claim_of(view("c1")), deleting_since=START, resource_version=9))

    moving.model.promises.end("p1")

    assert moving.withdrawn() == []
    assert len(moving.moves) == 1


def test_a_move_whose_nodes_are_all_deleted_goes_its_way_whatever_becomes_of_places() -> None:
    moving = Moving()
    for name in ("c1", "c2"):
        moving.see(replace(claim_of(view(name)), deleting_since=START, resource_version=9))

    moving.model.mark_launch_failed("new")

    assert moving.withdrawn() == []
    assert len(moving.moves) == 1
    assert moving.unneeded() == []


def test_a_node_that_stays_for_another_reason_ends_the_move() -> None:
    moving = Moving(nodes=("c1",))

    moving.model.unmark("c1")

    assert moving.withdrawn() == []
    assert moving.made() == []
    assert len(moving.moves) == 0


def test_a_node_that_stays_since_its_pods_could_not_be_evicted_withdraws_the_move() -> None:
    moving = Moving()
    moving.model.unmark("c1")
    moving.moves.stays("c1", "its pods could not be evicted")

    assert moving.withdrawn("c1") == [(("c1", "c2"), "its pods could not be evicted")]
    assert len(moving.moves) == 0


def test_with_it_no_other_node_of_the_move_stays_whose_claim_is_deleted() -> None:
    moving = Moving()
    moving.see(replace(claim_of(view("c2")), deleting_since=START, resource_version=9))
    moving.model.unmark("c1")
    moving.moves.stays("c1", "its pods could not be evicted")

    assert moving.withdrawn("c1") == [(("c1",), "its pods could not be evicted")]


def test_with_it_no_other_node_of_the_move_stays_whose_machine_ec2_ends() -> None:
    moving = Moving()
    moving.model.mark_instance_ending("c2")
    moving.model.unmark("c1")
    moving.moves.stays("c1", "its pods could not be evicted")

    assert moving.withdrawn("c1") == [(("c1",), "its pods could not be evicted")]


def test_a_node_that_is_gone_by_then_does_not_stay() -> None:
    moving = Moving()
    moving.end("c1")
    moving.moves.stays("c1", "its pods could not be evicted")
    moving.end("c2")

    assert moving.withdrawn() == []
    assert moving.made() == [0.2]


@pytest.mark.parametrize("name", ["c9", "new"])
def test_a_node_that_stays_and_is_not_to_go_with_a_move_ends_none(name: str) -> None:
    moving = Moving()

    moving.moves.stays(name, "its pods could not be evicted")

    assert moving.withdrawn() == []


def test_a_move_is_not_looked_at_where_none_of_its_nodes_or_claims_changed() -> None:
    moving = Moving()
    moving.model.mark_launch_failed("new")

    assert moving.withdrawn("c9", "unknown") == []

    assert len(moving.moves) == 1


def test_a_move_is_withdrawn_once() -> None:
    moving = Moving()
    moving.model.mark_launch_failed("new")

    assert len(moving.withdrawn()) == 1

    assert moving.withdrawn() == []


@pytest.mark.parametrize(("price", "goes_on"), [(0.05, True), (0.10, True), (0.199, True), (0.201, False)])
def test_a_replacement_that_takes_half_of_the_saving_withdraws_the_move(price: float, goes_on: bool) -> None:  # noqa: FBT001
    moving = Moving()

    moving.see(costing("new", price))

    assert (moving.withdrawn("new") == []) is goes_on


def test_a_dearer_replacement_is_told_with_what_was_planned() -> None:
    moving = Moving()

    moving.see(costing("new", 0.25))

    assert moving.withdrawn() == [
        (
            ("c1", "c2"),
            "replacement costs 0.2500 $/h in place of 0.1000, and the move was to save 0.2000",
        )
    ]


def test_a_replacement_that_does_not_say_its_price_costs_what_was_planned() -> None:
    moving = Moving()

    moving.see(costing("new", None))

    assert moving.withdrawn() == []


def test_of_several_replacements_one_without_a_price_does_not_outweigh_a_dearer_one() -> None:
    moving, claims = Moving(), (claim("new"), claim("other"))
    moving.model.add_claim(claims[1])
    both = replace(moving.decision.plan, claims=(planned_claim("p2"), planned_claim("p1")))
    committed = PlanCommitted(decision=moving.decision.decision, claims=claims)
    moving.moves.begin(replace(moving.decision, plan=both), committed, map(view, ("c1", "c2")), START)

    moving.see(costing("new", 0.25), costing("other", None))

    ((nodes, why),) = moving.withdrawn("new")
    assert nodes == ("c1", "c2")
    assert why.startswith("replacement costs 0.3500 $/h in place of 0.2000")


def test_nothing_is_given_back_while_the_move_goes_on() -> None:
    moving = Moving()
    moving.see(costing("new", 0.1))
    moving.model.promises.end_all("new")

    assert moving.unneeded() == []


def test_what_was_bought_for_a_withdrawn_move_is_given_back_as_soon_as_there_is_a_machine() -> None:
    moving = Moving()
    moving.withdraw()
    assert moving.unneeded() == []

    moving.see(costing("new", 9.0))
    assert moving.unneeded("c1", "c2") == []
    assert moving.unneeded("new") == ["new"]

    assert moving.unneeded("new") == []


def test_what_is_in_use_by_then_is_left_over_until_it_goes_and_has_to_ask_its_budget() -> None:
    moving = Moving()
    moving.withdraw()
    moving.see(*in_use("new"))

    assert moving.unneeded() == []
    assert moving.moves.left_over("new")
    assert not moving.moves.left_over("c1")

    moving.model.mark_for_disruption("new")
    assert moving.unneeded() == []
    assert not moving.moves.left_over("new")


def test_what_other_pods_were_promised_meanwhile_is_not_given_back_even_when_they_leave() -> None:
    moving = Moving()
    moving.withdraw()
    moving.see(costing("new", 9.0))
    moving.place(bound_pod("p7", "node-c9"), "new")

    assert moving.unneeded() == []
    moving.model.promises.end("p7")

    assert moving.unneeded() == []


def test_what_goes_already_is_not_given_back_a_second_time() -> None:
    moving = Moving()
    moving.withdraw()
    moving.see(costing("new", 9.0))

    moving.model.mark_for_disruption("new")

    assert moving.unneeded() == []


def test_a_claim_that_is_gone_is_not_given_back() -> None:
    moving = Moving()
    moving.withdraw()

    moving.model.drop_claim("new")

    assert moving.unneeded() == []


# --- moves that wait for replacements


def test_a_move_is_incomplete_until_all_its_replacements_are_in_use() -> None:
    moving = Moving()
    assert moving.moves.incomplete("pass-0")
    moving.see(costing("new", 0.1))
    assert moving.completed() == []

    moving.see(*in_use("new"))

    assert moving.completed("c9") == []
    assert moving.completed("new") == [("c1", "c2")]
    assert not moving.moves.incomplete("pass-0")
    assert moving.completed() == []


def test_a_replacement_that_no_pod_waits_for_any_more_does_not_hold_the_move_up() -> None:
    moving = Moving()

    moving.model.promises.end_all("new")

    assert moving.completed("new") == [("c1", "c2")]


def test_a_move_that_buys_nothing_and_one_that_is_withdrawn_wait_for_nothing() -> None:
    assert not Moving(buys=False).moves.incomplete("pass-0")
    moving = Moving()

    moving.withdraw()

    assert not moving.moves.incomplete("pass-0")


# --- moves that are made


def test_a_move_is_made_once_all_its_nodes_are_gone() -> None:
    moving = Moving()
    moving.end("c1")
    assert moving.made("c1") == []

    moving.end("c2")

    assert moving.made("c2") == [pytest.approx(0.2)]
    assert moving.made() == []
    assert len(moving.moves) == 0


@pytest.mark.parametrize(("launched", "saved"), [(0.05, 0.25), (0.15, 0.15), (9.0, 0.0)])
def test_what_a_move_saves_counts_by_the_price_its_replacement_was_launched_for(
    launched: float, saved: float
) -> None:
    moving = Moving()
    moving.see(costing("new", launched))

    moving.end("c1", "c2")

    assert moving.made() == [pytest.approx(saved)]


def test_a_withdrawn_move_is_not_made_when_its_nodes_go_later() -> None:
    moving = Moving()
    moving.withdraw()

    moving.end("c1", "c2")

    assert moving.made() == []


def test_what_a_move_bought_is_for_its_pods_until_all_of_its_nodes_are_gone() -> None:
    moving = Moving()
    moving.see(*in_use("new"))
    assert moving.moves.replacing("new")
    assert not any(map(moving.moves.replacing, ("c1", "c9")))
    assert moving.moves.freed() == ()

    moving.end("c1", "c2")
    moving.made()

    assert not moving.moves.replacing("new")
    assert moving.moves.freed() == ("new",)
    assert moving.moves.freed() == ()


def test_what_a_withdrawn_move_bought_is_for_its_pods_no_more() -> None:
    moving = Moving()

    moving.withdraw()

    assert not moving.moves.replacing("new")
    assert moving.moves.freed() == ("new",)
