"""Merging: makes two nodes one where that saves money."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, holds
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.planned.planned_nodes import PlannedNode, added, price_of

# Only the cheapest kinds of node are tried with each other: it is small nodes that are left over.
_MOST_KINDS: Final = 64
# Sums of prices are rounded: what costs no more than this more costs the same.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class _Union:
    """Two kinds of node, by number, merged into one of type `row` of `option`.

    `extra` is the rise in cost, and `dearer` the rise in price ($/h, negative if it saves).
    """

    extra: float
    dearer: float
    one: int
    other: int
    option: NodeOption
    row: int

    @property
    def rank(self) -> tuple[float, int, int]:
        return (self.extra, self.one, self.other)


class Merging:
    """Merges the nodes of a plan, two at a time, the pair that saves most first."""

    def __init__(self, planned_nodes: list[PlannedNode], context: PlanningContext) -> None:
        self._options, self._rules, self._remaining_limits, self._steps = context
        self._kinds: dict[int, PlannedNode] = dict(enumerate(planned_nodes))
        self._costs = {at: planned_node.cost for at, planned_node in self._kinds.items()}
        self._tried = sorted(self._kinds, key=lambda at: (self._costs[at], at))[:_MOST_KINDS]
        self._loads: dict[int, list[float]] = {at: self._kinds[at].load.tolist() for at in self._tried}
        self._colocated = {at: self._rules.colocated(self._kinds[at].parts) for at in self._tried}
        self._conflicts = {at: self._rules.conflicts(self._kinds[at].parts) for at in self._tried}
        self._unions: list[_Union] = []
        for number, at in enumerate(self._tried):
            self._weigh(at, self._tried[number:])

    def run(self, most_price: float) -> list[PlannedNode]:
        """Merge, what saves most first, while all prices together do not rise above `most_price` ($/h)."""
        price = price_of(self._kinds.values())
        while self._unions and not self._steps.exhausted:
            best = min(self._unions, key=lambda union: union.rank)
            # Checked only now: limits and copies may have changed since the pair was weighed.
            copies = self._possible(best)
            # A merge may cost less in all and yet add to the prices. These may only rise to first-fit's.
            if best.dearer > _ROUNDING:
                copies = min(copies, max(int((most_price - price) / best.dearer), 0))
            if copies:
                self._merge(best, copies)
            else:
                self._unions.remove(best)
            price += copies * best.dearer
        return list(self._kinds.values())

    def _weigh(self, one: int, others: Iterable[int]) -> None:
        """Find out what each of `others` would be together with kind `one`."""
        # Rules, and a quick look at what money can buy, come before arrays: they rule out pairs for less.
        self._steps.spend()
        by_option: dict[int, list[int]] = {}
        for other in others:
            if other != one or self._kinds[one].copies > 1:
                by_option.setdefault(self._kinds[other].option.index, []).append(other)
        for alike in by_option.values():
            option = self._options.meet(self._kinds[one].option, self._kinds[alike[0]].option)
            if option is None:
                continue
            tried = [
                other
                for other in alike
                if not self._conflicts[other].bar(self._colocated[one]) and self._may_save(option, one, other)
            ]
            if tried:
                self._weigh_in(option, one, tried)

    def _may_save(self, option: NodeOption, one: int, other: int) -> bool:
        """Return whether some type of `option` that is not dearer than the two might hold both. Quick."""
        # Plain floats, resource by resource: of hundreds of pairs most end here, and arrays of five numbers
        # would take longer to make.
        within = option.most_within(self._costs[one] + self._costs[other] + _ROUNDING)
        if within is None:
            return False
        loads = zip(self._loads[one], self._loads[other], within, strict=True)
        return all(first + second <= most for first, second, most in loads)

    def _weigh_in(self, option: NodeOption, one: int, others: list[int]) -> None:
        loads = np.array([self._kinds[other].load for other in others]) + self._kinds[one].load
        rows = option.weighed_with(len(others))
        able = holds(option.room[rows], loads[:, np.newaxis, :])
        some: Bools = np.logical_or.reduce(able, axis=1)
        for at in some.nonzero()[0].tolist():
            row, other = int(able[at].argmax()), others[at]
            if not isinstance(rows, slice):
                row = int(rows[row])
            extra = float(option.costs[row]) - self._costs[one] - self._costs[other]
            # A merge that costs the same is kept: fewer nodes are better at the same cost.
            if extra > _ROUNDING:
                continue
            # The masks checked before only know groups that are closed to one more unit. Here all units are
            # counted.
            if not self._rules.may_join(self._colocated[one], self._kinds[other].parts):
                continue
            dearer = float(option.prices[row]) - self._kinds[one].price - self._kinds[other].price
            self._unions.append(_Union(extra, dearer, one, other, option, row))

    def _possible(self, union: _Union) -> int:
        """Return how often the union can be made now."""
        one, other = self._kinds[union.one], self._kinds[union.other]
        copies = one.copies // 2 if union.one == union.other else min(one.copies, other.copies)
        # What the two take of the limit is given back by merging them.
        own = one.option.capacity[one.row] + other.option.capacity[other.row]
        if not self._remaining_limits.allows(union.option, union.row, own):
            return 0
        # Under limits one at a time: the next merge may find more of them left, or less.
        return min(copies, 1) if union.option.template.limited else copies

    def _merge(self, union: _Union, copies: int) -> None:
        one, other = self._kinds[union.one], self._kinds[union.other]
        parts = added(one.parts, other.parts)
        made = PlannedNode(union.option, union.row, one.load + other.load, parts, copies)
        self._remaining_limits.take_nodes(made.option, made.row, copies)
        # A merged node is a new kind, and may be merged again.
        number = max(self._kinds) + 1
        for at in (union.one, union.other):
            planned_node = self._kinds[at]
            self._remaining_limits.take_nodes(planned_node.option, planned_node.row, -copies)
            self._kinds[at] = replace(planned_node, copies=planned_node.copies - copies)
        self._kinds = {at: planned_node for at, planned_node in self._kinds.items() if planned_node.copies}
        self._kinds[number], self._loads[number] = made, made.load.tolist()
        self._costs[number] = made.cost
        self._colocated[number] = self._rules.colocated(parts)
        self._conflicts[number] = self._rules.conflicts(parts)
        self._tried = [at for at in self._tried if at in self._kinds] + [number]
        # Kinds of which no copy is left take their pairs with them.
        self._unions = [u for u in self._unions if u.one in self._kinds and u.other in self._kinds]
        self._weigh(number, self._tried)
