"""Pods to get new nodes as they are before any domain is chosen for them: what a bound must be true of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.offers.chains import Chains
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.ladder import Rung
from treenail.domain.packing.topology.scope import Scope


def loosened(lots: Sequence[Lot], chains: Chains) -> tuple[list[Lot], dict[int, int]]:
    """Return the pods of `lots` as lots that may be in any domain, and how many units of each (by index).

    They keep the wishes they have, and keep apart by node as before, but need not be near any others.
    """
    kept: list[Lot] = []
    narrowed: list[Lot] = []
    for lot in lots:
        (kept if _loose(lot) else narrowed).append(lot)
    units = {lot.index: lot.units for lot in kept}
    made: dict[tuple[int, Demand, int], Lot] = {}
    first = max(units, default=-1) + 1
    for lot in narrowed:
        for one, rung, scope, pods in _members(lot):
            # Equal rules are one object.
            key = (id(one.requests), rung.demand, id(scope.rules))
            if key not in made:
                asked = ((rung.demand,),)
                chain = chains.known(asked, one.requests)
                made[key] = Lot(first + len(made), one.requests, asked, chain, scope.rules)
            index = made[key].index
            units[index] = units.get(index, 0) + pods
    return [*kept, *made.values()], units


def _loose(lot: Lot) -> bool:
    if lot.bundle:
        return False
    return all(
        party.seat.scope.free or party.seat.choice.demand is party.seat.rung.demand for party in lot.waiting
    )


def _members(lot: Lot) -> Iterator[tuple[PodClass, Rung, Scope, int]]:
    if lot.bundle:
        yield from lot.members
    for party in lot.waiting:
        yield party.seat.one, party.seat.rung, party.seat.scope, party.pods
