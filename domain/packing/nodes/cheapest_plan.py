"""Cheapest: the search for nodes that cost less in all than first-fit's, at no higher sum of prices."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from treenail.domain.packing.nodes.component_plan import (
    ROUNDING,
    ComponentPlanner,
    Pricing,
    costs_less,
    holds_more_or_costs_less,
)
from treenail.domain.packing.nodes.components import Component
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.nodes.resizing import Resizing
from treenail.domain.packing.planned.planned_nodes import (
    Bound,
    PlannedNode,
    cost_of,
    nodes_in,
    placed_in,
    price_of,
    units_in,
)

# Closer to the bound than this, nothing is left worth looking for.
_CLOSE_ENOUGH: Final = 1.0005
# Farther from it, other sizes are looked for nodes of a plan.
_FAR: Final = 1.01
# A node more must be worth this share of the whole cost: of equally cheap plans, the one with fewer nodes.
_PER_NODE: Final = 1e-4
# Where nodes have an overhead cost, a plan has at most so many nodes for each of first-fit's, and so many
# more, or one for so many pods: first-fit's one node may be the largest there is. It may have more if it then
# costs less than this share of what fewer nodes cost.
_TIMES: Final = 3.0
_MORE: Final = 3.0
_PODS_A_NODE: Final = 20
_MANY_BELOW: Final = 2 / 3
# How many times a node's surcharge counts when sizes are chosen: once at first, more where a plan had too
# many nodes, and not at all (0) where its prices came to more than first-fit's.
_AT_FIRST: Final = 1.0
_DEARER: Final = (2.0, 4.0, 8.0, 16.0, 64.0)


def fresh(component: Component, wanted: Sequence[int], context: PlanningContext) -> list[PlannedNode]:
    """Return nodes for the units `wanted`, with no plan to compare them with; the limits count them."""
    planner = ComponentPlanner(component, wanted, context)
    pricing = Pricing(1.0, _PER_NODE * planner.least())
    found = planner.plan(pricing, inf, small=True)
    if planner.smaller and not context.steps.exhausted:
        large = planner.plan(pricing, inf, small=False)
        if not context.steps.exhausted and holds_more_or_costs_less(large, found):
            found = large
    planner.count(found, 1)
    return found


class CheapestNodes:
    """Plans the nodes of one component anew, and keeps what costs less in all than `first`.

    `wanted` is how many units there are by pod group, `bound` that of the units of `first`. `share` is the
    component's share of all nodes of first-fit: by it the nodes are shared out that a plan may have beyond a
    multiple of first-fit's.
    """

    def __init__(
        self,
        component: Component,
        wanted: Sequence[int],
        context: PlanningContext,
        first: list[PlannedNode],
        bound: Bound,
        *,
        share: float,
    ) -> None:
        self._component = component
        self._wanted = wanted
        self._context = context
        self._first = first
        self._bound = bound
        self._share = share
        self._planner = ComponentPlanner(component, wanted, context)

    def run(self) -> list[PlannedNode]:
        """Return nodes that are no worse than `first`.

        The remaining limits count `first` when this is called, and what is returned afterwards.
        """
        first, least = self._first, self._bound.cost
        if nodes_in(first) == 1:
            # A plan of one node can only be beaten by another single node: two cost at least two surcharges.
            least = max(least, self._bound.price + 2 * first[0].option.template.surcharge)
        complete = units_in(first) == sum(self._wanted)
        # Nothing left to gain. Many components are this small: one node, or one kind of pod.
        if complete and cost_of(first) <= least * _CLOSE_ENOUGH:
            return first
        # The limits are given back before the search: its plans replace the first, and do not come on top of
        # it.
        self._planner.count(first, -1)
        best = self._resized(self._best())
        self._planner.count(best, 1)
        return best

    def _best(self) -> list[PlannedNode]:
        """Return the best plan found: of few enough nodes, unless more cost much less."""
        # One pricing is enough where its plan has few enough nodes, and no higher sum of prices than
        # first-fit's. Otherwise more pricings are tried.
        found, best = self._attempts(_AT_FIRST, self._first)
        if not self._few_enough(found):
            # Surcharges grow until there are few enough nodes: a coarse search, for each try is a whole plan.
            for times in _DEARER:
                fewer, best = self._attempts(times, best)
                if self._few_enough(fewer):
                    break
            # Many small nodes are kept only where they save a third.
            much = cost_of(found) < _MANY_BELOW * cost_of(best)
            return found if much and self._better(found, best, few=False) else best
        # Counting surcharges made larger, dearer types worth it. Without them, prices alone are minimised.
        if not self._affordable(found):
            _, best = self._attempts(0.0, best)
        return best

    def _attempts(self, times: float, best: list[PlannedNode]) -> tuple[list[PlannedNode], list[PlannedNode]]:
        """Plan with surcharges so many `times`; return that plan, and the better of it and `best`."""
        if self._context.steps.exhausted:
            return self._first, best
        # A little for every node, even without overhead cost: of plans that cost the same, the one with fewer
        # nodes.
        pricing = Pricing(times, _PER_NODE * self._bound.cost)
        found, best = self._attempt(pricing, best, small=True)
        short = units_in(found) < units_in(self._first)
        if self._planner.smaller and (short or cost_of(found) > self._bound.cost * _FAR):
            # Several small nodes were chosen somewhere, and the plan is still dear or leaves pods out. Large
            # nodes have room for other pods, and use up less of a limit on nodes.
            other, best = self._attempt(pricing, best, small=False)
            found = min(found, other, key=cost_of)
        return found, best

    def _attempt(
        self, pricing: Pricing, best: list[PlannedNode], *, small: bool
    ) -> tuple[list[PlannedNode], list[PlannedNode]]:
        """Plan anew; return that plan, and the better of it and `best`."""
        most_price = price_of(self._first)
        found = self._planner.plan(pricing, most_price, small=small)
        # Once more, with nodes for those left out first. A plan that holds fewer is no plan.
        if self._leaves_out(found, best):
            found = self._planner.plan(pricing, most_price, small=small)
        better = not self._context.steps.exhausted and self._better(found, best)
        return found, found if better else best

    def _leaves_out(self, found: list[PlannedNode], best: list[PlannedNode]) -> bool:
        """Return whether `found` leaves units out that `best` holds; from then on their groups come first."""
        limited = any(planned_node.option.template.limited for planned_node in best)
        if self._context.steps.exhausted or not limited:
            return False
        held = placed_in(found)
        short = {index for index, units in placed_in(best).items() if held.get(index, 0) < units}
        return self._planner.plan_first(short)

    def _resized(self, best: list[PlannedNode]) -> list[PlannedNode]:
        """Look for other sizes for some nodes, where nothing keeps pods apart and no limit matters.

        Resizing moves pods between nodes freely, so it is right only for one node option without rules.
        """
        context, bound = self._context, self._bound.cost
        if cost_of(best) <= bound * _FAR or not context.rules.none or context.steps.exhausted:
            return best
        options = {planned_node.option.index: planned_node.option for planned_node in best}
        option = next(iter(options.values()))
        if len(options) > 1 or option.template.limited or option.min_values is not None:
            return best
        resized = Resizing(option, self._component.pod_groups, context.steps).run(best, bound)
        # Resizing minimises the whole cost alone: the two promises about numbers and prices are checked
        # afterwards.
        few = nodes_in(resized) <= nodes_in(best) or self._few_enough(resized)
        return resized if few and self._affordable(resized) else best

    def _affordable(self, found: list[PlannedNode]) -> bool:
        """Return whether the prices together are no higher than first-fit's, or more units are held."""
        if price_of(found) <= price_of(self._first) + ROUNDING:
            return True
        return units_in(found) > units_in(self._first)

    def _few_enough(self, found: list[PlannedNode]) -> bool:
        most = max(_TIMES * nodes_in(self._first) + _MORE * self._share, sum(self._wanted) / _PODS_A_NODE)
        return nodes_in(found) <= most + ROUNDING or not any(d.option.template.overhead_cost for d in found)

    def _better(self, found: list[PlannedNode], best: list[PlannedNode], *, few: bool = True) -> bool:
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
        if not self._affordable(found) or (few and not self._few_enough(found)):
            return False
        return costs_less(found, best)
