"""One plan for a component: nodes for its units under one pricing, option by option."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.nodes.backfill import backfill
from treenail.domain.packing.nodes.components import Component
from treenail.domain.packing.nodes.merging import Merging
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.nodes.separated import SeparatedPods, separated_groups
from treenail.domain.packing.nodes.type_choice import Sizing
from treenail.domain.packing.nodes.waiting import WaitingUnits, asked_by, by_option, dual_prices_for, further
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.planned.planned_nodes import (
    PlannedNode,
    cost_of,
    nodes_in,
    placed_in,
    units_in,
)

# Sums are rounded: what costs no more than this more costs the same.
ROUNDING: Final = 1e-9
# Rations: a node of separated pods has room for what is cheapest (0), or for its whole share of the other
# pods (1). Which of the two costs less is only known once all nodes are planned.
_RATIONS: Final = (0.0, 1.0)
# With more units than this, only the first is tried.
_FEW_UNITS: Final = 300


@dataclass(frozen=True, slots=True)
class Pricing:
    """The cost of a node beyond its price: its surcharge some times, and a little ($/h) more."""

    times: float
    little: float

    def per_node(self, option: NodeOption) -> float:
        """Return the surcharge of a node under this pricing, $/h."""
        return self.times * option.template.surcharge + self.little


@dataclass(frozen=True, slots=True, eq=False)
class _Start:
    """Nodes for separated pods, and the pods that still wait.

    `settled` says that no ration changes anything. `early` are nodes for pods that limits would leave without
    one; they may have room for others.
    """

    planned_nodes: list[PlannedNode]
    waiting: list[WaitingUnits]
    settled: bool = True
    early: Sequence[PlannedNode] = ()


class ComponentPlanner:
    """Plans nodes for the units `wanted` (by pod group) of a component, as often as it is asked to.

    Between two plans the remaining limits count none of them. `smaller` says whether several small nodes took
    the place of a large one anywhere.
    """

    def __init__(self, component: Component, wanted: Sequence[int], context: PlanningContext) -> None:
        self.smaller = False
        self._component = component
        self._wanted = wanted
        self._context = context
        # Nodes for separated pods do not depend on the pricing: they are made once for each ration. Plans
        # that came out alike under two pricings are merged once.
        self._starts: dict[float, _Start] = {}
        self._merged: dict[tuple[object, ...], list[PlannedNode]] = {}
        # The pod groups, by index, for which others left too little of a limit: they come first next time.
        self._left_out: set[int] = set()
        self._dual_prices: Floats | None = None

    def least(self) -> float:
        """Return what fractions of nodes for all units would cost ($/h)."""
        waiting = self._waiting()
        return float(asked_by(waiting) @ dual_prices_for(waiting)) if waiting else 0.0

    def plan(self, pricing: Pricing, most_price: float, *, small: bool) -> list[PlannedNode]:
        """Return the cheapest of the plans that rations give, at prices of at most `most_price` if merged.

        `small` allows several small nodes in place of a large one.
        """
        groups = zip(self._component.pod_groups, self._wanted, strict=True)
        apart = sum(units for pod_group, units in groups if pod_group.rules.owned)
        # Where nobody else is there to share with, there is nothing to ration. With many units only the first
        # ration is tried, to bound the time.
        several = 0 < apart < sum(self._wanted) <= _FEW_UNITS
        best: list[PlannedNode] | None = None
        tried: list[_Start] = []
        for ration in _RATIONS if several else _RATIONS[:1]:
            start = self._begun(ration)
            # Two rations that give equal nodes are one start (see `_begun`).
            if start in tried:
                continue
            tried.append(start)
            found = self._planned(start, pricing, most_price, small=small)
            if best is None or (not self._context.steps.exhausted and holds_more_or_costs_less(found, best)):
                best = found
            if start.settled:
                break
        return best or []

    def plan_first(self, groups: set[int]) -> bool:
        """From now on, plan nodes for these pod groups (by index) first; return whether that is new."""
        # These came first already: trying again would end the same way.
        if groups <= self._left_out:
            return False
        # Starts are made anew, with these first. They only ever grow in number, so this ends.
        self._left_out |= groups
        self._starts.clear()
        return True

    def count(self, planned_nodes: Iterable[PlannedNode], sign: int) -> None:
        """Count nodes against limits, or give them back where `sign` is negative."""
        for planned_node in planned_nodes:
            self._context.remaining_limits.take_nodes(
                planned_node.option, planned_node.row, sign * planned_node.copies
            )

    def _waiting(self) -> list[WaitingUnits]:
        of = zip(self._component.pod_groups, self._wanted, strict=True)
        return [
            WaitingUnits(pod_group, units, pod_group.options_in_order) for pod_group, units in of if units
        ]

    def _planned(
        self, start: _Start, pricing: Pricing, most_price: float, *, small: bool
    ) -> list[PlannedNode]:
        """Plan nodes for the units that wait after a start, option by option, the least flexible first.

        Pods that could be on many nodes come last: they fill what the others leave.
        """
        full, waiting, planned_nodes = start.planned_nodes, start.waiting, list(start.early)
        self.count([*full, *planned_nodes], 1)
        while waiting and not self._context.steps.exhausted:
            going: list[WaitingUnits] = []
            # First what is free on nodes that this plan opened already, then new nodes.
            for option, group in by_option(waiting):
                left = np.array([each.units for each in group], dtype=np.float64)
                pod_groups = [each.pod_group for each in group]
                planned_nodes = backfill(planned_nodes, option, pod_groups, left, self._context)
                if np.logical_or.reduce(left):
                    planned_nodes += self._sized(option, group, left, pricing, small=small)
                going += further(group, left)
            waiting = going
            # The nodes of separated pods were filled already with what fits as their own option. Groups that
            # turn to another option now may find room on them.
            planned_nodes, full = [*full, *planned_nodes], []
        planned_nodes = [*full, *planned_nodes]
        key = _written(planned_nodes)
        # Two pricings may give the same nodes: these are merged once.
        if key in self._merged:
            self.count(planned_nodes, -1)
        else:
            self._merged[key] = Merging(planned_nodes, self._context).run(most_price)
            self.count(self._merged[key], -1)
        return self._merged[key]

    def _sized(
        self,
        option: NodeOption,
        group: Sequence[WaitingUnits],
        left: Floats,
        pricing: Pricing,
        *,
        small: bool,
    ) -> list[PlannedNode]:
        """Return nodes for what is `left` (I) of `group` and need not be kept apart, and take it off."""
        # Their nodes were opened in the start. What is left of them, limits had no node for.
        # Groups that keep apart wait for their next option: sizing knows nothing of rules.
        free = [i for i, each in enumerate(group) if not each.pod_group.rules.owned]
        some = left[free]
        if not np.logical_or.reduce(some):
            return []
        pod_groups = [group[i].pod_group for i in free]
        sizing = Sizing(option, pod_groups, self._context, per_node=pricing.per_node(option), small=small)
        planned_nodes = sizing.planned_nodes(some)
        self.smaller |= sizing.smaller
        left[free] = some
        return planned_nodes

    def _begun(self, ration: float) -> _Start:
        """Return the start that a ration gives; where two rations give equal nodes, it is one object."""
        # Two rations often choose the same types: then the plan is not made twice.
        known = self._starts.get(ration)
        if known is None:
            known = self._start(ration)
            written = _written(known.planned_nodes)
            alike = (other for other in self._starts.values() if _written(other.planned_nodes) == written)
            known = self._starts[ration] = next(alike, known)
        return known

    def _start(self, ration: float) -> _Start:
        """Open nodes for pods that terms per node keep apart. The remaining limits do not count them yet."""
        waiting = self._waiting()
        early = self._early([each for each in waiting if each.pod_group.index in self._left_out])
        if early:
            held = placed_in(early)
            rest = {each.pod_group.index: each.units - held.get(each.pod_group.index, 0) for each in waiting}
            waiting = _with_units(waiting, rest)
        pod_groups = [each.pod_group for each in waiting]
        left = {each.pod_group.index: each.units for each in waiting}
        apart = separated_groups(pod_groups, left)
        if not apart:
            self.count(early, -1)
            return _Start([], waiting, early=early)
        # One measure of worth for all starts, so that they can be compared.
        if self._dual_prices is None:
            self._dual_prices = dual_prices_for(waiting)
        separated = SeparatedPods(pod_groups, left, self._context, self._dual_prices)
        planned_nodes = separated.planned_nodes(apart, ration)
        self.count([*early, *planned_nodes], -1)
        return _Start(planned_nodes, _with_units(waiting, left), separated.settled, early)

    def _early(self, waiting: list[WaitingUnits]) -> list[PlannedNode]:
        """Return nodes for those pods that nothing keeps apart; the remaining limits count them."""
        planned_nodes: list[PlannedNode] = []
        while waiting:
            going: list[WaitingUnits] = []
            for option, group in by_option(waiting):
                left = np.array([each.units for each in group], dtype=np.float64)
                planned_nodes += self._sized(option, group, left, Pricing(1.0, 0.0), small=True)
                going += further(group, left)
            waiting = going
        return planned_nodes


def _with_units(waiting: Iterable[WaitingUnits], units: dict[int, int]) -> list[WaitingUnits]:
    """Return what waits with so many `units` (by pod group), without those of which none are left."""
    return [
        WaitingUnits(each.pod_group, units[each.pod_group.index], each.options_in_order)
        for each in waiting
        if units[each.pod_group.index]
    ]


def _written(planned_nodes: Iterable[PlannedNode]) -> tuple[object, ...]:
    """Return a key that is equal for equal nodes with equal pods."""
    return tuple([(d.option.index, d.row, d.copies, *d.parts.items()) for d in planned_nodes])


def holds_more_or_costs_less(found: list[PlannedNode], best: list[PlannedNode]) -> bool:
    """Return whether `found` holds more units than `best`, or as many for less."""
    ours, theirs = units_in(found), units_in(best)
    return ours > theirs or (ours == theirs and costs_less(found, best))


def costs_less(found: list[PlannedNode], best: list[PlannedNode]) -> bool:
    """Return whether `found` costs less than `best`, or the same on fewer nodes."""
    less = cost_of(best) - cost_of(found)
    # Sums of floats differ in their last bits by the order of nodes: within rounding, the number of nodes
    # decides.
    return less > ROUNDING or (less >= -ROUNDING and nodes_in(found) < nodes_in(best))
