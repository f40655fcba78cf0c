"""Pod groups that still need new nodes, and what they request together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.identity import IdentityMap, grouping
from treenail.domain.packing.nodes.bound import dual_prices_of
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.offers.option_order import OrderedOption
from treenail.domain.packing.planned.pod_groups import PodGroup


@dataclass(frozen=True, slots=True, eq=False)
class WaitingUnits:
    """Units of a pod group that still need a node, and the node options left to try."""

    pod_group: PodGroup
    units: int
    options_in_order: tuple[OrderedOption, ...]


def by_option(waiting: Iterable[WaitingUnits]) -> list[tuple[NodeOption, list[WaitingUnits]]]:
    """Group waiting units by the node option each asks for next, the least flexible option first.

    Pods that may be on few nodes open these; pods that may be anywhere fill the room left on them.
    """
    groups: dict[int, tuple[NodeOption, list[WaitingUnits]]] = {}
    for each in waiting:
        option = each.options_in_order[0].option
        groups.setdefault(option.index, (option, []))[1].append(each)
    # By index among equals, which is the order in which options came up: the same in each run.
    return sorted(groups.values(), key=lambda group: (group[0].choices, group[0].index))


def further(group: Sequence[WaitingUnits], left: Floats) -> list[WaitingUnits]:
    """Return the entries of `group` (G) with units `left` (G) and another node option to try."""
    return [
        WaitingUnits(each.pod_group, int(units), each.options_in_order[1:])
        for each, units in zip(group, left, strict=True)
        if units and len(each.options_in_order) > 1
    ]


def dual_prices_for(waiting: Sequence[WaitingUnits]) -> Floats:
    """Return what a unit of each resource is worth (R), by the prices of the most flexible node option."""
    # One price for all, so that pods of different options can be compared. The most flexible option has the
    # most types, and so the lowest prices: no resource is thought to be worth more than it can be had for.
    first = (each.options_in_order[0].option for each in waiting)
    widest = max(first, key=lambda option: (option.choices, -option.index))
    return dual_prices_of(asked_by(waiting), widest.room, widest.costs)


def asked_by(waiting: Iterable[WaitingUnits]) -> Floats:
    """Return what all units that wait request together (R)."""
    # Many pod groups share one array of requests.
    # One row for each different array, so that the sum has the same order of terms whatever the number of
    # groups.
    units: IdentityMap[Floats, list[int]] = grouping()
    for each in waiting:
        units[each.pod_group.requests].append(each.units)
    asked: Floats = np.array([sum(some) for some in units.values()], dtype=np.float64) @ np.array(list(units))
    return asked
