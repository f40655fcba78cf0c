"""The remainder of a pool's limits: the limits less the sum over its nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from treenail.domain.model.claims import counted_capacity
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.resources import NOTHING, Resources, total

NODES: Final = "nodes"


def usage(claims: Iterable[NodeClaim]) -> Resources:
    """Return the capacity of all `claims` together, with how many they are under `nodes`."""
    counted = [counted_capacity(claim) for claim in claims]
    return total(counted).plus({NODES: len(counted)})


def limits_left(pool: NodePool, claims: Iterable[NodeClaim]) -> Resources | None:
    """Return what `pool` may still buy of each limited resource; None where it has no limits.

    `claims` are all claims of the pool, leaving ones included: they hold their instance until the end.
    """
    return None if pool.limits is None else pool.limits.minus(usage(claims))


def held_in_excess(claim: NodeClaim) -> Resources:
    """Return how much of what a claim counts with its node need not have: its launch chooses the type."""
    if claim.launched:
        return NOTHING
    return Resources({name: n - claim.requests.get(name, 0) for name, n in counted_capacity(claim).items()})
