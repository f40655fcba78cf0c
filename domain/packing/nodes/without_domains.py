"""Pod groups without their chosen domains: the lower bound must hold whatever domains are chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treenail.domain.packing.identity import numbering
from treenail.domain.packing.offers.option_order import OptionOrder
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.topology.class_constraints import RelaxedClass


def without_domains(
    pod_groups: Sequence[PodGroup], option_order: OptionOrder
) -> tuple[list[PodGroup], dict[int, int]]:
    """Return `pod_groups` as ones that may be in any domain, and how many units there are of each (by index).

    They keep their preferences, and keep apart by node as before, but need not be near any other pods.
    """
    kept: list[PodGroup] = []
    narrowed: list[PodGroup] = []
    for pod_group in pod_groups:
        # Groups without a chosen domain stay the same objects, so that their components and bounds are found
        # again.
        (kept if _loose(pod_group) else narrowed).append(pod_group)
    units = {pod_group.index: pod_group.units for pod_group in kept}
    numbers = numbering()
    made: dict[tuple[int, Demand, int], PodGroup] = {}
    first = max(units, default=-1) + 1
    for pod_group in narrowed:
        for (one, level, constraints), pods in _members(pod_group):
            # Equal rules are one object.
            # Without their domains, pods of many choices ask for the same again: fewer groups, and a smaller
            # program.
            key = (numbers[one.requests], level.demand, numbers[constraints.rules])
            if key not in made:
                asked = ((level.demand,),)
                options_in_order = option_order.known(asked, one.requests)
                made[key] = PodGroup(
                    first + len(made), one.requests, asked, options_in_order, constraints.rules
                )
            index = made[key].index
            units[index] = units.get(index, 0) + pods
    return [*kept, *made.values()], units


def _loose(pod_group: PodGroup) -> bool:
    # A bundle is loosened into its members: sharing a node is a constraint, and a bound may leave constraints
    # out.
    if pod_group.bundle:
        return False
    return all(
        placed_pods.placement.constraints.free
        or placed_pods.placement.choice.demand is placed_pods.placement.relaxed.level.demand
        for placed_pods in pod_group.waiting
    )


def _members(pod_group: PodGroup) -> Iterator[tuple[RelaxedClass, int]]:
    if pod_group.bundle:
        yield from pod_group.members
    for placed_pods in pod_group.waiting:
        yield placed_pods.placement.relaxed, placed_pods.pods
