"""The terms of a move: from a trial to a move that may be made, or the reason it may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.packing.consolidation.bought import Bought
from treenail.domain.packing.consolidation.consolidation_plan import Move
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, ConsolidationProblem
from treenail.domain.packing.consolidation.earnings import earned, hours_to_earn
from treenail.domain.packing.consolidation.not_again import without_replaced
from treenail.domain.packing.consolidation.price_filter import cheaper_than
from treenail.domain.packing.consolidation.returns import Returns
from treenail.domain.packing.consolidation.same_type import without_same_type
from treenail.domain.packing.consolidation.spot_to_spot import concerns, spot_to_spot
from treenail.domain.packing.consolidation.trial import Trial
from treenail.domain.packing.consolidation.worth import PREFERENCE_DOLLARS, ROUNDING, objection_to
from treenail.domain.packing.plan import PlannedClaim

UNKNOWN_PRICE: Final = Block.PRICE_UNKNOWN.by()


class MoveTerms:
    """The terms of moves in one search. Counts what moves take of budgets and of the limits of pools."""

    def __init__(self, problem: ConsolidationProblem) -> None:
        self._problem = problem
        self._offers = problem.problem.offers
        self._settings = problem.problem.settings
        self._returns = Returns(problem)
        self._gone: Counter[str] = Counter()
        # By the moves that were found so far.
        self.bought = Bought()

    def held_by_budgets(self, some: Sequence[CandidateNode]) -> Blocker | None:
        """Return why budgets do not let these go beside those counted, None where they do."""
        if self._problem.whole:
            return None
        wanted = Counter(one.pool for one in some)
        for pool, count in sorted(wanted.items()):
            terms = self._problem.terms.get(pool)
            if terms is None or (terms.allowed is not None and self._gone[pool] + count > terms.allowed):
                return Block.BUDGET.by(pool)
        return None

    def count(self, names: Sequence[str], candidates: Mapping[str, CandidateNode]) -> None:
        """Count nodes that go against the budgets of their pools."""
        self._gone.update(candidates[name].pool for name in names)

    def most(self, some: Sequence[CandidateNode]) -> float:
        """Return what nodes may cost at most that these are replaced with, $/h."""
        return self._returns.most(some) or sum(one.cost for one in some)

    def spare(self, some: Sequence[CandidateNode], claims: Sequence[PlannedClaim]) -> float:
        """Return what may be spent beside `claims` in place of these nodes, $/h; not above 0 for nothing.

        That is what they earn if what a move costs is spread over the time in which their pools want it paid
        back, or what a return may cost more.
        """
        pools = {one.pool for one in some}
        terms = {pool: of_pool for pool, of_pool in self._problem.terms.items() if pool in pools}
        earns = earned(some, claims, hours_to_earn(terms))
        if not self._goes_back(some, claims):
            return earns
        return max(earns, self.most(some) - _cost_of(claims))

    def move(self, some: tuple[CandidateNode, ...], trial: Trial) -> Move | Blocker:
        """Return the move that a trial with places for all pods makes, or why it is not made."""
        away = self._returns.away(some, trial.claims)
        if away is not None:
            return away
        made = self._saving(some, trial)
        if isinstance(made, Move) or not self._goes_back(some, trial.claims):
            return made
        return self._return(some, trial, self.most(some))

    def _goes_back(self, some: Sequence[CandidateNode], claims: Sequence[PlannedClaim]) -> bool:
        """Return whether claims in place of these nodes are a return to pools of higher weight."""
        return self._returns.most(some) is not None and self._returns.heavier(some, claims)

    def _saving(self, some: tuple[CandidateNode, ...], trial: Trial) -> Move | Blocker:
        """Return the move if it saves enough, or why it does not."""
        claims = self._cheaper(some, trial.claims)
        if isinstance(claims, Blocker):
            return claims
        new_cost = _cost_of(claims)
        saves = sum(one.cost for one in some) - new_cost
        objection = objection_to(some, saves=saves, new_cost=new_cost, terms=self._problem.terms)
        if objection is None and claims and saves <= trial.lost * PREFERENCE_DOLLARS + ROUNDING:
            objection = _preferred(trial, saves)
        return objection or self._limited(self._move(some, trial, claims))

    def _return(self, some: tuple[CandidateNode, ...], trial: Trial, most: float) -> Move | Blocker:
        """Return the move as one back to pools of higher weight for `most` $/h, or why it is not made."""
        if any(one.least_saving > 0 for one in some):
            return Block.RETURN_RECENT.by()
        if trial.lost:
            return _preferred(trial, 0.0)
        claims = self._within(some, most, trial.claims, self._priced)
        if isinstance(claims, Blocker):
            return self._returns.too_dear(some)
        made = self._move(some, trial, claims)
        pools = tuple(sorted({claim.pool for claim in claims}))
        return self._limited(replace(made, back_to=pools, premium=max(0.0, most - _cost_of(claims))))

    def _move(self, some: tuple[CandidateNode, ...], trial: Trial, claims: tuple[PlannedClaim, ...]) -> Move:
        return Move(
            removed=trial.removed,
            nominations=trial.nominations,
            claims=claims,
            saves=sum(one.cost for one in some) - _cost_of(claims),
            # A preference that a pod loses counts like the eviction of an ordinary pod.
            disruption=sum(one.disruption for one in some) + trial.lost,
        )

    def _limited(self, made: Move) -> Move | Blocker:
        """Return a move, or which limit of a pool or which reservation it exceeds beside other moves."""
        return self.bought.and_claims(made.claims).over(self._offers) or made

    def buy(self, moves: Iterable[Move]) -> None:
        """Count what moves buy against the limits of pools, and against reservations."""
        self.bought = self.bought.and_claims(claim for move in moves for claim in move.claims)

    def _cheaper(
        self, some: tuple[CandidateNode, ...], claims: tuple[PlannedClaim, ...]
    ) -> tuple[PlannedClaim, ...] | Blocker:
        """Return the claims narrowed so that whatever is launched costs less than the nodes that go."""
        if not claims:
            return ()
        if any(one.price is None for one in some):
            return UNKNOWN_PRICE
        alone = len(claims) == 1
        return self._within(
            some,
            sum(one.cost for one in some),
            claims,
            lambda claim, most: self._narrowed(some, claim, most, alone=alone),
        )

    def _within(
        self,
        some: Sequence[CandidateNode],
        most: float,
        claims: tuple[PlannedClaim, ...],
        narrow: Callable[[PlannedClaim, float], PlannedClaim | Blocker],
    ) -> tuple[PlannedClaim, ...] | Blocker:
        """Return the claims narrowed so that together they never cost as much as `most` ($/h).

        None may become what one of `some` came in place of.
        """
        # The difference between that and the price of the claims is shared out among them.
        slack = most - _cost_of(claims)
        narrowed: list[PlannedClaim] = []
        for claim in claims:
            one = narrow(claim, claim.price + claim.surcharge + slack / len(claims))
            if not isinstance(one, Blocker):
                one = without_replaced(some, one, self._offers, self._settings.min_values)
            if isinstance(one, Blocker):
                return one
            narrowed.append(one)
        return tuple(narrowed)

    def _narrowed(
        self, some: tuple[CandidateNode, ...], claim: PlannedClaim, most: float, *, alone: bool
    ) -> PlannedClaim | Blocker:
        rules = self._settings.min_values
        if concerns(some, claim):
            allowed = self._problem.spot_to_spot
            found = spot_to_spot(some, claim, self._offers, most, allowed=allowed, min_values=rules)
        else:
            found = self._priced(claim, most)
        if isinstance(found, Blocker) or len(some) == 1 or not alone:
            return found
        return without_same_type(some, found, self._offers, rules)

    def _priced(self, claim: PlannedClaim, most: float) -> PlannedClaim | Blocker:
        return cheaper_than(claim, self._offers, most, self._settings.min_values)


def _preferred(trial: Trial, saves: float) -> Blocker:
    """Return that what pods prefer is worth more than a trial saves ($/h)."""
    return Block.PREFERENCES.by(detail=f"{trial.lost} preferences of pods to save ${max(0.0, saves):.4g}/h")


def _cost_of(claims: Sequence[PlannedClaim]) -> float:
    """Return what claims cost at least, $/h."""
    return sum(claim.price + claim.surcharge for claim in claims)
