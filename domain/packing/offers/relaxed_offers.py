"""Pools that leave less choice than their `minValues` ask for, where that is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from treenail.domain.model.requirements import Requirements
from treenail.domain.packing.problem import MinValuesPolicy, PoolOffer, Problem


def with_relaxed_offers(problem: Problem) -> Problem:
    """Return `problem` with a second offer without `minValues` for each pool that has them, where allowed.

    It comes right after the pool's own offer: only pods that fit on no node of that open a node of it.
    """
    # As one more offer, and not as a rule in planning: all stages treat it like a pool of the next weight.
    if problem.settings.min_values is not MinValuesPolicy.BEST_EFFORT:
        return problem
    return replace(problem, offers=tuple(_each(problem.offers)))


def _each(offers: tuple[PoolOffer, ...]) -> Iterator[PoolOffer]:
    for offer in offers:
        yield offer
        requirements = offer.pool.requirements
        # Reserved capacity is one type in one zone: there is no choice to give up.
        if not offer.reservation and any(r.min_values is not None for r in requirements.values()):
            content = Requirements(replace(r, min_values=None) for r in requirements.values())
            yield replace(offer, pool=replace(offer.pool, requirements=content))
