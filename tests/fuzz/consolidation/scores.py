"""Scores of the policy Balanced: what part of a pool's cost a step saves, by what part of it is disturbed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tests.fuzz.check.catalogue import POOL
from tests.fuzz.consolidation.blockers import Blockers
from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.steps import nodes_of, price_of
from tests.fuzz.manifests import Manifest


@dataclass
class PoolTotals:
    """What all nodes of a pool cost, $/h, and what it costs to take them all away."""

    cost: float = 0.0
    disruption: float = 0.0

    @classmethod
    def of(cls, cluster: Cluster) -> dict[str, PoolTotals]:
        """Return the totals of all pools by name."""
        blockers = Blockers(cluster)
        found: defaultdict[str, PoolTotals] = defaultdict(cls)
        for name, node in nodes_of(cluster).items():
            totals = found[node["metadata"]["labels"].get(POOL, "")]
            totals.cost += price_of(node)
            totals.disruption += blockers.disruption(name)
        return found


def score(cluster: Cluster, gone: Sequence[Manifest], saved: float, totals: PoolTotals) -> float:
    """Return the score of taking nodes of one pool away, which saves so much, $/h."""
    if saved <= 0 or totals.cost <= 0:
        return 0.0
    blockers = Blockers(cluster)
    disruption = sum(blockers.disruption(one["metadata"]["name"]) for one in gone) / totals.disruption
    return saved / totals.cost / disruption if disruption else math.inf
