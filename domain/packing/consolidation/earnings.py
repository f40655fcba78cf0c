"""Earnings of moves: by how much the cluster costs less, less what it costs to make them, spread over time.

Where plans are compared, what one costs more to make than another must be paid back as fast as a move must:
no plan is taken for the sake of a few cents that moves many more pods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from treenail.domain.packing.consolidation.consolidation_plan import Move
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, PoolTerms
from treenail.domain.packing.consolidation.worth import dollars_once
from treenail.domain.packing.plan import PlannedClaim

_HOUR: Final = timedelta(hours=1)
_LEAST_HOURS: Final = 1 / 60
_MOST_HOURS: Final = 24.0


def hours_to_earn(terms: Mapping[str, PoolTerms]) -> float:
    """Return over how many hours what moves cost is spread: the shortest payback of pools, a day at most.

    A day too where any saving will do.
    """
    paybacks = (one.payback / _HOUR for one in terms.values() if one.payback is not None)
    return max(_LEAST_HOURS, min(_MOST_HOURS, min(paybacks, default=_MOST_HOURS)))


def earned(some: Sequence[CandidateNode], claims: Sequence[PlannedClaim], hours: float) -> float:
    """Return what claims in place of nodes earn at most, $/h, if what that costs is spread over `hours`."""
    bought = _cost(claims)
    once = dollars_once(sum(one.disruption for one in some), bought)
    return sum(one.cost for one in some) - bought - once / hours


def earned_by_all(moves: Sequence[Move], hours: float) -> float:
    """Return what moves earn together, $/h, if what they cost is spread over `hours`."""
    once = sum(dollars_once(move.disruption, _cost(move.claims)) for move in moves)
    return sum(move.saves for move in moves) - once / hours


def _cost(claims: Sequence[PlannedClaim]) -> float:
    return sum(claim.price + claim.surcharge for claim in claims)
