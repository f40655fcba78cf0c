"""Nodes for pods that terms per node keep apart, filled up with others so that they are worth their price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Final

import numpy as np

from treenail.domain.packing.arrays import TINY, Bools, Floats, Indices, holds
from treenail.domain.packing.compatibility.families import Families, Family
from treenail.domain.packing.drafts import Draft
from treenail.domain.packing.filling import fill
from treenail.domain.packing.first_fit import cheapest_allowed
from treenail.domain.packing.limits import Ledger
from treenail.domain.packing.lots import Lot
from treenail.domain.packing.node_rules import Company, NodeRules
from treenail.domain.packing.steps import Steps

# So many types are weighed for a node.
_WEIGHED: Final = 16
# A type may be worth so much more than the node's share: types are not of every size.
_SLACK: Final = 1.25
# How many times its share of one shape a node may take.
_MIXED: Final = 1.5
# So many lots of one shape are tried for a place before it stays empty.
_TRIED: Final = 24


@dataclass(frozen=True, slots=True, eq=False)
class Stock:
    """Lots and how many units of each are left (by index of the lot)."""

    lots: Sequence[Lot]
    left: dict[int, int]


@dataclass(slots=True, eq=False)
class _Node:
    """A node while it is filled."""

    family: Family
    free: list[float]
    company: Company
    parts: dict[int, int] = field(default_factory=dict)


class Forced:
    """Opens a node for each unit that must not share one with its like.

    `worth` (R) is what a unit of each resource is worth; `ration` by how much a node may take more of the
    rest than its share: with too much in the first nodes, the last would stand empty. `settled` says that
    another, tighter ration would have led to the same nodes.
    """

    def __init__(
        self, stock: Stock, families: Families, rules: NodeRules, ledger: Ledger, steps: Steps, worth: Floats
    ) -> None:
        self._left = stock.left
        self._families = families
        self._rules = rules
        self._ledger = ledger
        self._steps = steps
        self._worth = worth
        by_shape: dict[int, list[Lot]] = {}
        # The hardest to place first: those with terms, then those that may be in few places.
        for lot in sorted(stock.lots, key=_hardest_first):
            by_shape.setdefault(id(lot.requests), []).append(lot)
        self._shapes: Floats = np.array([lots[0].requests for lots in by_shape.values()])
        self._asked: list[list[tuple[int, float]]] = [
            [(column, float(row[column])) for column in np.flatnonzero(row).tolist()] for row in self._shapes
        ]
        self._values: Floats = self._shapes @ worth
        self._dearest: Indices = np.argsort(-self._values, kind="stable")
        self._of_shape: list[dict[Family, dict[int, Lot]]] = []
        for lots in by_shape.values():
            by_family: dict[Family, dict[int, Lot]] = {}
            for lot in lots:
                by_family.setdefault(lot.chain[0].family, {})[lot.index] = lot
            self._of_shape.append(by_family)
        self._units: Floats = np.array(
            [sum(self._left[lot.index] for lot in lots) for lots in by_shape.values()], dtype=np.float64
        )
        self._nodes = 0
        self.settled = True
        self._shape_of = {lot.index: at for at, lots in enumerate(by_shape.values()) for lot in lots}

    def drafts(self, seeds: Sequence[Lot], ration: float, other: float) -> list[Draft]:
        """Return nodes for all units of `seeds`, and for what of the rest is on them.

        `other` is the tighter ration that `settled` tells of.
        """
        drafts: list[Draft] = []
        self._nodes = sum(self._left[lot.index] for lot in seeds)
        for lot in seeds:
            while self._left[lot.index] and not self._steps.exhausted:
                self._steps.spend()
                made = self._pattern(lot, self._nodes, (ration, other))
                if not made:
                    break
                drafts += made
        return drafts

    def _pattern(self, seed: Lot, nodes: int, rations: tuple[float, float]) -> list[Draft]:
        """Return a few nodes of one seed each that are filled alike."""
        family = seed.chain[0].family
        rows, tighter = self._weighed(seed, family, nodes, rations)
        if not len(rows):
            return []
        start = np.zeros((len(rows), len(self._shapes)))
        shape = self._shape_of[seed.index]
        start[:, shape] = 1.0
        # Each node has its share of every shape, so that what is left stays as mixed as it was.
        share = np.ceil(self._units / max(nodes, 1) * _MIXED)
        joins = self._joining(seed)
        units = np.maximum(np.where(joins, np.minimum(self._units, share), 0.0), start[0])
        counts = fill(family.room[rows], self._shapes, units[np.newaxis].repeat(len(rows), axis=0), start)
        loads = counts @ self._shapes
        best = int((family.prices[rows] - loads @ self._worth).argmin())
        if self.settled and tighter is not rows:
            picked = set(tighter.tolist())
            self.settled = int(rows[best]) in picked and picked.issubset(rows.tolist())
        counts = counts[best]
        used = counts.nonzero()[0]
        copies = max(1, int((self._units[used] / counts[used]).min()))
        if counts.sum() == 1:
            copies = self._left[seed.index]
        if family.template.limited:
            copies = 1
        copies = min(copies, self._left[seed.index])
        return self._alike(seed, family, int(rows[best]), counts, copies, joins)

    def _joining(self, seed: Lot) -> Bools:
        """Tell of which shapes some units may share a node with one of `seed`."""
        company = Company()
        company.add(seed, 1)
        return np.array(
            [
                any(
                    self._rules.free(lot) or self._rules.most(company, lot)
                    for lots in by_family.values()
                    for lot in islice(lots.values(), _TRIED)
                )
                for by_family in self._of_shape
            ],
            dtype=np.bool_,
        )

    def _weighed(
        self, seed: Lot, family: Family, nodes: int, rations: tuple[float, float]
    ) -> tuple[Indices, Indices]:
        """Return the types, by row, that hold the seed and no more of the rest than its share.

        For each of two rations.
        """
        rows = family.bargains
        rows = rows[holds(family.room[rows], seed.requests)]
        if family.template.limited:
            rows = rows[self._ledger.allowed(family)[rows]]
        if not len(rows):
            return rows, rows
        rest = float(self._units @ self._values / max(nodes, 1))
        own = float(seed.requests @ self._worth)
        value = np.minimum(family.room[rows] @ self._worth, family.prices[rows])
        wide, tight = (value <= max(own + ration * rest, TINY) * _SLACK for ration in rations)
        weighed = _some(rows, wide)
        if not self.settled or np.count_nonzero(wide) == np.count_nonzero(tight):
            return weighed, weighed
        return weighed, _some(rows, tight)

    def _alike(
        self, seed: Lot, family: Family, row: int, counts: Floats, copies: int, joins: Bools
    ) -> list[Draft]:
        wanted = counts.copy()
        wanted[self._shape_of[seed.index]] -= 1
        slots = [(s, int(wanted[s])) for s in wanted.nonzero()[0].tolist()]
        slots.sort(key=lambda slot: -self._values[slot[0]])
        made: list[Draft] = []
        for _ in range(copies if slots else 1):
            if not self._left[seed.index]:
                break
            node = _Node(family, (family.room[row] - seed.requests).tolist(), Company())
            self._put(node, seed, 1)
            for shape, units in slots:
                self._fill_slot(node, int(family.types[row]), shape, units)
            if slots:
                self._top_up(node, int(family.types[row]), joins)
            load = family.room[row] - np.array(node.free)
            chosen = cheapest_allowed(node.family, load, self._ledger, 0.0)
            assert chosen is not None  # noqa: S101 (each unit was put where it fits)
            alike = 1
            if not slots and copies > 1:
                alike = copies
                self._take(seed, copies - 1)
            draft = Draft(node.family, chosen, load, node.parts, alike)
            self._ledger.take(draft.family.template, draft.family.capacity[chosen] * alike)
            made.append(draft)
        return made

    def _fill_slot(self, node: _Node, type_row: int, shape: int, units: int) -> int:
        """Put up to `units` of a shape on a node that is to be of one type; return how many found a place."""
        wanted = units
        for family, lots in self._of_shape[shape].items():
            met = self._families.meet(node.family, family)
            if met is None or (met is not node.family and (type_row not in met.types or met.choice)):
                continue
            for lot in tuple(islice(lots.values(), _TRIED)):
                left: float = self._left[lot.index]
                if not self._rules.free(lot):
                    left = min(left, self._rules.most(node.company, lot))
                taken = int(min(left, units))
                if taken:
                    node.family = met
                    for column, amount in self._asked[shape]:
                        node.free[column] -= taken * amount
                    self._put(node, lot, taken)
                    units -= taken
                if not units:
                    return wanted
        return wanted - units

    def _top_up(self, node: _Node, type_row: int, joins: Bools) -> None:
        """Put on a node what still fits of whatever shape joins it, the most valuable first."""
        able = holds(np.array(node.free), self._shapes) & (self._units > 0) & joins
        for shape in self._dearest[able[self._dearest]].tolist():
            fits = float(self._units[shape])
            for column, amount in self._asked[shape]:
                fits = min(fits, node.free[column] // amount)
            if fits >= 1:
                self._fill_slot(node, type_row, shape, int(fits))

    def _put(self, node: _Node, lot: Lot, units: int) -> None:
        node.parts[lot.index] = node.parts.get(lot.index, 0) + units
        if not self._rules.free(lot):
            node.company.add(lot, units)
        self._take(lot, units)

    def _take(self, lot: Lot, units: int) -> None:
        self._left[lot.index] -= units
        if lot.rules.owned:
            self._nodes -= units
        shape = self._shape_of[lot.index]
        self._units[shape] -= units
        if not self._left[lot.index]:
            del self._of_shape[shape][lot.chain[0].family][lot.index]


def _some(rows: Indices, wanted: Bools) -> Indices:
    """Return the `wanted` of `rows`, no more than are to be weighed; of none, the first."""
    within = rows[wanted]
    if not len(within):
        return rows[:1]
    if len(within) <= _WEIGHED:
        return within
    return within[_evenly_picked(len(within))]


@lru_cache
def _evenly_picked(number: int) -> Indices:
    """Return which of so many are weighed, more than can be."""
    return np.linspace(0, number - 1, _WEIGHED).astype(np.intp)


def _hardest_first(lot: Lot) -> tuple[bool, int, int]:
    return (not lot.rules.owned, lot.chain[0].family.choices, lot.index)


def seeds_of(lots: Sequence[Lot], left: dict[int, int]) -> list[Lot]:
    """Return the lots with terms per node, in the order to open nodes for them: the most of a kind first."""
    owned: dict[int, int] = {}
    for lot in lots:
        for group in lot.rules.owned:
            owned[group] = owned.get(group, 0) + left[lot.index]
    ruled = [lot for lot in lots if lot.rules.owned]
    # Many lots share one array of requests.
    shapes = {id(lot.requests): lot.requests for lot in ruled}
    largest = {shape: (-requests[:2]).tolist() for shape, requests in shapes.items()}
    return sorted(
        ruled,
        key=lambda lot: (-max(owned[g] for g in lot.rules.owned), *largest[id(lot.requests)], lot.index),
    )
