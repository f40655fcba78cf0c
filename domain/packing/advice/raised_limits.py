"""Raised limits: how much more a pool would have to be allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.resources import Resources, total
from treenail.domain.packing.advice.pool_steps import raise_limits
from treenail.domain.packing.advice.step import Step
from treenail.domain.packing.plan import PackingPlan, PlannedClaim
from treenail.domain.packing.problem import PoolOffer, Problem

# The least that may do, what the cheapest nodes count with, and what surely does.
_SIZES = (2.0, 2.1, 2.2)


def raised(offer: PoolOffer, problem: Problem, pack: Callable[[Problem], PackingPlan]) -> Iterable[Step]:
    """Yield what lets `offer` buy the nodes it would buy without limits; packs once to know them."""
    # One packing without limits tells what would be bought. Adding up requests would not: whole nodes count
    # against limits, with their daemons.
    unlimited = replace(offer, limits_left=None)
    offers = tuple(unlimited if o.pool.name == offer.pool.name else o for o in problem.offers)
    claims = [c for c in pack(replace(problem, offers=offers)).claims if c.pool == offer.pool.name]
    capacities = {one.name: one.capacity for one in offer.instance_types}

    def least(claim: PlannedClaim) -> Resources:
        named = [capacities[name] for name in claim.instance_types]
        keys = sorted({key for capacity in named for key in capacity})
        return Resources({key: min(capacity.get(key, 0) for capacity in named) for key in keys})

    nodes = {NODES: len(claims)}
    # How a node counts against limits depends on the type it is launched as: the smallest listed, the
    # cheapest, or the largest, which counts until it is launched.
    amounts = (
        total(least(claim) for claim in claims),
        total(capacities[claim.instance_types[0]] for claim in claims),
        total(claim.largest for claim in claims),
    )
    for size, amount in zip(_SIZES, amounts, strict=True):
        yield from raise_limits(offer, amount.plus(nodes), size=size)
