from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, bound_pod, claim_of, decided, node_class, node_of, node_pool, view
from tests.sentences import said
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, ObjectSeen, Resynced
from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.cluster.promises import Promise
from treenail.domain.disruption.move_validity import move_id, outdated
from treenail.domain.model.pods import LabelSelector, Pod, PodAffinityTerm, TopologySpread

WEB = LabelSelector(match_labels=(("app", "web"),))
SPREAD = TopologySpread(topology_key="topology.kubernetes.io/zone", max_skew=1, hard=True, selector=WEB)
APART = PodAffinityTerm(topology_key="kubernetes.io/hostname", selector=WEB, anti=True)


class Known:
    """A model with the nodes c1 and c2, the pod p1 on c1, and a move of it to c2."""

    def __init__(self, moved: Pod | None = None) -> None:
        self.model = ClusterModel(promise_lasts=timedelta(seconds=20))
        pod = moved or bound_pod("p1", "node-c1")
        there = (node_pool(), node_class(), pod)
        nodes = (one for name in ("c1", "c2") for one in (claim_of(view(name)), node_of(view(name))))
        self.model.learn(Resynced(revision=1, objects=(*there, *nodes)), START)
        self.model.take_changes()
        snapshot = self.model.snapshot(START, movable=("c1", "c2"))
        self.planned = decided(snapshot, nominations={"p1": "c2"}, name=move_id("pass", 1))

    def see(self, *things: ClusterObject) -> None:
        for thing in things:
            self.model.learn(ObjectSeen(object=thing), START)
        self.model.take_changes()

    def promise(self, pod: Pod, decision: str) -> None:
        self.model.keep(Promise(like=pod, target="c2", decision=decision))

    @property
    def outdated(self) -> str | None:
        planned: PlanDecided = self.planned
        return said(outdated(self.model, planned, ("c1",)))


def labelled(pod: Pod, **spec: object) -> Pod:
    return replace(pod, labels={"app": "web"}, spec=replace(pod.spec, **spec))  # type: ignore[arg-type]


def test_a_move_holds_while_nothing_changes() -> None:
    assert Known().outdated is None


def test_it_does_not_hold_where_a_pod_came_to_the_node() -> None:
    known = Known()

    known.see(bound_pod("late", "node-c1"))

    assert known.outdated == "its pods have changed since the move was planned"


def test_it_does_not_hold_where_the_receiving_node_has_other_labels() -> None:
    known = Known()

    known.see(replace(node_of(view("c2")), labels={"team": "b"}, resource_version=9))

    assert known.outdated == "node c2 has changed since the move was planned"


def test_pods_that_ask_nothing_of_others_do_not_hinder() -> None:
    known = Known()

    known.see(labelled(bound_pod("other", "node-c2", "100m")))

    assert known.outdated is None


@pytest.mark.parametrize("how", ["spread", "pod_affinity"])
def test_where_a_pod_counts_others_a_change_of_those_refuses_the_move(how: str) -> None:
    terms = {"spread": (SPREAD,)} if how == "spread" else {"pod_affinity": (APART,)}
    known = Known(labelled(bound_pod("p1", "node-c1"), **terms))
    assert known.outdated is None

    known.see(replace(bound_pod("other", "node-c2", "100m"), labels={"app": "db"}))
    assert known.outdated is None

    known.see(labelled(bound_pod("like", "node-c2", "100m")))
    assert known.outdated == "pods that pod default/p1 is placed by have changed since the move was planned"


def test_a_pod_that_came_and_opposes_the_moved_one_refuses_the_move() -> None:
    known = Known(labelled(bound_pod("p1", "node-c1")))

    known.see(
        replace(
            bound_pod("alone", "node-c2", "100m"),
            spec=replace(bound_pod("x", "n", "100m").spec, pod_affinity=(APART,)),
        )
    )

    assert known.outdated is not None


@pytest.mark.parametrize(("decision", "holds"), [(move_id("pass", 0), True), ("another", False)])
def test_promises_by_moves_of_the_same_pass_do_not_count_as_changes(decision: str, holds: bool) -> None:  # noqa: FBT001
    known = Known(labelled(bound_pod("p1", "node-c1"), spread=(SPREAD,)))

    known.promise(labelled(bound_pod("like", "node-c3", "100m")), decision)

    assert (known.outdated is None) is holds


def test_where_pods_spread_a_node_that_came_refuses_the_move() -> None:
    known = Known(labelled(bound_pod("p1", "node-c1"), spread=(SPREAD,)))

    known.see(claim_of(view("c9")), node_of(view("c9")))

    assert known.outdated is not None


def test_where_changes_after_the_plan_are_forgotten_the_move_is_refused_in_doubt() -> None:
    known = Known()
    stranger = bound_pod("other", "node-c9")

    for _ in range(20_000):
        known.model.recent.pod(known.model.revision, None, stranger)
    assert known.outdated is None
    known.model.recent.pod(known.model.revision, None, stranger)

    assert known.outdated == "its pods have changed since the move was planned"
