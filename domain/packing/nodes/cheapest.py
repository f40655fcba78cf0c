"""Cheapest: the search for nodes that cost less in all than first-fit's, at no higher sum of prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.arrays.steps import Steps
from treenail.domain.packing.nodes.backfill import backfill
from treenail.domain.packing.nodes.components import Component
from treenail.domain.packing.nodes.merging import Merging
from treenail.domain.packing.nodes.resizing import Resizing
from treenail.domain.packing.nodes.separated import SeparatedPods, Stock, separated_groups
from treenail.domain.packing.nodes.sizing import Sizing
from treenail.domain.packing.nodes.waiting import WaitingUnits, asked_by, by_option, further, worth_of
from treenail.domain.packing.offers.limits import RemainingLimits
from treenail.domain.packing.offers.node_options import NodeOption, NodeOptions
from treenail.domain.packing.planned.node_rules import NodeRules
from treenail.domain.packing.planned.planned_nodes import (
    Bound,
    PlannedNode,
    cost_of,
    nodes_in,
    placed_in,
    price_of,
    units_in,
)

# Sums are rounded: what costs no more than this more costs the same.
_ROUNDING: Final = 1e-9
# Closer to the bound than this, nothing is left worth looking for.
_CLOSE_ENOUGH: Final = 1.0005
# Farther from it, other sizes are looked for nodes of a plan.
_FAR: Final = 1.01
# A node more must be worth this share of the whole cost: of equally cheap plans, the one with fewer nodes.
_PER_NODE: Final = 1e-4
# Where nodes have an overhead cost, a plan has at most so many nodes for each of first-fit's, and so many
# more. It may have more if it then costs less than this share of what fewer nodes cost.
_TIMES: Final = 3.0
_MORE: Final = 3.0
_MANY_BELOW: Final = 2 / 3
# How many times a node's surcharge counts when sizes are chosen: once at first, more where a plan had too
# many nodes, and not at all (0) where its prices came to more than first-fit's.
_AT_FIRST: Final = 1.0
_DEARER: Final = (2.0, 4.0, 8.0, 16.0, 64.0)
# Rations: a node of separated pods has room for what is cheapest (0), or for its whole share of the other
# pods (1). Which of the two costs less is only known once all nodes are planned.
_RATIONS: Final = (0.0, 1.0)
# With more units than this, only the first is tried.
_FEW_UNITS: Final = 300


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


@dataclass(frozen=True, slots=True)
class _Pricing:
    """What a node is to cost beyond its price: its surcharge some times, and a little ($/h) more."""

    times: float
    little: float

    def per_node(self, option: NodeOption) -> float:
        return self.times * option.template.surcharge + self.little


class CheapestNodes:
    """Plans the nodes of one component anew, and keeps what costs less in all."""

    def __init__(
        self,
        component: Component,
        options: NodeOptions,
        remaining_limits: RemainingLimits,
        steps: Steps,
        rules: NodeRules,
        *,
        share: float,
    ) -> None:
        # The nodes that a plan may have beyond a multiple of first-fit's are shared out among components, by
        # their first-fit nodes.
        self._share = share
        self._component = component
        self._options = options
        self._remaining_limits = remaining_limits
        self._steps = steps
        self._rules = rules
        # Nodes for separated pods do not depend on the pricing: they are made once for each ration. Plans
        # that came out alike under two pricings are merged once.
        self._starts: dict[float, _Start] = {}
        # The pod groups, by index, for which others left too little of a limit: they come first next time.
        self._left_out: set[int] = set()
        # Whether several small nodes took the place of a large one anywhere.
        self._smaller = False
        self._merged: dict[tuple[object, ...], list[PlannedNode]] = {}
        self._worth: Floats | None = None

    def improve(self, wanted: Sequence[int], first: list[PlannedNode], bound: Bound) -> list[PlannedNode]:
        """Return nodes for the units `wanted` (by pod group of the component) that are no worse than `first`.

        `bound` is that of the units of `first`. The remaining limits count `first` when this is called, and
        what is returned afterwards.
        """
        least = bound.cost
        if nodes_in(first) == 1:
            # One node is the cheapest there is: others would be two at least.
            least = max(least, bound.price + 2 * first[0].option.template.surcharge)
        complete = units_in(first) == sum(wanted)
        # Nothing left to gain. Many components are this small: one node, or one kind of pod.
        if complete and cost_of(first) <= least * _CLOSE_ENOUGH:
            return first
        # The limits are given back before the search: its plans replace the first, and do not come on top of
        # it.
        self._count(first, -1)
        best = self._resized(self._best(wanted, first, bound), first, bound.cost)
        self._count(best, 1)
        return best

    def _best(self, wanted: Sequence[int], first: list[PlannedNode], bound: Bound) -> list[PlannedNode]:
        """Return the best plan found: of few enough nodes, unless more cost much less."""
        # One pricing is enough where the plan keeps two promises. The others are tried when it breaks one: it
        # has too many nodes, or a sum of prices above first-fit's.
        found, best = self._attempts(wanted, _AT_FIRST, first, first, bound)
        if not self._few_enough(found, first):
            # Surcharges grow until there are few enough nodes: a coarse search, for each try is a whole plan.
            for times in _DEARER:
                fewer, best = self._attempts(wanted, times, first, best, bound)
                if self._few_enough(fewer, first):
                    break
            # Many small nodes are kept only where they save a third.
            much = cost_of(found) < _MANY_BELOW * cost_of(best)
            return found if much and self._better(found, best, first, few=False) else best
        # Counting surcharges made larger, dearer types worth it. Without them, prices alone are minimised.
        if not self._affordable(found, first):
            _, best = self._attempts(wanted, 0.0, first, best, bound)
        return best

    def _attempts(
        self,
        wanted: Sequence[int],
        times: float,
        first: list[PlannedNode],
        best: list[PlannedNode],
        bound: Bound,
    ) -> tuple[list[PlannedNode], list[PlannedNode]]:
        """Plan with surcharges so many `times`; return that plan, and the better of it and `best`."""
        if self._steps.exhausted:
            return first, best
        # A little for every node, even without overhead cost: of plans that cost the same, the one with fewer
        # nodes.
        pricing = _Pricing(times, _PER_NODE * bound.cost)
        found, best = self._attempt(wanted, pricing, first, best, small=True)
        short = units_in(found) < units_in(first)
        if self._smaller and (short or cost_of(found) > bound.cost * _FAR):
            # Several small nodes were chosen somewhere, and the plan is still dear or leaves pods out. Large
            # nodes have room for other pods, and use up less of a limit on nodes.
            other, best = self._attempt(wanted, pricing, first, best, small=False)
            found = min(found, other, key=cost_of)
        return found, best

    def _attempt(
        self,
        wanted: Sequence[int],
        pricing: _Pricing,
        first: list[PlannedNode],
        best: list[PlannedNode],
        *,
        small: bool,
    ) -> tuple[list[PlannedNode], list[PlannedNode]]:
        """Plan anew; return that plan, and the better of it and `best`."""
        most_price = price_of(first)
        found = self._planned(wanted, pricing, most_price, small=small)
        # Once more, with nodes for those left out first. A plan that holds fewer is no plan.
        if self._leaves_out(found, best):
            found = self._planned(wanted, pricing, most_price, small=small)
        better = not self._steps.exhausted and self._better(found, best, first)
        return found, found if better else best

    def _leaves_out(self, found: list[PlannedNode], best: list[PlannedNode]) -> bool:
        """Return whether `found` leaves units out that `best` holds; from then on their groups come first."""
        if self._steps.exhausted or not any(planned_node.option.template.limited for planned_node in best):
            return False
        held = placed_in(found)
        short = {index for index, units in placed_in(best).items() if held.get(index, 0) < units}
        # These came first already: trying again would end the same way.
        if short <= self._left_out:
            return False
        # Starts are made anew, with these first. They only ever grow in number, so this ends.
        self._left_out |= short
        self._starts.clear()
        return True

    def _resized(self, best: list[PlannedNode], first: list[PlannedNode], bound: float) -> list[PlannedNode]:
        """Look for other sizes for some nodes, where nothing keeps pods apart and no limit matters.

        Resizing moves pods between nodes freely, so it is right only for one node option without rules.
        """
        if cost_of(best) <= bound * _FAR or not self._rules.none or self._steps.exhausted:
            return best
        options = {planned_node.option.index: planned_node.option for planned_node in best}
        option = next(iter(options.values()))
        if len(options) > 1 or option.template.limited or option.min_values is not None:
            return best
        resized = Resizing(option, self._component.pod_groups, self._steps).run(best, bound)
        # Resizing minimises the whole cost alone: the two promises about numbers and prices are checked
        # afterwards.
        few = nodes_in(resized) <= nodes_in(best) or self._few_enough(resized, first)
        return resized if few and self._affordable(resized, first) else best

    def fresh(self, wanted: Sequence[int]) -> list[PlannedNode]:
        """Return nodes for the units `wanted`, with no plan to compare them with; the limits count them."""
        waiting = self._waiting(wanted)
        least = float(asked_by(waiting) @ worth_of(waiting)) if waiting else 0.0
        pricing = _Pricing(1.0, _PER_NODE * least)
        found = self._planned(wanted, pricing, inf, small=True)
        if self._smaller and not self._steps.exhausted:
            large = self._planned(wanted, pricing, inf, small=False)
            if not self._steps.exhausted and _holds_more_or_costs_less(large, found):
                found = large
        self._count(found, 1)
        return found

    def _planned(
        self, wanted: Sequence[int], pricing: _Pricing, most_price: float, *, small: bool
    ) -> list[PlannedNode]:
        """Return the cheapest of the plans that rations give; the remaining limits count none of them.

        `small` allows several small nodes in place of a large one.
        """
        apart = sum(
            units
            for pod_group, units in zip(self._component.pod_groups, wanted, strict=True)
            if pod_group.rules.owned
        )
        # Where nobody else is there to share with, there is nothing to ration. With many units only the first
        # ration is tried, to bound the time.
        several = 0 < apart < sum(wanted) <= _FEW_UNITS
        best: list[PlannedNode] | None = None
        tried: list[_Start] = []
        for ration in _RATIONS if several else _RATIONS[:1]:
            start = self._begun(wanted, ration)
            # Two rations that give equal nodes are one start (see `_begun`).
            if start in tried:
                continue
            tried.append(start)
            found = self._plan(start, pricing, most_price, small=small)
            if best is None or (not self._steps.exhausted and _holds_more_or_costs_less(found, best)):
                best = found
            if start.settled:
                break
        return best or []

    def _count(self, planned_nodes: Iterable[PlannedNode], sign: int) -> None:
        for planned_node in planned_nodes:
            template = planned_node.option.template
            if template.limited:
                self._remaining_limits.take(
                    template, sign * planned_node.copies * planned_node.option.capacity[planned_node.row]
                )

    def _waiting(self, wanted: Sequence[int]) -> list[WaitingUnits]:
        of = zip(self._component.pod_groups, wanted, strict=True)
        return [
            WaitingUnits(pod_group, units, pod_group.options_in_order) for pod_group, units in of if units
        ]

    def _plan(self, start: _Start, pricing: _Pricing, most_price: float, *, small: bool) -> list[PlannedNode]:
        """Plan nodes for the units that wait after a start, option by option, the least flexible first.

        Pods that could be on many nodes come last: they fill what the others leave.
        """
        full, waiting, planned_nodes = start.planned_nodes, start.waiting, list(start.early)
        self._count([*full, *planned_nodes], 1)
        while waiting and not self._steps.exhausted:
            going: list[WaitingUnits] = []
            # First what is free on nodes that this plan opened already, then new nodes.
            for option, group in by_option(waiting):
                left = np.array([each.units for each in group], dtype=np.float64)
                pod_groups = [each.pod_group for each in group]
                planned_nodes = backfill(planned_nodes, option, pod_groups, left, self._options, self._rules)
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
            self._count(planned_nodes, -1)
        else:
            self._merged[key] = self._fewer(planned_nodes, most_price)
            self._count(self._merged[key], -1)
        return self._merged[key]

    def _fewer(self, planned_nodes: list[PlannedNode], most_price: float) -> list[PlannedNode]:
        """Merge nodes where that saves money."""
        return Merging(planned_nodes, self._options, self._remaining_limits, self._steps, self._rules).run(
            most_price
        )

    def _sized(
        self,
        option: NodeOption,
        group: Sequence[WaitingUnits],
        left: Floats,
        pricing: _Pricing,
        *,
        small: bool,
    ) -> list[PlannedNode]:
        """Return nodes for what is `left` (I) of `group` and need not be kept apart, and take it off."""
        # Groups that keep apart wait for their next option: sizing knows nothing of rules.
        free = [i for i, each in enumerate(group) if not each.pod_group.rules.owned]
        some = left[free]
        if not np.logical_or.reduce(some):
            return []
        pod_groups = [group[i].pod_group for i in free]
        per_node = pricing.per_node(option)
        sizing = Sizing(
            option, pod_groups, self._remaining_limits, self._steps, per_node=per_node, small=small
        )
        planned_nodes = sizing.planned_nodes(some)
        self._smaller |= sizing.smaller
        left[free] = some
        return planned_nodes

    def _begun(self, wanted: Sequence[int], ration: float) -> _Start:
        """Return the start that a ration gives; where two rations give equal nodes, it is one object."""
        known = self._starts.get(ration)
        if known is None:
            known = self._start(wanted, ration)
            written = _written(known.planned_nodes)
            alike = (other for other in self._starts.values() if _written(other.planned_nodes) == written)
            known = self._starts[ration] = next(alike, known)
        return known

    def _start(self, wanted: Sequence[int], ration: float) -> _Start:
        """Open nodes for pods that terms per node keep apart. The remaining limits do not count them yet."""
        waiting = self._waiting(wanted)
        early = self._early([each for each in waiting if each.pod_group.index in self._left_out])
        if early:
            held = placed_in(early)
            rest = [(each, each.units - held.get(each.pod_group.index, 0)) for each in waiting]
            waiting = [
                WaitingUnits(each.pod_group, units, each.options_in_order) for each, units in rest if units
            ]
        left = {each.pod_group.index: each.units for each in waiting}
        seeds = separated_groups([each.pod_group for each in waiting], left)
        if not seeds:
            self._count(early, -1)
            return _Start([], waiting, early=early)
        pod_groups = [each.pod_group for each in waiting]
        # One measure of worth for all starts, so that they can be compared.
        worth = self._worth = worth_of(waiting) if self._worth is None else self._worth
        separated = SeparatedPods(
            Stock(pod_groups, left), self._options, self._rules, self._remaining_limits, self._steps, worth
        )
        planned_nodes = separated.planned_nodes(seeds, ration)
        self._count([*early, *planned_nodes], -1)
        still = [
            WaitingUnits(each.pod_group, left[each.pod_group.index], each.options_in_order)
            for each in waiting
            if left[each.pod_group.index]
        ]
        return _Start(planned_nodes, still, separated.settled, early)

    def _early(self, waiting: list[WaitingUnits]) -> list[PlannedNode]:
        """Return nodes for those pods that nothing keeps apart; the remaining limits count them."""
        planned_nodes: list[PlannedNode] = []
        while waiting:
            going: list[WaitingUnits] = []
            for option, group in by_option(waiting):
                left = np.array([each.units for each in group], dtype=np.float64)
                planned_nodes += self._sized(option, group, left, _Pricing(1.0, 0.0), small=True)
                going += further(group, left)
            waiting = going
        return planned_nodes

    def _affordable(self, found: list[PlannedNode], first: list[PlannedNode]) -> bool:
        """Return whether the prices together are no higher than first-fit's, or more units are held."""
        if price_of(found) <= price_of(first) + _ROUNDING:
            return True
        return units_in(found) > units_in(first)

    def _few_enough(self, found: list[PlannedNode], first: list[PlannedNode]) -> bool:
        most = _TIMES * nodes_in(first) + _MORE * self._share
        return nodes_in(found) <= most + _ROUNDING or not any(d.option.template.overhead_cost for d in found)

    def _better(
        self, found: list[PlannedNode], best: list[PlannedNode], first: list[PlannedNode], *, few: bool = True
    ) -> bool:
        """Return whether `found` holds more units than `best`, or as many for less.

        It holds at least what `best` holds of each pod group: no pod loses its place to another. With `few`,
        it also has few enough nodes.
        """
        ours, theirs = placed_in(found), placed_in(best)
        # Group by group, not in sum: more pods of one kind are no excuse for fewer of another.
        if any(ours.get(index, 0) < units for index, units in theirs.items()):
            return False
        if sum(ours.values()) > sum(theirs.values()):
            return True
        if not self._affordable(found, first) or (few and not self._few_enough(found, first)):
            return False
        return _costs_less(found, best)


def _written(planned_nodes: Iterable[PlannedNode]) -> tuple[object, ...]:
    """Return a key that is equal for equal nodes with equal pods."""
    return tuple([(d.option.index, d.row, d.copies, *d.parts.items()) for d in planned_nodes])


def _holds_more_or_costs_less(found: list[PlannedNode], best: list[PlannedNode]) -> bool:
    ours, theirs = units_in(found), units_in(best)
    return ours > theirs or (ours == theirs and _costs_less(found, best))


def _costs_less(found: list[PlannedNode], best: list[PlannedNode]) -> bool:
    """Return whether `found` costs less than `best`, or the same on fewer nodes."""
    less = cost_of(best) - cost_of(found)
    # Sums of floats differ in their last bits by the order of nodes: within rounding, the number of nodes
    # decides.
    return less > _ROUNDING or (less >= -_ROUNDING and nodes_in(found) < nodes_in(best))
