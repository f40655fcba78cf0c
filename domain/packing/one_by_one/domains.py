"""Domains of open claims: each is chosen when a pod joins the claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treenail.domain.model.requirements import Requirement
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.offers.option_order import OptionOrder
from treenail.domain.packing.pods.demands import Demand, Demands
from treenail.domain.packing.pods.terms import TermKind
from treenail.domain.packing.topology.class_constraints import TopologyConstraints
from treenail.domain.packing.topology.spread_and_affinity_quotas import Restriction
from treenail.domain.packing.topology.universe import Universe


@dataclass(frozen=True, slots=True, eq=False)
class ClaimPlace:
    """The claim as it becomes with a pod on it: its node option, and the pod's demand there.

    `open` are the labels, each with the domains, between which the claim is still undecided.
    """

    option: NodeOption
    demand: Demand
    open: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Domains:
    """Domains for open claims: narrows a claim to a domain in which a pod's topology terms let the pod be.

    As in Karpenter, while `leave_open` is set, a claim with anti-affinity by domain may stay open to several
    domains. Then it keeps the pods of its terms out of all of them.
    """

    def __init__(self, option_order: OptionOrder, demands: Demands, universe: Universe) -> None:
        self._options = option_order.options
        self._demands = demands
        self._universe = universe
        self.leave_open = True

    def places(
        self, option: NodeOption, demand: Demand, constraints: TopologyConstraints
    ) -> list[ClaimPlace]:
        """Return what a claim of `option`, which meets `demand`, may become, the emptiest domain first."""
        found = [ClaimPlace(option, demand)]
        # Key by key, each narrowing what the one before left. Few keys have more than a handful of domains,
        # and most pods have one key.
        for key in (*constraints.asked.keys, *constraints.asked.targets):
            found = [after for before in found for after in self._along(before, constraints, key)]
        return found

    def _along(self, before: ClaimPlace, constraints: TopologyConstraints, key: str) -> list[ClaimPlace]:
        # What is on the claim already has narrowed the label: only those values can be chosen.
        own = before.option.requirements.get(key)
        values = self._universe.choosable(key, own)
        restrictions = [r for r in constraints.by_domain if r.group.term.key == key]
        able = [
            value
            for value in values
            if all(r.allowed({key: value}, self._universe, constraints.strict) >= 1 for r in restrictions)
        ]
        # Others would like to know the domain, but the pool has no such label: the pod need not wait for
        # them.
        if not values and key in constraints.asked.targets:
            return [before]
        if key in constraints.asked.apart_keys and self._universe.lacking(before.option.template.index, key):
            # A claim without the label has to stay without it. A pod with no such requirement may come to
            # share it, in one domain with pods it keeps apart from.
            place = self._met(before, self._demands.without(before.demand, key))
            return [] if place is None else [place]
        # Karpenter decides late here, and so finds a place for pods that need one certain domain. Whoever it
        # places is to be placed here too, so the first round does the same.
        if self.leave_open and key not in constraints.asked.targets and _keeps_off_only(restrictions):
            return self._left_open(before, key, values, able)
        found = []
        for value in able:
            place = self._met(before, self._demands.pinned(before.demand, key, value))
            if place is not None:
                # Emptiest first, then the cheapest, then by name, which decides nothing but makes plans
                # repeatable.
                rank = (
                    constraints.crowding({key: value}),
                    # As in the placer: a class that gathers had better begin where no limit will end it.
                    constraints.gathers and self._limited(place.demand),
                )
                found.append((*rank, float(place.option.prices[0]), value, place))
        return [each[-1] for each in sorted(found, key=lambda each: each[:-1])]

    def _limited(self, demand: Demand) -> bool:
        """Return whether there are only pools whose limits may be reached."""
        return all(option.template.limited for option in self._options.of_each(demand))

    def pinned(self, place: ClaimPlace, key: str, value: str) -> ClaimPlace | None:
        """Return what a node becomes in one of the domains it is open to, None where there is none."""
        rest = tuple(each for each in place.open if each[0] != key)
        demand = self._demands.pinned(place.demand, key, value)
        return self._met(ClaimPlace(place.option, place.demand, rest), demand)

    def _left_open(
        self, before: ClaimPlace, key: str, values: Sequence[str], able: Sequence[str]
    ) -> list[ClaimPlace]:
        if not able:
            return []
        # Narrowed to the domains that are allowed, if some are not: the node must never come up in one of the
        # others.
        demand = before.demand
        if len(able) < len(values):
            asked = demand.requirements.with_((Requirement(key, frozenset(able)),))
            demand = self._demands.of(asked, demand.tolerations, demand.present, demand.ports)
        place = self._met(before, demand)
        if place is None:
            return []
        return [ClaimPlace(place.option, demand, (*before.open, (key, tuple(able))))]

    def _met(self, before: ClaimPlace, demand: Demand) -> ClaimPlace | None:
        # Demands are one object each: nothing was narrowed, and the node option stays.
        if demand is before.demand:
            return before
        wanted = self._options.of(before.option.template.index, demand)
        met = self._options.meet(before.option, wanted) if wanted is not None else None
        return None if met is None else ClaimPlace(met, demand, before.open)


def _keeps_off_only(restrictions: Sequence[Restriction]) -> bool:
    return all(not r.owned or r.group.term.kind is TermKind.APART for r in restrictions)
