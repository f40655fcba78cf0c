"""Consolidation windows: `consolidateAfter`, during which nodes neither go nor receive pods of others."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import (
    CONSOLIDATABLE,
    INITIALIZED,
    Condition,
    NodeClaim,
    Status,
    condition_of,
)
from treenail.domain.model.patches import ClaimPatch


def consolidatable_at(claim: NodeClaim, pool: NodePool | None) -> datetime | None:
    """Return from when on a node may be consolidated; None where it never may, or is not in use.

    That is `consolidateAfter` after a pod last came to it, began to stop or ended, or after it came into use.
    """
    after = pool.disruption.consolidate_after if pool is not None else None
    if after is None or not claim.initialized:
        return None
    return (claim.last_pod_event_at or claim.since(INITIALIZED)) + after


def not_receiving(model: ClusterModel, now: datetime) -> dict[str, datetime | None]:
    """Return the nodes, by name, within their window or not in use yet: no running pod is moved there.

    Each has the end of its window, None where it is not in use. `ttlSecondsAfterEmpty` is no such window.
    """
    within: dict[str, datetime | None] = {}
    for claim in model.objects.claims.values():
        if not claim.initialized:
            within[claim.name] = None
        if claim.generation is Generation.V1ALPHA5:
            continue
        at = consolidatable_at(model.pod_events.on(claim), model.objects.pools.get(claim.pool))
        if at is not None and at > now:
            within[claim.name] = at
    return within


def note_consolidatable(claim: NodeClaim, pool: NodePool, now: datetime) -> ClaimPatch | None:
    """Return what is to be written on a NodeClaim of v1 about its window; None where it says so already."""
    if claim.generation is not Generation.V1:
        return None
    at = consolidatable_at(claim, pool)
    shown = condition_of(claim.conditions, CONSOLIDATABLE)
    if at is None or at > now:
        return None if shown is None else ClaimPatch(remove_conditions=(CONSOLIDATABLE,))
    if shown is not None and shown.status is Status.TRUE:
        return None
    return ClaimPatch(conditions=(Condition(CONSOLIDATABLE, Status.TRUE, CONSOLIDATABLE),))
