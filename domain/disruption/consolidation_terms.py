"""Terms of consolidation: on which terms the nodes of each pool are consolidated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.disruption.node_prices import NodePrices
from treenail.domain.model.node_pools import NodePool
from treenail.domain.packing.consolidation.consolidation_problem import PoolTerms


def terms_of(pool: NodePool, *, payback: timedelta | None = None) -> PoolTerms:
    """Return what a pool itself says; `payback` is that of pools that say none, None for any saving."""
    own = pool.payback if pool.payback is not None else payback
    return PoolTerms(
        policy=pool.disruption.policy,
        payback=own,
        weight=pool.weight,
        return_premium=pool.return_premium,
    )


def pool_terms(
    model: ClusterModel, now: datetime, *, prices: NodePrices, payback: timedelta | None = None
) -> Mapping[str, PoolTerms]:
    """Return the terms of all pools, with the cost of all their nodes and the disruption of draining all.

    All claims count, candidates or not, as Balanced compares a move with the whole pool; of a node with an
    unknown price, the surcharge alone counts. Budgets are not asked: `allowed` is left open.
    """
    costs = dict.fromkeys(sorted(model.objects.pools), 0.0)
    disruptions = dict(costs)
    for view in model.objects.views():
        pool = model.objects.pools.get(view.pool)
        if pool is not None:
            costs[pool.name] += (prices.price(view) or 0.0) + prices.surcharge(pool)
            disruptions[pool.name] += model.loads.of(view, now).disruption
    return {
        name: replace(
            terms_of(model.objects.pools[name], payback=payback),
            cost=cost,
            disruption=disruptions[name],
        )
        for name, cost in costs.items()
    }
