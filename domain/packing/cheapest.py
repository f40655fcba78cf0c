"""Look for nodes that cost less than first-fit's, without making many more of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, inf
from typing import Final

import numpy as np

from treenail.domain.packing.arrays import Floats
from treenail.domain.packing.bound import fractional_cover
from treenail.domain.packing.chains import Link
from treenail.domain.packing.classes import PodClass
from treenail.domain.packing.compatibility.families import Families, Family
from treenail.domain.packing.components import Component
from treenail.domain.packing.drafts import Draft, cost_of, nodes_in, placed_in
from treenail.domain.packing.holes import fill_holes
from treenail.domain.packing.limits import Ledger
from treenail.domain.packing.merging import Merging
from treenail.domain.packing.sizing import Sizing
from treenail.domain.packing.steps import Steps

# What first-fit puts on one node stays on one node, unless more of them cost less than this share.
SPLIT_BELOW: Final = 0.75
# Elsewhere there may be so many nodes for each of first-fit's.
MOST_NODES: Final = 1.1
_ROUNDING: Final = 1e-9
# Closer to the bound than this, nothing is left worth looking for.
_CLOSE_ENOUGH: Final = 1.0005
# A node more must be worth this share of the whole cost: of equally cheap plans, the one with fewer nodes.
_PER_NODE: Final = 1e-4
# How often nodes are made dearer, to get fewer of them, and by how much each time.
_ATTEMPTS: Final = 4
_DEARER: Final = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """Pods of a class that still need a node, and the chain of families left to try."""

    one: PodClass
    pods: int
    chain: tuple[Link, ...]


class Cheapest:
    """Plans the nodes of one component anew, and keeps what is better under the rule above."""

    def __init__(self, component: Component, families: Families, ledger: Ledger, steps: Steps) -> None:
        self._component = component
        self._families = families
        self._ledger = ledger
        self._steps = steps

    def improve(self, wanted: Sequence[int], first: list[Draft], bound: float) -> list[Draft]:
        """Return nodes for the pods `wanted` (by class of the component) that are no worse than `first`.

        `bound` ($/h) is what those of `first` must cost at least. The ledger, in which `first` is
        counted, counts what is returned instead.
        """
        complete = sum(placed_in(first).values()) == sum(wanted)
        worth_while = SPLIT_BELOW if nodes_in(first) == 1 else 1 / _CLOSE_ENOUGH
        if complete and cost_of(first) * worth_while <= bound:
            return first
        self._count(first, -1)
        best = first
        for per_node in self._prices_per_node(wanted, first, bound):
            if self._steps.exhausted:
                break
            found = self._plan(wanted, per_node, first)
            self._count(found, -1)
            if not self._steps.exhausted and _better(found, best, first):
                best = found
            if _acceptable(found, first):
                break
        self._count(best, 1)
        return best

    def _count(self, drafts: Iterable[Draft], sign: int) -> None:
        for draft in drafts:
            capacity = draft.family.capacity[draft.row]
            self._ledger.take(draft.family.template, sign * draft.copies * capacity)

    def _prices_per_node(self, wanted: Sequence[int], first: list[Draft], bound: float) -> Iterable[float]:
        """Yield what a node is to cost beyond its price: next to nothing, then enough for few nodes."""
        yield _PER_NODE * bound
        if nodes_in(first) > 1:
            per_node = self._dear_enough(wanted, _most_nodes(first), bound)
            for attempt in range(_ATTEMPTS):
                yield per_node * _DEARER**attempt

    def _dear_enough(self, wanted: Sequence[int], most_nodes: int, bound: float) -> float:
        """Return the price per node at which the fractional covers of all families are few enough nodes."""
        low, high = _PER_NODE, 1.0
        groups = _by_family(self._waiting(wanted))
        while high / low > _DEARER:
            middle = (low * high) ** 0.5
            nodes = sum(_nodes(family, group, middle * bound) for family, group in groups)
            low, high = (middle, high) if nodes > most_nodes else (low, middle)
        return high * bound

    def _waiting(self, wanted: Sequence[int]) -> list[_Waiting]:
        of = zip(self._component.classes, wanted, self._component.chains, strict=True)
        return [_Waiting(one, pods, chain) for one, pods, chain in of if pods]

    def _plan(self, wanted: Sequence[int], per_node: float, first: list[Draft]) -> list[Draft]:
        """Plan nodes for the pods `wanted`, family by family, the least flexible first."""
        drafts: list[Draft] = []
        waiting = self._waiting(wanted)
        while waiting and not self._steps.exhausted:
            going: list[_Waiting] = []
            for family, group in _by_family(waiting):
                left = np.array([each.pods for each in group], dtype=np.float64)
                classes = [each.one for each in group]
                drafts = fill_holes(drafts, family, classes, left, self._families)
                if left.any():
                    sizing = Sizing(family, classes, self._ledger, self._steps, per_node=per_node)
                    drafts += sizing.drafts(left)
                going += _further(group, left)
            waiting = going
        merging = Merging(drafts, self._families, self._ledger, self._steps)
        one_node = nodes_in(first) <= 1
        return merging.run(
            most_nodes=nodes_in(drafts) if one_node else _most_nodes(first),
            most_cost=inf if one_node else cost_of(first),
        )


def _by_family(waiting: Iterable[_Waiting]) -> list[tuple[Family, list[_Waiting]]]:
    """Group what waits by the family it asks for next, the least flexible family first."""
    groups: dict[int, tuple[Family, list[_Waiting]]] = {}
    for each in waiting:
        family = each.chain[0].family
        groups.setdefault(family.index, (family, []))[1].append(each)
    return sorted(groups.values(), key=lambda group: (group[0].choices, group[0].index))


def _further(group: Sequence[_Waiting], left: Floats) -> list[_Waiting]:
    """Return what is left of `group` and has another family to try."""
    return [
        _Waiting(each.one, int(pods), each.chain[1:])
        for each, pods in zip(group, left, strict=True)
        if pods and len(each.chain) > 1
    ]


def _nodes(family: Family, group: Sequence[_Waiting], per_node: float) -> float:
    """Return how many nodes, in fractions, the group needs when a node costs so much more."""
    demand = sum((each.pods * each.one.requests for each in group), np.zeros(family.room.shape[1]))
    return fractional_cover(demand, family.room, family.prices + per_node).nodes


def _most_nodes(first: Iterable[Draft]) -> int:
    return floor(MOST_NODES * nodes_in(first) + _ROUNDING)


def _acceptable(found: list[Draft], first: list[Draft]) -> bool:
    """Tell whether `found` is of few enough nodes, where first-fit has those of `first`."""
    if nodes_in(first) == 1:
        return nodes_in(found) == 1 or cost_of(found) < SPLIT_BELOW * cost_of(first)
    return nodes_in(found) <= _most_nodes(first)


def _better(found: list[Draft], best: list[Draft], first: list[Draft]) -> bool:
    """Tell whether `found` holds more pods than `best`, or as many for less and on few enough nodes.

    Where limits leave some out, those that `best` holds are not to wait for others.
    """
    ours, theirs = placed_in(found), placed_in(best)
    if any(ours.get(index, 0) < pods for index, pods in theirs.items()):
        return False
    if sum(ours.values()) > sum(theirs.values()):
        return True
    return _acceptable(found, first) and cost_of(found) < cost_of(best)
