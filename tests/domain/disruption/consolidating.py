"""Clusters for tests of consolidation: one node of a pool that is consolidated, with what is told of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tests.builders import START, bound_pod, claim, node, node_class, node_pool
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Resynced
from treenail.domain.disruption.consolidation_candidates import (
    ConsolidationCandidates,
    consolidation_candidates,
)
from treenail.domain.disruption.node_prices import NodePrices
from treenail.domain.model import labels
from treenail.domain.model.node_pools import ConsolidationPolicy, Disruption, NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod

BOUGHT = {labels.INSTANCE_TYPE: "m5.large", labels.ZONE: "a", labels.CAPACITY_TYPE: labels.SPOT}
AT_ONCE = Disruption(
    policy=ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED, consolidate_after=timedelta(0), expire_after=None
)


def pool(**fields: Any) -> NodePool:
    return replace(node_pool(), **{"disruption": AT_ONCE, **fields})


def its_claim(name: str = "c1", **fields: Any) -> NodeClaim:
    made = claim(name, provider_id=f"aws:///a/{name}", initialized=True)
    return replace(made, **{"labels": BOUGHT, **fields})


def its_node(name: str = "c1", **fields: Any) -> Node:
    made = node(f"node-{name}", provider_id=f"aws:///a/{name}", labels_=BOUGHT)
    return replace(made, **fields)


def its_pod(uid: str = "p1", *, on: str = "c1", **fields: Any) -> Pod:
    return replace(bound_pod(uid, f"node-{on}"), **fields)


def known(*objects: ClusterObject) -> ClusterModel:
    model = ClusterModel(promise_lasts=timedelta(seconds=20))
    model.learn(Resynced(revision=1, objects=(node_class(), *objects)), START)
    return model


def found(
    *objects: ClusterObject, now: datetime = START, prices: NodePrices | None = None
) -> ConsolidationCandidates:
    return consolidation_candidates(known(*objects), now, prices=prices or NodePrices())
