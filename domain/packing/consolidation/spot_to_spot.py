"""Spot to spot: whether spot nodes are replaced with a cheaper spot node, and with which types.

Each launch on spot takes what is both cheap and unlikely to be interrupted, seldom the cheapest type. If the
new node could be of any cheaper type, it would itself be dearer than some, and be replaced again, step by
step down to the cheapest, which is interrupted most. So one node is replaced only where enough types are
cheaper than it, and the claim lists just those that are cheapest: whatever comes is among them, and stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.requirements import Requirements
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.consolidation.price_filter import (
    SoldType,
    narrowed,
    sold_types,
    with_spot_only,
)
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.problem import MinValuesPolicy, PoolOffer

# How many types must be cheaper than a spot node that is replaced by itself, and how many of them are then
# listed: Karpenter's number.
CHEAPER_TYPES: Final = 15

DISABLED: Final = Block.SPOT_TO_SPOT_OFF.by("SpotToSpotConsolidation")


def spot_to_spot(
    removed: Sequence[CandidateNode],
    claim: PlannedClaim,
    offers: Sequence[PoolOffer],
    most: float,
    *,
    allowed: bool,
    min_values: MinValuesPolicy = MinValuesPolicy.STRICT,
) -> PlannedClaim | Blocker:
    """Return `claim` with only those types on spot that cost less than `most` ($/h) in all, or why nothing.

    For `removed` and `claim` that it `concerns`, in place of `cheaper_than`. `allowed` is the gate
    SpotToSpotConsolidation. Several nodes may be replaced by any cheaper type: each time their number falls,
    so that this ends.
    """
    if not allowed:
        return DISABLED
    pinned = with_spot_only(claim)
    cheaper = sold_types(pinned, offers, most)
    found = narrowed(pinned, cheaper, min_values)
    if isinstance(found, Blocker) or len(removed) > 1:
        return found
    if len(cheaper) < CHEAPER_TYPES:
        return Block.FEW_CHEAPER.by(
            detail=f"{CHEAPER_TYPES} cheaper instance type options "
            f"than the current candidate to consolidate, got {len(cheaper)}"
        )
    kept = max(CHEAPER_TYPES, _fewest(cheaper, found.requirements))
    return narrowed(pinned, cheaper[:kept], min_values)


def concerns(removed: Sequence[CandidateNode], claim: PlannedClaim) -> bool:
    """Return whether only spot nodes go, and what comes may be one."""
    way = claim.requirements.get(labels.CAPACITY_TYPE)
    may_be = way is None or way.has(labels.SPOT)
    return may_be and all(node.capacity_type == labels.SPOT for node in removed)


def _fewest(types: Sequence[SoldType], requirements: Requirements) -> int:
    """Return how many of `types`, from the first on, have together all values that minValues asks for.

    All of them together have.
    """
    wanted = [r for r in requirements.values() if r.min_values]
    known: dict[str, frozenset[str]] = {r.key: frozenset() for r in wanted}
    for number, one in enumerate(types, 1):
        for requirement in wanted:
            known[requirement.key] |= one.type.values(requirement.key)
        if all(len(known[r.key]) >= (r.min_values or 0) for r in wanted):
            return number
    return len(types)
