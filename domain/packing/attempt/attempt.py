"""One attempt at a plan, from nothing placed to every pod's place or the reasons it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.attempt.comparison import places_others, places_the_same
from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.identity import numbering
from treenail.domain.packing.nodes.node_planner import NodePlanner
from treenail.domain.packing.offers.option_order import OrderedOption
from treenail.domain.packing.one_by_one.one_by_one import OneByOne
from treenail.domain.packing.placement.existing_placement import ExistingPlacement
from treenail.domain.packing.placement.placer import Placer
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.planned.outcome import Outcome, plan_of
from treenail.domain.packing.planned.planned_nodes import PlannedNode, cost_of, placed_in
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.decreasing_order import largest_first
from treenail.domain.packing.pods.relaxation import Relaxation
from treenail.domain.packing.refusal_reasons import Refusal
from treenail.domain.packing.refusals.refusals import Refusals

# Rounds of placing and planning at most. Each closes a choice at least for pods that got no node, so rounds
# end by themselves after a few: this only guards against a defect.
_MOST_ROUNDS: Final = 1000
# Rounds of late placement at most: each puts one pod or more into what others leave of their nodes.
_MOST_LATE_ROUNDS: Final = 100


class Attempt:
    """Places the pods of a problem.

    Attempts share the groups and the existing nodes of their packing context: one must be over, its plan
    written, before the next begins. With an `outcome` that has begun anew, the attempt goes on from the
    present state of the context, and places only the pods that are wanted there. With `required_only`
    it keeps no preference.
    """

    def __init__(
        self, context: PackingContext, outcome: Outcome | None = None, *, required_only: bool = False
    ) -> None:
        if outcome is None:
            context.clear()
        self._context = context
        self._parsed = context.parsed
        self._steps = context.steps
        self._nodes = NodePlanner(context.options, context.parsed, context.problem.settings, context.steps)
        self._existing_nodes = context.existing_nodes
        self.outcome = outcome or Outcome(context.parsed, self._existing_nodes.names)
        waiting = [one for one in self._parsed.classes if self._waits(one)] if outcome is not None else None
        self._classes = self._parsed.classes if waiting is None else waiting
        if required_only:
            self._classes = [context.without_wishes(one) for one in self._classes]
        self._placements = ExistingPlacement(self._existing_nodes, context.universe, self.outcome)
        # The classes, by number, that nothing holds, whoever else is placed.
        self._hopeless: set[int] = set()
        # The units that got new nodes in this attempt, by what they ask for, and the cost of the nodes ($/h):
        # the second attempt is compared with these.
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
        """Place class after class, and plan nodes for all pods that existing nodes do not take."""
        in_order = self._in_order()
        self._settle(in_order)
        return self._written(in_order)

    def place(self) -> None:
        """Place all pods that can be placed. The outcome has their places; no reasons are looked for."""
        self._settle(self._in_order())

    def plan_one_by_one(self, before: Attempt, worth: float) -> PackingPlan | None:
        """Place pod after pod, as Karpenter does, and look for cheaper nodes for the same pods.

        Return None where that is no gain on the attempt `before`: it leaves more pods; or places the same
        pods, and would look for the nodes that were looked for then; or its nodes do not cost less than
        `worth` ($/h).
        """
        turns = OneByOne(self._context, self._placements, self.outcome)
        # Nobody could place the hopeless in whatever order: trying them pod by pod is what this attempt could
        # spend most of its time on.
        hopeful = [one for one in self._parsed.classes if one.index not in before._hopeless]
        turns.place(hopeful, self._parsed.set_aside)
        others = places_others(self.outcome, before.outcome)
        # Checked before any node is planned: looking for cheaper nodes is the dear half of an attempt.
        if not others and not places_the_same(self.outcome, before.outcome):
            return None
        pod_groups, planned_nodes = turns.planned()
        # The same units with the same node options: the search would find what it found before.
        if not others and cost_of(planned_nodes) >= before._cost and _wanted(pod_groups) == before._wanted:
            return None
        planned_nodes = self._nodes.planned_from(pod_groups, planned_nodes, turns.remaining_limits)
        # What limits leave decides what a claim costs in the end: under limits the written plans are
        # compared.
        final = not any(planned_node.option.template.limited for planned_node in planned_nodes)
        if not others and final and cost_of(planned_nodes) >= worth:
            return None
        self._buy(planned_nodes, pod_groups)
        return self._written(self._parsed.classes)

    @property
    def contended(self) -> bool:
        """True if pods were left that could have a place if others had not taken it."""
        waiting = (one for one in self._parsed.classes if self._waits(one))
        return any(one.index not in self._hopeless and self._could_go(one) for one in waiting)

    @property
    def order_matters(self) -> bool:
        """True if pods were placed whose place depends on where others are, by domain or on their node."""
        placed = (one for one in self._parsed.classes if one.index not in self._hopeless)
        return any(
            self._context.constraint_reader.of(one, level).depends
            for one in placed
            for level in one.relaxation.levels
        )

    def _could_go(self, one: PodClass) -> bool:
        option_order = self._context.option_order
        for level in one.relaxation.levels:
            # Two things can run out: room on existing nodes, and limits. Without limits there is always
            # another node.
            if self._existing_nodes.could_take(level.demand, one.requests):
                return True
            options_in_order = option_order.of(((level.demand,),), one.requests)
            if any(link.option.template.limited for link in options_in_order):
                return True
        return False

    def _written(self, in_order: Sequence[PodClass]) -> PackingPlan:
        # Reasons come last, when all pods have their places: they say what is left of limits and domains.
        refusals = self._refusals()
        self._each(in_order, lambda one: self.outcome.refuse(one.index, refusals.of(one)), always=True)
        return plan_of(self.outcome, self._nodes.problems)

    def why(self, one: PodClass) -> tuple[Refusal, ...]:
        """Return each pool's first reason against pods of a class that got no place."""
        return self._refusals().of(one)

    def _refusals(self) -> Refusals:
        context, limits = self._context, self._nodes.remaining_limits
        return Refusals(
            context.problem, context.options.templates, limits, self._parsed.axis, context.blockers
        )

    def _each(
        self, classes: Iterable[PodClass], action: Callable[[PodClass], None], *, always: bool = False
    ) -> None:
        """Call `action` with each class that has pods without a place; set aside classes on which it fails.

        When the steps are used up, the other classes are deferred, unless `always` is set.
        """
        # A copy, for a class that is set aside leaves the list.
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
        """Place classes round after round, until a round places nobody.

        One may open the way for another: pods to be near, or a domain that keeps a spread down.
        """
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
        """Return the classes in the order they are placed, and note which of them are hopeless.

        First those that no new node would hold, for existing nodes are all they can have; then the largest
        first, for small pods fill what large ones leave. Placeholders come after all others.
        """
        nowhere: set[int] = set()
        largest: dict[int, Floats] = {}
        numbers = numbering()
        option_order: dict[tuple[Relaxation, int], tuple[OrderedOption, ...]] = {}

        def look(one: PodClass) -> None:
            # Many classes share both, and differ by labels alone: they are looked up once.
            key = (one.relaxation, numbers[one.requests])
            if key not in option_order:
                demands = [(level.demand,) for level in one.relaxation.levels]
                option_order[key] = self._context.option_order.of(demands, one.requests)
            if option_order[key]:
                option = option_order[key][0].option
                # The first option is what a class would get. The euclidean order measures pods against the
                # largest of these.
                largest[option.index] = option.most
            else:
                nowhere.add(one.index)
                if not any(
                    self._existing_nodes.could_take(level.demand, one.requests)
                    for level in one.relaxation.levels
                ):
                    self._hopeless.add(one.index)

        self._each(self._classes, look, always=True)
        axis = self._parsed.axis
        most = np.maximum.reduce(list(largest.values())) if largest else np.ones(len(axis.names))
        # Sorted twice: the second sort is stable and keeps the largest first among equals.
        ordered = largest_first(self._classes, self._context.problem.settings.order, axis, most)
        return sorted(ordered, key=lambda one: (_placeholder(one), one.index not in nowhere))

    def _settle(self, in_order: Sequence[PodClass]) -> None:
        """Place all classes, plan nodes for them, and place those elsewhere that got none, until all settles.

        Placing knows no limits: it chooses domains. Planning knows them, and says who got no node. Those are
        taken back, their choice is capped, and placing goes on with what is left.
        """
        place = {one.index: at for at, one in enumerate(in_order)}
        # The hopeless would be tried in every round, and be refused in the end all the same.
        in_order = [one for one in in_order if one.index not in self._hopeless]
        taken_back = False
        # Placeholders wait until all other pods have their places.
        going = [one for one in in_order if not _placeholder(one)]
        for _ in range(_MOST_ROUNDS):
            self._place(going)
            # Planned in the order of placing: what limits leave goes to who was placed first.
            pod_groups = sorted(
                self._placer.pod_groups,
                key=lambda pod_group: min(place[index] for index in pod_group.classes()),
            )
            planned_nodes = self._nodes.planned(pod_groups)
            short = self._take_back(pod_groups, placed_in(planned_nodes))
            taken_back = taken_back or short
            # Pods that relied on the pods taken back must go too. From then on this is done in each round: a
            # pod that is undone may leave others without what they relied on.
            undone = taken_back and self._placer.undo_dependants()
            if self._steps.exhausted or (not (short or undone) and len(going) == len(in_order)):
                break
            # All who are no placeholders have settled: now these join, and the loop runs on for them.
            if not (short or undone):
                going = list(in_order)
        # Cheaper nodes were put off while rounds could still throw them away.
        planned_nodes = self._nodes.cheaper()
        if any(self._waits(one) for one in in_order):
            planned_nodes, pod_groups = self._placed_late(in_order, planned_nodes)
        self._buy(planned_nodes, pod_groups)

    def _buy(self, planned_nodes: Sequence[PlannedNode], pod_groups: Sequence[PodGroup]) -> None:
        self._drop_unplaced(pod_groups, placed_in(planned_nodes))
        self._wanted, self._cost = _wanted(pod_groups), cost_of(planned_nodes)
        by_index = {pod_group.index: pod_group for pod_group in pod_groups}
        bound = self._nodes.bound(
            [pod_group for pod_group in pod_groups if pod_group.units],
            planned_nodes,
            self._context.option_order,
        )
        planned_nodes = self._nodes.smaller(planned_nodes, pod_groups, self._to_come(pod_groups))
        self.outcome.buy(planned_nodes, by_index, bound, self._nodes.finishing())
        if self._steps.exhausted:
            waiting = [one.index for one in self._parsed.classes if self.outcome.waiting(one.index)]
            self.outcome.deferred.update(waiting)

    def _to_come(self, pod_groups: Iterable[PodGroup]) -> Mapping[int, float]:
        """Return which share of each group's units are pods still to be made; nothing where no pod is."""
        to_come = self._context.problem.to_come
        if not to_come:
            return {}
        shares = [sum(pod.uid in to_come for pod in pods) / len(pods) for _, pods in self._parsed.parts]
        return {
            pod_group.index: sum(each.pods * shares[each.placement.one.index] for each in pod_group.waiting)
            / pod_group.units
            for pod_group in pod_groups
            if pod_group.waiting
        }

    def _drop_unplaced(self, pod_groups: Iterable[PodGroup], placed: Mapping[int, int]) -> None:
        """Note that units without a planned node have no place any longer: they are refused."""
        for pod_group in pod_groups:
            left = pod_group.units - placed.get(pod_group.index, 0)
            if left > 0 and pod_group.bundle:
                for (one, _, constraints), pods in pod_group.members:
                    self.outcome.plan(one.index, -pods, constraints.given_up)
                pod_group.bundle = {}
            elif left > 0:
                for placement, pods in pod_group.take_last(left):
                    self.outcome.plan(placement.one.index, -pods, placement.constraints.given_up)

    def _take_back(self, pod_groups: Iterable[PodGroup], placed: Mapping[int, int]) -> bool:
        """Have units that got no node placed anew; return whether there were any."""
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
        """Place pods that got no node of their own on planned nodes, as these are or made larger."""
        self._placer.place_late()
        for _ in range(_MOST_LATE_ROUNDS):
            tried = False
            for one in in_order:
                self._each((one,), self._place_one)
                # Placed on nodes at once: other pods may rely only on pods that really have a node.
                for pod_group, units in self._placer.placed_late():
                    tried = True
                    planned_nodes, left = self._nodes.place_late(
                        planned_nodes, self._placer.pod_groups, pod_group, units
                    )
                    if left:
                        self._placer.take_back(pod_group, left)
            if not tried:
                break
        # Placed late, a pod may have been counted in a domain whose node could not grow after all.
        self._take_back(self._placer.pod_groups, placed_in(planned_nodes))
        return planned_nodes, self._placer.pod_groups


def _wanted(pod_groups: Iterable[PodGroup]) -> Mapping[object, int]:
    """Return how many units there are of each kind: of equal requests, node options to try, and rules.

    Two attempts with equal units look for the same nodes.
    """
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
    """Return whether these pods are placeholders (negative priority), for which no other pod is to wait."""
    return one.spec.priority < 0
