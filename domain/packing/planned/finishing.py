"""Finishing: planned nodes become the claims of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from treenail.domain.model import labels
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.packing.arrays.arrays import Axis, Bools, Floats, Indices, holds
from treenail.domain.packing.offers.limits_in_plan import RemainingLimits
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.offers.templates import IN_THE_END
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.planned.planned_nodes import PlannedNode

# Every node has these by itself: nothing of a launch decides them.
_NOT_ASKED: Final = (labels.HOSTNAME, *IN_THE_END)


def listed(remaining_limits: RemainingLimits, option: NodeOption, row: int, load: Floats) -> Bools | None:
    """Return which types (U) a claim of `load` (R) lists, and count it against limits with the largest.

    Until then `remaining_limits` counts it as the type `row`. Return None, and count it no more, where the
    types that limits leave are too few for minValues.
    """
    able = holds(option.whole, load)
    if option.template.limited:
        own = option.capacity[row]
        # What the planned node took is given back first: it may list its own type at least.
        able &= remaining_limits.allowed(option, own)
        if option.min_values is not None and not option.min_values.enough(able):
            remaining_limits.take(option.template, -own)
            return None
        # The launch may choose any listed type, so the largest is reserved. Otherwise several claims together
        # could exceed the limit of their pool.
        remaining_limits.take(option.template, option.capacity[able].max(axis=0) - own)
    return able


class Finishing:
    """Makes claims of planned nodes, one after the other.

    A claim lists every type that holds its load and that limits allow. It then counts with the largest of
    these, where the planned node counted with the type it was meant to be: earlier claims choose more freely.
    """

    def __init__(self, remaining_limits: RemainingLimits, axis: Axis, requests: Sequence[Resources]) -> None:
        self._remaining_limits = remaining_limits
        self._axis = axis
        self._requests = requests
        self._known: dict[tuple[int, bytes], PlannedClaim] = {}

    def claim(self, planned_node: PlannedNode, parts: Mapping[int, int]) -> PlannedClaim | None:
        """Return the claim of `planned_node`, which holds so many pods of each class (`parts`), yet unnamed.

        None where limits leave too few types for minValues.
        """
        # Called once for each copy: limits are counted claim by claim, and the last ones may list fewer
        # types.
        option = planned_node.option
        able = listed(self._remaining_limits, option, planned_node.row, planned_node.load)
        if able is None:
            return None
        # Many nodes of a plan are alike but for their pods: requirements and lists of types are written once
        # for all.
        key = (option.index, able.tobytes())
        if key not in self._known:
            self._known[key] = self._claim(option, able.nonzero()[0])
        known = self._known[key]
        return replace(known, requests=self._requested(parts, known.requests))

    def _claim(self, option: NodeOption, rows: Indices) -> PlannedClaim:
        """Return a claim for any load that these types hold; its requests are those of daemons."""
        table = option.template.table
        types = option.types[rows]
        listed_types = [table.types[t] for t in types]
        names, capacities = table.capacities
        largest = zip(names, np.maximum.reduce(capacities[types]).tolist(), strict=True)
        return PlannedClaim(
            pool=option.template.offer.pool.name,
            pods=(),
            requirements=_narrowed(option, types),
            instance_types=tuple(one.name for one in listed_types),
            requests=self._daemons(option, types),
            largest=Resources({name: int(amount) for name, amount in largest if amount}),
            price=float(option.prices[rows[0]]),
            surcharge=option.template.surcharge,
            price_overlaid=any(offering.overlay for one in listed_types for offering in one.offerings),
            capacity_overlaid=any(one.overlays for one in listed_types),
        )

    def _daemons(self, option: NodeOption, types: Indices) -> Resources:
        """Return the requests of the daemons that run on the node whichever of `types` it becomes."""
        # Which type it will be is not known. The claim requests what daemons take on every one of them.
        least = np.minimum.reduce(option.template.daemons[types])
        named = zip(self._axis.names, least.tolist(), strict=True)
        return Resources({name: int(amount) for name, amount in named if amount})

    def _requested(self, parts: Mapping[int, int], daemons: Resources) -> Resources:
        """Return what pods and daemons request together."""
        # Pods and daemons together: this is what a claim asks for in its spec.
        amounts = dict(daemons)
        for index, pods in parts.items():
            for name, amount in self._requests[index].items():
                amounts[name] = amounts.get(name, 0) + pods * amount
        return Resources(amounts)


def _narrowed(option: NodeOption, types: Indices) -> Requirements:
    """Return the family's requirements, with no zone or capacity type left in which no type is sold."""
    offers = option.template.table.offers
    within = offers.within(option.requirements)
    # A zone in which none of the listed types is sold would only make the launch try it in vain.
    sold = within & (np.minimum.reduce(offers.prices[types]) < np.inf)
    places = [offers.places[at] for at in sold.nonzero()[0].tolist()]
    zones = frozenset(place[0] for place in places)
    ways = frozenset(place[1] for place in places)
    return option.requirements.without(_NOT_ASKED).with_(
        (Requirement(labels.ZONE, zones), Requirement(labels.CAPACITY_TYPE, ways))
    )
