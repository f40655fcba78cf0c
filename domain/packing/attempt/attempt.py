"""One attempt at a plan, from nothing placed to every pod's place or the reasons it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.attempt.comparison import places_others, places_the_same
from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.nodes.node_planner import NodePlanner
from treenail.domain.packing.offers.option_order import OrderedOption
from treenail.domain.packing.one_by_one.one_by_one import OneByOne
from treenail.domain.packing.placement.existing_placement import ExistingPlacement
from treenail.domain.packing.placement.placer import Placer
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.planned.outcome import Outcome, plan_of
from treenail.domain.packing.planned.planned_nodes import PlannedNode, cost_of, placed_in
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.classes import PodClass, largest_first
from treenail.domain.packing.refusals.refusals import Refusals

# So often all are seated at most: each time, fewer choices are left for those that got no node.
_SETTLINGS: Final = 1000
# So often pods that got no node are tried in what the others leave of theirs.
_SQUEEZES: Final = 100


class Attempt:
    """Places the pods of a problem; only the last one begun on a ground counts on."""

    def __init__(self, context: PackingContext) -> None:
        context.clear()
        self._context = context
        self._parsed = context.parsed
        self._steps = context.steps
        self._nodes = NodePlanner(context.options, context.parsed, context.problem.settings, context.steps)
        self._existing_nodes = context.existing_nodes
        self.outcome = Outcome(context.parsed, self._existing_nodes.names)
        self._placements = ExistingPlacement(self._existing_nodes, context.universe, self.outcome)
        # The classes, by number, that nothing holds, whoever else is placed.
        self._hopeless: set[int] = set()
        # For what nodes were looked for, and what they cost ($/h).
        self._wanted: Mapping[object, int] = {}
        self._cost = 0.0
        self._placer = Placer(
            self._placements,
            context.option_order,
            context.choices,
            context.constraint_reader,
            context.universe,
            self.outcome,
        )

    def plan(self) -> PackingPlan:
        """Seat class after class, and plan nodes for all who have none."""
        in_order = self._in_order()
        self._settle(in_order)
        return self._written(in_order)

    def plan_one_by_one(self, before: Attempt, worth: float) -> PackingPlan | None:
        """Place pod after pod, as Karpenter does, and look for cheaper nodes for the same pods.

        None where that leaves more, or comes to what there was `before`: the same pods have a place, and
        nodes, which are no cheaper as they are, would be looked for that were looked for then. Or where those
        found for the same pods do not cost less than `worth` ($/h).
        """
        turns = OneByOne(self._context, self._placements, self.outcome)
        hopeful = [one for one in self._parsed.classes if one.index not in before._hopeless]
        turns.place(hopeful, self._parsed.set_aside)
        others = places_others(self.outcome, before.outcome)
        if not others and not places_the_same(self.outcome, before.outcome):
            return None
        pod_groups, planned_nodes = turns.planned()
        if not others and cost_of(planned_nodes) >= before._cost and _wanted(pod_groups) == before._wanted:
            return None
        planned_nodes = self._nodes.planned_from(pod_groups, planned_nodes, turns.remaining_limits)
        # What limits leave decides what a claim costs in the end.
        final = not any(planned_node.option.template.limited for planned_node in planned_nodes)
        if not others and final and cost_of(planned_nodes) >= worth:
            return None
        self._buy(planned_nodes, pod_groups)
        return self._written(self._parsed.classes)

    @property
    def contended(self) -> bool:
        """Whether pods were left that could have a place if others had not."""
        waiting = (one for one in self._parsed.classes if self._waits(one))
        return any(one.index not in self._hopeless and self._could_go(one) for one in waiting)

    @property
    def order_matters(self) -> bool:
        """Whether pods were placed whose place depends on where others are, by domain or in company."""
        placed = (one for one in self._parsed.classes if one.index not in self._hopeless)
        return any(
            self._context.constraint_reader.of(one, level).depends
            for one in placed
            for level in one.relaxation.levels
        )

    def _could_go(self, one: PodClass) -> bool:
        option_order = self._context.option_order
        for level in one.relaxation.levels:
            if self._existing_nodes.could_take(level.demand, one.requests):
                return True
            options_in_order = option_order.of(((level.demand,),), one.requests)
            if any(link.option.template.limited for link in options_in_order):
                return True
        return False

    def _written(self, in_order: Sequence[PodClass]) -> PackingPlan:
        context = self._context
        refusals = Refusals(
            context.problem,
            context.options.templates,
            self._nodes.remaining_limits,
            self._parsed.axis,
            context.blockers,
        )
        self._each(in_order, lambda one: self.outcome.refuse(one.index, refusals.of(one)), always=True)
        return plan_of(self.outcome, self._nodes.problems)

    def _each(
        self, classes: Iterable[PodClass], action: Callable[[PodClass], None], *, always: bool = False
    ) -> None:
        """Do `action` with every class that still has pods to place; set aside those it fails on.

        When the steps are used up, classes are deferred, unless it is to be done `always`.
        """
        for one in tuple(classes):
            if not self._waits(one):
                continue
            if self._steps.exhausted and not always:
                self.outcome.deferred.add(one.index)
                continue
            try:
                action(one)
            except Exception as error:  # noqa: BLE001 (whatever is wrong with one class, the others must go on)
                self._parsed.set_aside(one.index, error)

    def _waits(self, one: PodClass) -> bool:
        if self.outcome.waiting(one.index) <= 0:
            return False
        return one.index not in self._parsed.refused and one.index not in self.outcome.deferred

    def _place(self, in_order: Sequence[PodClass]) -> None:
        """Seat classes over and over, as long as it helps: one may make way for another."""
        while True:
            before = sum(self.outcome.waiting(one.index) for one in in_order)
            self._each(in_order, self._place_one)
            after = sum(self.outcome.waiting(one.index) for one in in_order if self._waits(one))
            if not after or after == before:
                return

    def _place_one(self, one: PodClass) -> None:
        self._steps.spend()
        self._placer.placement(one)

    def _in_order(self) -> list[PodClass]:
        """Return the classes, the largest first, but before them those that no new node would hold.

        These go first into the rooms that others could do without. Placeholders come after all others.
        """
        nowhere: set[int] = set()
        largest: dict[int, Floats] = {}
        option_order: dict[tuple[int, int], tuple[OrderedOption, ...]] = {}

        def look(one: PodClass) -> None:
            key = (id(one.relaxation), id(one.requests))
            if key not in option_order:
                demands = [(level.demand,) for level in one.relaxation.levels]
                option_order[key] = self._context.option_order.of(demands, one.requests)
            if option_order[key]:
                option = option_order[key][0].option
                largest[option.index] = option.most
            else:
                nowhere.add(one.index)
                if not any(
                    self._existing_nodes.could_take(level.demand, one.requests)
                    for level in one.relaxation.levels
                ):
                    self._hopeless.add(one.index)

        self._each(self._parsed.classes, look, always=True)
        axis = self._parsed.axis
        most = np.maximum.reduce(list(largest.values())) if largest else np.ones(len(axis.names))
        ordered = largest_first(self._parsed.classes, self._context.problem.settings.order, axis, most)
        return sorted(ordered, key=lambda one: (_placeholder(one), one.index not in nowhere))

    def _settle(self, in_order: Sequence[PodClass]) -> None:
        """Seat all classes and buy nodes for them; seat those anew that get none, while there are seats."""
        place = {one.index: at for at, one in enumerate(in_order)}
        in_order = [one for one in in_order if one.index not in self._hopeless]
        taken_back = False
        # Placeholders wait until all others have found what there is for them.
        going = [one for one in in_order if not _placeholder(one)]
        for _ in range(_SETTLINGS):
            self._place(going)
            pod_groups = sorted(
                self._placer.pod_groups,
                key=lambda pod_group: min(place[index] for index in pod_group.classes()),
            )
            planned_nodes = self._nodes.planned(pod_groups)
            short = self._take_back(pod_groups, placed_in(planned_nodes))
            taken_back = taken_back or short
            # Who relied on those must go too.
            unsettled = taken_back and self._placer.undo_dependants()
            if self._steps.exhausted or (not (short or unsettled) and len(going) == len(in_order)):
                break
            if not (short or unsettled):
                going = list(in_order)
        planned_nodes = self._nodes.cheaper()
        if any(self._waits(one) for one in in_order):
            planned_nodes, pod_groups = self._placed_late(in_order, planned_nodes)
        self._buy(planned_nodes, pod_groups)

    def _buy(self, planned_nodes: Sequence[PlannedNode], pod_groups: Iterable[PodGroup]) -> None:
        self._drop_unplaced(pod_groups, placed_in(planned_nodes))
        self._wanted, self._cost = _wanted(pod_groups), cost_of(planned_nodes)
        by_index = {pod_group.index: pod_group for pod_group in pod_groups}
        bound = self._nodes.bound(
            [pod_group for pod_group in pod_groups if pod_group.units],
            planned_nodes,
            self._context.option_order,
        )
        self.outcome.buy(planned_nodes, by_index, bound, self._nodes.finishing())
        if self._steps.exhausted:
            waiting = [one.index for one in self._parsed.classes if self.outcome.waiting(one.index)]
            self.outcome.deferred.update(waiting)

    def _drop_unplaced(self, pod_groups: Iterable[PodGroup], placed: Mapping[int, int]) -> None:
        """Note that units of which there is no node planned have no seat any longer."""
        for pod_group in pod_groups:
            left = pod_group.units - placed.get(pod_group.index, 0)
            if left > 0 and pod_group.bundle:
                for one, _, constraints, pods in pod_group.members:
                    self.outcome.unseat(one.index, pods, constraints.given_up)
                pod_group.bundle = {}
            elif left > 0:
                for placement, pods in pod_group.take_last(left):
                    self.outcome.unseat(placement.one.index, pods, placement.constraints.given_up)

    def _take_back(self, pod_groups: Iterable[PodGroup], placed: Mapping[int, int]) -> bool:
        """Take back the seats of units that got no node; return whether there were any."""
        short = False
        for pod_group in pod_groups:
            left = pod_group.units - placed.get(pod_group.index, 0)
            if left > 0:
                self._placer.take_back(pod_group, left)
                short = True
        return short

    def _placed_late(
        self, in_order: Sequence[PodClass], planned_nodes: list[PlannedNode]
    ) -> tuple[list[PlannedNode], list[PodGroup]]:
        """Put pods that got no node of their own where the others leave room for them."""
        self._placer.place_late()
        for _ in range(_SQUEEZES):
            tried = False
            for one in in_order:
                self._each((one,), self._place_one)
                # What came of it is known before others rely on it.
                for pod_group, units in self._placer.placed_late():
                    tried = True
                    planned_nodes, left = self._nodes.place_late(
                        planned_nodes, self._placer.pod_groups, pod_group, units
                    )
                    if left:
                        self._placer.take_back(pod_group, left)
            if not tried:
                break
        self._take_back(self._placer.pod_groups, placed_in(planned_nodes))
        return planned_nodes, self._placer.pod_groups


def _wanted(pod_groups: Iterable[PodGroup]) -> Mapping[object, int]:
    """Return how many units of each kind are to get nodes: of equal requests, families to try and rules."""
    units: dict[object, int] = {}
    for pod_group in pod_groups:
        kind = (
            pod_group.requests.tobytes(),
            tuple(link.option.index for link in pod_group.options_in_order),
            pod_group.rules,
        )
        units[kind] = units.get(kind, 0) + pod_group.units
    return {kind: count for kind, count in units.items() if count}


def _placeholder(one: PodClass) -> bool:
    """Return whether these pods only hold room for others: nobody is to wait for them."""
    return one.spec.priority < 0
