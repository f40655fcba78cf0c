"""The rule that several nodes are not replaced by what one of them is already."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.domain.model import labels
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


def not_bought_again(
    removed: Sequence[CandidateNode], claims: Sequence[PlannedClaim]
) -> tuple[CandidateNode, ...]:
    """Return those of `removed` for which no claim, at its cheapest, would bring the same node again.

    That is one of its pool, type, zone and way to buy: its pods would move, and nothing else would change.
    """
    left = list(removed)
    for claim in claims:
        same = next((node for node in left if _brings(claim, node)), None)
        if same is not None:
            left.remove(same)
    return tuple(left)


def _brings(claim: PlannedClaim, node: CandidateNode) -> bool:
    where = {labels.ZONE: node.zone, labels.CAPACITY_TYPE: node.capacity_type}
    return (
        claim.pool == node.pool
        and claim.instance_types[:1] == (node.instance_type,)
        and all(
            requirement is None or requirement.has(where[key])
            for key in where
            for requirement in (claim.requirements.get(key),)
        )
    )
