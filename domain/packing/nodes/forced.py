"""Nodes for pods that terms per node keep apart, filled up with others so that they are worth their price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import (
    Floats,
    Indices,
    count_fitting,
    exceeds,
    first_holding,
    holds,
)
from treenail.domain.packing.arrays.steps import Steps
from treenail.domain.packing.draft.drafts import Draft
from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.draft.node_rules import Company, NodeRules
from treenail.domain.packing.nodes.first_fit import cheapest_allowed
from treenail.domain.packing.offers.families import Families, Family
from treenail.domain.packing.offers.limits import Ledger

# So many lots of one shape are tried for a place before it stays empty.
_TRIED: Final = 24
# What room beyond that for the pods a node is opened for is worth, as others may fill it: all but a tenth.
_FILLED: Final = 0.9
# Where nodes must be fewer, more than all: of types that cost the same for what they hold, the largest.
_FILLED_AT_ANY_PRICE: Final = 1.1


@dataclass(frozen=True, slots=True, eq=False)
class Stock:
    """Lots and how many units of each are left (by index of the lot)."""

    lots: Sequence[Lot]
    left: dict[int, int]


@dataclass(slots=True, eq=False)
class _Node:
    """A node while it is filled, of one type (its row in the template), which counts with `capacity` (L).

    `met` is what it becomes with units of another family, by its index; None where they cannot join.
    """

    family: Family
    type: int
    capacity: Floats
    company: Company = field(default_factory=Company)
    parts: dict[int, int] = field(default_factory=dict)
    met: dict[int, Family | None] = field(default_factory=dict)


class Forced:
    """Opens a node for each unit that must not share one with its like.

    All nodes of those who keep apart from each other are opened at once, each with one unit of those that
    other terms keep apart, the largest with the smallest. They are of the type that is cheapest for these;
    then each shape of all that is left, the most valuable first, goes onto those nodes that it fills best.
    `worth` (R) is what a unit of each resource is worth. With a `ration`, nodes have room for so many
    times their share of the rest; `settled` says that they would be the same with any.
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
        self._queues = list(by_shape.values())
        self._shape_of = {lot.index: at for at, lots in enumerate(self._queues) for lot in lots}
        self._shapes: Floats = np.array([lots[0].requests for lots in self._queues])
        self._values: list[float] = (self._shapes @ worth).tolist()
        self.settled = True
        self._types: dict[int, tuple[Indices, Floats, Floats, Floats]] = {}
        self._units = [sum([self._left[lot.index] for lot in lots]) for lots in self._queues]
        # What each lot asks for now, and after how many that it could have no more of.
        self._asked: dict[int, Family] = {lot.index: lot.chain[0].family for lot in stock.lots}
        self._turned: dict[int, int] = {}

    def drafts(self, seeds: Sequence[Lot], ration: float) -> list[Draft]:
        """Return nodes for all units of `seeds`, and for what of the rest is on them."""
        drafts: list[Draft] = []
        waiting = list(seeds)
        while waiting and not self._steps.exhausted:
            group, others = _apart_from_first(waiting)
            made = self._for_group(group, others, ration)
            drafts += made
            # Those that limits left no node for ask for another family, if there is one for them.
            turned = [] if made else [lot for lot in group if self._turn(lot)]
            waiting = [lot for lot in (waiting if made else [*turned, *others]) if self._left[lot.index]]
        return drafts

    def _turn(self, lot: Lot) -> bool:
        """Have a lot ask for the next family of its chain; tell whether there is one."""
        turns = self._turned.get(lot.index, 0) + 1
        if turns == len(lot.chain):
            return False
        self._turned[lot.index], self._asked[lot.index] = turns, lot.chain[turns].family
        return True

    def _for_group(self, group: Sequence[Lot], others: Sequence[Lot], ration: float) -> list[Draft]:
        """Open nodes for the units left of a group, as far as the limits go with the types chosen now."""
        units, alone = self._with_company(group)
        nodes, free = self._opened(units, self._seconds(len(units), others), ration)
        if nodes:
            self._fill(nodes, free)
            return self._drafts(nodes, free)
        return [draft for lot, copies in alone for draft in self._alone(lot, copies)]

    def _with_company(self, group: Sequence[Lot]) -> tuple[list[Lot], list[tuple[Lot, int]]]:
        """Return who of a group, unit by unit, may get company, as far as the rest goes, and who is left."""
        units: list[Lot] = []
        alone: list[tuple[Lot, int]] = []
        most = sum(self._units) - sum([self._left[lot.index] for lot in group])
        for lot in group:
            left = self._left[lot.index]
            some = min(left, most - len(units))
            units += [lot] * some
            if some < left:
                alone.append((lot, left - some))
        return units, alone

    def _seconds(self, nodes: int, others: Sequence[Lot]) -> list[Lot | None]:
        """Return who of `others`, the smallest first, is to share each of so many nodes."""
        none: list[Lot | None] = [None] * nodes
        by_value = sorted(others, key=lambda lot: self._values[self._shape_of[lot.index]])
        units = [lot for lot in by_value for _ in range(self._left[lot.index])]
        picked = min(len(units), nodes)
        # Of too many, some of every size.
        evenly = [units[(2 * at + 1) * len(units) // (2 * picked)] for at in range(picked)]
        return [*evenly, *none[picked:]]

    def _opened(
        self, units: Sequence[Lot], seconds: Sequence[Lot | None], ration: float
    ) -> tuple[list[_Node], Floats]:
        """Return a node for each unit and its second, and what is free on each (N, R)."""
        spare = sum([a * b for a, b in zip(self._values, self._units, strict=True)]) / max(len(units), 1)
        rows: dict[tuple[int, int, int], int | None] = {}
        nodes: list[_Node] = []
        free: list[Floats] = []
        for lot, second in zip(units, seconds, strict=True):
            family = self._asked[lot.index]
            key = (family.index, id(lot.requests), 0 if second is None else id(second.requests))
            if key not in rows:
                self._steps.spend()
                asked = lot.requests if second is None else lot.requests + second.requests
                rows[key] = self._row(family, asked, spare, ration)
                if rows[key] is None and second is not None:
                    rows[key] = self._row(family, lot.requests, spare, ration)
            row = rows[key]
            if row is None:
                continue
            capacity = family.capacity[row]
            if self._steps.exhausted or not self._affordable(family, capacity):
                break
            self._ledger.take(family.template, capacity)
            node = _Node(family, int(family.types[row]), capacity)
            rest: Floats = family.room[row] - lot.requests
            self._put(node, lot, 1)
            if second is not None and holds(rest, second.requests) and self._join(node, second, 1):
                rest = rest - second.requests
            nodes.append(node)
            free.append(rest)
        return nodes, np.array(free).reshape(len(free), len(self._worth))

    def _affordable(self, family: Family, capacity: Floats) -> bool:
        template = family.template
        return not template.limited or not exceeds(capacity[np.newaxis], self._ledger.left(template))[0]

    def _row(self, family: Family, asked: Floats, spare: float, ration: float) -> int | None:
        """Return the row of the type for what is `asked` (R); a node's share of the rest is `spare` ($/h)."""
        rows, room, prices, worth = self._types_of(family)
        holding = holds(room, asked)
        if family.template.limited:
            holding &= self._ledger.allowed(family)[rows]
        able = holding.nonzero()[0]
        if not len(able):
            return None
        used = np.minimum(worth[able], float(asked @ self._worth) + spare * max(ration, 1.0))
        prices = prices[able]
        cheap, large = (int((prices - used * filled).argmin()) for filled in (_FILLED, _FILLED_AT_ANY_PRICE))
        self.settled = self.settled and cheap == large
        return int(rows[able[large if ration else cheap]])

    def _types_of(self, family: Family) -> tuple[Indices, Floats, Floats, Floats]:
        """Return the types to choose from, by row, the room and the price of each, and what it is worth."""
        known = self._types.get(family.index)
        if known is None:
            rows = family.bargains
            room, prices = family.room[rows], family.prices[rows]
            known = self._types[family.index] = rows, room, prices, np.minimum(room @ self._worth, prices)
        return known

    def _alone(self, lot: Lot, units: int) -> list[Draft]:
        """Return nodes of one unit each for which there is no company."""
        drafts: list[Draft] = []
        family = self._asked[lot.index]
        while units:
            row = cheapest_allowed(family, lot.requests, self._ledger, 0.0)
            if row is None:
                break
            copies = int(min(units, self._ledger.copies(family, row)))
            self._ledger.take(family.template, family.capacity[row] * copies)
            drafts.append(Draft(family, row, lot.requests, {lot.index: 1}, copies))
            self._take(lot, copies)
            units -= copies
        return drafts

    def _fill(self, nodes: Sequence[_Node], free: Floats) -> None:
        """Put on `nodes`, which have so much `free` (N, R), whatever fits, the most valuable first."""
        for shape in sorted(range(len(self._queues)), key=lambda shape: -self._values[shape]):
            queue, asked = self._queues[shape], self._shapes[shape]
            if not queue:
                continue
            fits = np.minimum(count_fitting(free, asked), self._units[shape])
            able = fits.nonzero()[0]
            # What it fills best comes first.
            rest = (free[able] - fits[able, np.newaxis] * asked) @ self._worth
            able = able[rest.argsort(kind="stable")]
            for at, most in zip(able.tolist(), fits[able].tolist(), strict=True):
                placed = self._fill_slot(nodes[at], queue, int(most))
                if placed:
                    free[at] -= placed * asked
                if not queue:
                    break

    def _fill_slot(self, node: _Node, queue: Sequence[Lot], units: int) -> int:
        """Put up to `units` of one shape on a node; return how many found a place."""
        wanted, tried = units, 0
        for lot in tuple(queue):
            if node.met.get(self._asked[lot.index].index, node.family) is None:
                continue
            units -= self._join(node, lot, units)
            tried += 1
            if not units or tried == _TRIED:
                break
        return wanted - units

    def _join(self, node: _Node, lot: Lot, units: int) -> int:
        """Put up to `units` of a lot on a node, where there is room for them; return how many may join."""
        both = self._met(node, self._asked[lot.index])
        if both is None:
            return 0
        units, joined = min(units, self._left[lot.index]), 0
        if self._rules.free(lot):
            joined = units
            self._put(node, lot, units)
        else:
            while joined < units and self._rules.admits(node.company, lot):
                self._put(node, lot, 1)
                joined += 1
        if joined and both is not node.family:
            node.family, node.met = both, {}
        return joined

    def _met(self, node: _Node, family: Family) -> Family | None:
        """Return what a node becomes as one of `family`, too; None where its type would not do."""
        if family is node.family:
            return family
        if family.index not in node.met:
            both = self._families.meet(node.family, family)
            if both is not None and both is not node.family:
                both = both if both.choice is None and node.type in both.types else None
            node.met[family.index] = both
        return node.met[family.index]

    def _drafts(self, nodes: Sequence[_Node], free: Floats) -> list[Draft]:
        """Return the nodes, alike ones as copies, each of the cheapest type for what it holds."""
        rooms: Floats = np.array([node.family.template.room[node.type] for node in nodes])
        loads = rooms - free
        drafts: dict[tuple[object, ...], Draft] = {}
        for node, load, row in zip(nodes, loads, self._cheapest(nodes, loads), strict=True):
            key = (node.family.index, row, *node.parts.items())
            known = drafts.get(key)
            copies = 1 if known is None else known.copies + 1
            drafts[key] = Draft(node.family, row, load, node.parts, copies)
        return list(drafts.values())

    def _cheapest(self, nodes: Sequence[_Node], loads: Floats) -> list[int]:
        """Return the cheapest type, by row, for each node and its load (N, R): its own type holds it, too."""
        rows = [0] * len(nodes)
        by_family: dict[int, list[int]] = {}
        for at, node in enumerate(nodes):
            template = node.family.template
            if not template.limited:
                by_family.setdefault(node.family.index, []).append(at)
                continue
            row = cheapest_allowed(node.family, loads[at], self._ledger, node.capacity)
            assert row is not None  # noqa: S101 (its own type is allowed)
            self._ledger.take(template, node.family.capacity[row] - node.capacity)
            rows[at] = row
        for members in by_family.values():
            found = first_holding(nodes[members[0]].family.room, loads[members])
            for at, row in zip(members, found.tolist(), strict=True):
                rows[at] = row
        return rows

    def _put(self, node: _Node, lot: Lot, units: int) -> None:
        node.parts[lot.index] = node.parts.get(lot.index, 0) + units
        self._rules.join(node.company, lot, units)
        self._take(lot, units)

    def _take(self, lot: Lot, units: int) -> None:
        self._left[lot.index] -= units
        shape = self._shape_of[lot.index]
        self._units[shape] -= units
        if not self._left[lot.index]:
            self._queues[shape].remove(lot)


def _hardest_first(lot: Lot) -> tuple[bool, int, int]:
    return (not lot.rules.owned, lot.chain[0].family.choices, lot.index)


def _apart_from_first(waiting: Sequence[Lot]) -> tuple[list[Lot], list[Lot]]:
    """Return the first lot and those that keep apart from it and from each other, and all the rest."""
    first, *rest = waiting
    counted = {group for group, _ in first.rules.counted}
    common = next((group for group in first.rules.owned if group in counted), None)
    if common is None:
        return [first], rest
    alike = [common in lot.rules.owned and any(g == common for g, _ in lot.rules.counted) for lot in rest]
    group = [first, *(lot for lot, same in zip(rest, alike, strict=True) if same)]
    return group, [lot for lot, same in zip(rest, alike, strict=True) if not same]


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
