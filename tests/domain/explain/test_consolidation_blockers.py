from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.builders import START, bound_pod, claim_of, node_class, node_of, node_pool, view
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Resynced
from treenail.domain.explain.consolidation_blockers import blockers_of
from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker, BlockerKind
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import LabelSelector, Pod

KEEP = {labels.DO_NOT_DISRUPT: "true"}


def blockers(first: Blocker, *pods: Pod) -> list[tuple[BlockerKind, str]]:
    """The blockers of node-c1 with these pods, which a budget holds."""
    there = view("c1")
    model = ClusterModel(promise_lasts=timedelta(seconds=20))
    budget = PodDisruptionBudget(name="all", selector=LabelSelector(), disruptions_allowed=0)
    objects: tuple[ClusterObject, ...] = (
        node_pool(),
        node_class(),
        budget,
        claim_of(there),
        node_of(there),
        *pods,
    )
    model.learn(Resynced(revision=1, objects=objects), START)
    return [(one.kind, one.name) for one in blockers_of(model, there, first, START)]


def test_a_blocker_without_an_object_is_the_node_itself() -> None:
    assert blockers(Block.UNINITIALIZED.by()) == [(BlockerKind.NODE, "node-c1")]


def test_whatever_else_holds_a_pod_is_named_too_each_object_once() -> None:
    kept = replace(bound_pod("p1", "node-c1"), annotations=KEEP)

    assert blockers(Block.POLICY_OFF.by("default", "NodePool"), kept, bound_pod("p2", "node-c1")) == [
        (BlockerKind.NODE_POOL, "default"),
        (BlockerKind.POD, kept.key),
        (BlockerKind.POD_DISRUPTION_BUDGET, "default/all"),
    ]


def test_where_nothing_can_be_removed_nothing_else_is_named() -> None:
    assert blockers(Block.NONE_CHEAPER.by(), bound_pod("p1", "node-c1")) == [(BlockerKind.PRICE, "node-c1")]
