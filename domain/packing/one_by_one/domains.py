"""Choose the domain of a node when a pod joins it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treenail.domain.model.requirements import Requirement
from treenail.domain.packing.offers.chains import Chains
from treenail.domain.packing.offers.families import Family
from treenail.domain.packing.pods.demands import Demand, Demands
from treenail.domain.packing.pods.terms import Kind
from treenail.domain.packing.topology.restrictions import Restriction
from treenail.domain.packing.topology.scope import Scope
from treenail.domain.packing.topology.universe import Universe


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """What a node is when a pod is on it that asks for `demand`; `open` are domains it may still be in."""

    family: Family
    demand: Demand
    open: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Domains:
    """Narrows nodes to domains that the terms of a pod let it into.

    As in Karpenter, a node with pods that keep others off by domain may stay in several, as long as
    `leave_open` says so: it keeps them off all of those.
    """

    def __init__(self, chains: Chains, demands: Demands, universe: Universe) -> None:
        self._families = chains.families
        self._demands = demands
        self._universe = universe
        self.leave_open = True

    def places(self, family: Family, demand: Demand, scope: Scope) -> list[Place]:
        """Return what a node of `family`, which meets `demand`, may become, the emptiest domain first."""
        found = [Place(family, demand)]
        for key in (*scope.keys, *scope.targets):
            found = [after for before in found for after in self._along(before, scope, key)]
        return found

    def _along(self, before: Place, scope: Scope, key: str) -> list[Place]:
        own = before.family.requirements.get(key)
        values = self._universe.choosable(key, own)
        restrictions = [r for r in scope.by_domain if r.group.term.key == key]
        able = [
            value
            for value in values
            if all(r.allowed({key: value}, self._universe, scope.strict) >= 1 for r in restrictions)
        ]
        if not values and key in scope.targets:
            return [before]
        if key in scope.apart_keys and self._universe.lacking(before.family.template.index, key):
            return [before]
        if self.leave_open and key not in scope.targets and _keeps_off_only(restrictions):
            return self._left_open(before, key, values, able)
        found = []
        for value in able:
            place = self._met(before, self._demands.pinned(before.demand, key, value))
            if place is not None:
                rank = (scope.crowding({key: value}), scope.gathers and self._limited(place.demand))
                found.append((*rank, float(place.family.prices[0]), value, place))
        return [each[-1] for each in sorted(found, key=lambda each: each[:-1])]

    def _limited(self, demand: Demand) -> bool:
        """Tell whether there are only pools whose limits may be reached."""
        found = (self._families.of(template, demand) for template in range(len(self._families.templates)))
        return all(family.template.limited for family in found if family is not None)

    def pinned(self, place: Place, key: str, value: str) -> Place | None:
        """Return what a node becomes in one of the domains it is open to, None where there is none."""
        rest = tuple(each for each in place.open if each[0] != key)
        demand = self._demands.pinned(place.demand, key, value)
        return self._met(Place(place.family, place.demand, rest), demand)

    def _left_open(self, before: Place, key: str, values: Sequence[str], able: Sequence[str]) -> list[Place]:
        if not able:
            return []
        demand = before.demand
        if len(able) < len(values):
            asked = demand.requirements.with_((Requirement(key, frozenset(able)),))
            demand = self._demands.of(asked, demand.tolerations, demand.present, demand.ports)
        place = self._met(before, demand)
        if place is None:
            return []
        return [Place(place.family, demand, (*before.open, (key, tuple(able))))]

    def _met(self, before: Place, demand: Demand) -> Place | None:
        if demand is before.demand:
            return before
        wanted = self._families.of(before.family.template.index, demand)
        met = self._families.meet(before.family, wanted) if wanted is not None else None
        return None if met is None else Place(met, demand, before.open)


def _keeps_off_only(restrictions: Sequence[Restriction]) -> bool:
    return all(not r.owned or r.group.term.kind is Kind.APART for r in restrictions)
