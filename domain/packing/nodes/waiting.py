"""What waits for nodes of its own, and what it asks for together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.nodes.bound import fractional_cover
from treenail.domain.packing.offers.chains import Link
from treenail.domain.packing.offers.families import Family


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """Units of a lot that still need a node, and the chain of families left to try."""

    lot: Lot
    units: int
    chain: tuple[Link, ...]


def by_family(waiting: Iterable[Waiting]) -> list[tuple[Family, list[Waiting]]]:
    """Group what waits by the family it asks for next, the least flexible family first."""
    groups: dict[int, tuple[Family, list[Waiting]]] = {}
    for each in waiting:
        family = each.chain[0].family
        groups.setdefault(family.index, (family, []))[1].append(each)
    return sorted(groups.values(), key=lambda group: (group[0].choices, group[0].index))


def further(group: Sequence[Waiting], left: Floats) -> list[Waiting]:
    """Return what is left of `group` and has another family to try."""
    return [
        Waiting(each.lot, int(units), each.chain[1:])
        for each, units in zip(group, left, strict=True)
        if units and len(each.chain) > 1
    ]


def nodes_of(family: Family, group: Sequence[Waiting], per_node: float) -> float:
    """Return how many nodes, in fractions, the group needs when a node costs so much more."""
    return fractional_cover(asked_by(group), family.room, family.prices + per_node).nodes


def worth_of(waiting: Sequence[Waiting]) -> Floats:
    """Return what a unit of each resource is worth (R) as far as the types go that the most may have."""
    widest = max(
        {id(each.chain): each.chain[0].family for each in waiting}.values(),
        key=lambda family: (family.choices, -family.index),
    )
    return fractional_cover(asked_by(waiting), widest.room, widest.prices).worth


def asked_by(waiting: Iterable[Waiting]) -> Floats:
    """Return what all units that wait request together (R)."""
    # Many lots share one array of requests.
    rows: dict[int, Floats] = {}
    units: dict[int, int] = {}
    for each in waiting:
        shape = id(each.lot.requests)
        rows[shape] = each.lot.requests
        units[shape] = units.get(shape, 0) + each.units
    asked: Floats = np.array(list(units.values()), dtype=np.float64) @ np.array(list(rows.values()))
    return asked
