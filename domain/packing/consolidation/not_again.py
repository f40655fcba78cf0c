"""Replacements less the types that recent moves replaced: no move of the search undoes one of those."""

from __future__ import annotations

import math
from collections.abc import Sequence

from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.consolidated_claims import Shape
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.consolidation.price_filter import narrowed, sold_types
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.problem import MinValuesPolicy, PoolOffer


def without_replaced(
    removed: Sequence[CandidateNode],
    claim: PlannedClaim,
    offers: Sequence[PoolOffer],
    min_values: MinValuesPolicy = MinValuesPolicy.STRICT,
) -> PlannedClaim | Blocker:
    """Return `claim` without the types of nodes that one of `removed` came in place of, or why none is left.

    The next best type is bought then. Were the claim refused as a whole, the same plan would be made until
    the move is forgotten, and the nodes would stay as dear as they are for hours.
    """
    barred = {shape.instance_type: shape for one in removed for shape in one.replaced if _bars(shape, claim)}
    unknown = barred.get("")
    if unknown is None and barred.keys().isdisjoint(claim.instance_types):
        return claim
    kept = [one for one in sold_types(claim, offers, math.inf) if one.type.name not in barred]
    if unknown is None and kept:
        return narrowed(claim, kept, min_values)
    shape = unknown or next(barred[name] for name in claim.instance_types if name in barred)
    came = f"{', '.join(one.name for one in removed if shape in one.replaced)} came in place of {shape}"
    return Block.UNDOES.by(detail=f"{came} lately, and would go for one again")


def _bars(shape: Shape, claim: PlannedClaim) -> bool:
    """Return whether a claim may be bought as a node of this shape, if it lists its type."""
    way = claim.requirements.get(labels.CAPACITY_TYPE)
    return claim.pool == shape.pool and (
        not shape.capacity_type or way is None or way.has(shape.capacity_type)
    )
