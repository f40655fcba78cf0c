"""Terms of consolidation: on which terms the nodes of each pool are consolidated."""

from __future__ import annotations

from datetime import timedelta

from treenail.domain.model.node_pools import NodePool
from treenail.domain.packing.consolidation.consolidation_problem import PoolTerms


def terms_of(pool: NodePool, *, payback: timedelta | None = None) -> PoolTerms:
    """Return what a pool itself says; `payback` is that of pools that say none, None for any saving."""
    own = pool.payback if pool.payback is not None else payback
    return PoolTerms(policy=pool.disruption.policy, payback=own)
