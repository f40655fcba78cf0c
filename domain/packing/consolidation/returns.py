"""Returns: moves whose gain is no price, but that pods come back to a pool of higher weight.

Pods that came to a lighter pool, as the heavier one had no capacity or was at its limit, would be given
nodes of the heavier one today. An operator who annotates the lighter pool says that its nodes are to be
replaced then, and how much more that may cost. A return goes one way, so that it ends: in place of a node,
nothing is bought of a pool of less weight whose nodes would return at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, ConsolidationProblem
from treenail.domain.packing.consolidation.worth import ROUNDING
from treenail.domain.packing.plan import PlannedClaim


class Returns:
    """Price limits of moves that bring pods back to a pool of higher weight."""

    def __init__(self, problem: ConsolidationProblem) -> None:
        self._terms = problem.terms
        self._weights = {offer.pool.name: offer.pool.weight for offer in problem.problem.offers}
        self._heaviest = max(
            (
                offer.pool.weight
                for offer in problem.problem.offers
                if any(offering.available for one in offer.instance_types for offering in one.offerings)
            ),
            default=0,
        )

    def most(self, some: Sequence[CandidateNode]) -> float | None:
        """Return what nodes of heavier pools may cost at most that replace these, $/h.

        None where they do not return: several at once never do, nor those of a pool that does not ask for
        it, nor any while no heavier pool has anything to sell.
        """
        if len(some) != 1:
            return None
        terms = self._terms.get(some[0].pool)
        if terms is None or terms.return_premium is None or self._heaviest <= terms.weight:
            return None
        # What costs just as much is no cheaper, but may take its place.
        return some[0].cost * (1 + terms.return_premium) + 2 * ROUNDING

    def heavier(self, some: Sequence[CandidateNode], claims: Sequence[PlannedClaim]) -> bool:
        """Return whether all `claims` are of pools of more weight than these nodes, and there are any."""
        weight = max(self._terms[one.pool].weight for one in some)
        return bool(claims) and all(self._weights[claim.pool] > weight for claim in claims)

    def too_dear(self, some: Sequence[CandidateNode]) -> Blocker:
        """Return that pools of higher weight have nothing at the price that is paid for a return."""
        pool = some[0].pool
        return Block.RETURN_DEAR.by(pool, f"{self._terms[pool].return_premium or 0.0:.0%}")

    def away(self, some: Sequence[CandidateNode], claims: Sequence[PlannedClaim]) -> Blocker | None:
        """Return why it would only be undone to replace these, None where nothing speaks against it."""
        heavy = max((self._terms[one.pool].weight for one in some if one.pool in self._terms), default=0)
        for claim in claims:
            terms = self._terms.get(claim.pool)
            if terms is not None and terms.return_premium is not None and terms.weight < heavy:
                return Block.AWAY.by(claim.pool)
        return None
