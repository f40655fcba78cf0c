"""The rule that several nodes are not replaced by one of a type that one of them has already."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.domain.model.blockers import Blocker
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.consolidation.price_filter import narrowed, sold_types
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.problem import MinValuesPolicy, PoolOffer


def without_same_type(
    removed: Sequence[CandidateNode],
    claim: PlannedClaim,
    offers: Sequence[PoolOffer],
    min_values: MinValuesPolicy = MinValuesPolicy.STRICT,
) -> PlannedClaim | Blocker:
    """Return `claim`, the one replacement of several nodes, less the types for which one of them could stay.

    Where `claim` lists the type of a node that goes, only types stay listed that are cheaper than the
    cheapest such node: instead of buying one as dear, that node is kept, the others are deleted, and fewer
    pods move. A node of unknown price counts as free, so that nothing is cheaper.
    """
    listed = frozenset(claim.instance_types)
    kept = [node.price or 0.0 for node in removed if node.instance_type in listed]
    if not kept:
        return claim
    # Prices are compared without what nodes cost beside: that is the same for whichever stays.
    return narrowed(claim, sold_types(claim, offers, min(kept) + claim.surcharge), min_values)
