"""The node planner: plans the nodes for all pods that are to get new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

from treenail.domain.packing.arrays.steps import Steps
from treenail.domain.packing.nodes.cheapest_plan import CheapestNodes, fresh
from treenail.domain.packing.nodes.components import Component, components
from treenail.domain.packing.nodes.first_fit import FirstFit
from treenail.domain.packing.nodes.late_placement import LatePlacement
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.nodes.smaller_nodes import SmallerNodes
from treenail.domain.packing.nodes.without_domains import without_domains
from treenail.domain.packing.offers.limits_in_plan import RemainingLimits
from treenail.domain.packing.offers.node_options import NodeOptions
from treenail.domain.packing.offers.option_order import OptionOrder
from treenail.domain.packing.parsed_problem import ParsedProblem
from treenail.domain.packing.planned.finishing import Finishing
from treenail.domain.packing.planned.node_rules import NodeRules
from treenail.domain.packing.planned.planned_nodes import Bound, PlannedNode, nodes_in, placed_in, units_in
from treenail.domain.packing.planned.pod_groups import PodGroup
from treenail.domain.packing.problem import Packing, PackingSettings

# With more pod groups than this, and rules per node, first-fit is only made where something needs it: its
# time grows with the groups times the claims, and each pair must be checked for rules.
_MANY_POD_GROUPS: Final = 250


class NodePlanner:
    """Plans nodes for pod groups, as often as it is asked to: the last plan is what counts.

    `remaining_limits` counts the nodes of that plan against limits. `problems` are errors that cost no pod
    its place.
    """

    def __init__(
        self, options: NodeOptions, parsed: ParsedProblem, settings: PackingSettings, steps: Steps
    ) -> None:
        self.remaining_limits = RemainingLimits()
        self.problems: list[str] = []
        self._options = options
        self._parsed = parsed
        self._settings = settings
        self._steps = steps
        # The components of the pod groups planned last, and their bounds.
        self._parted: tuple[tuple[PodGroup, ...], list[Component]] = ((), [])
        self._bounds: dict[tuple[Component, tuple[int, ...]], Bound] = {}
        # The nodes of each component. Those `_waiting`, by place, still have first-fit's nodes: cheaper ones
        # are looked for when `cheaper` is asked.
        self._made: list[list[PlannedNode]] = []
        self._units: dict[int, int] = {}
        self._waiting: set[int] = set()
        self._first_nodes = 0

    def planned(self, pod_groups: Sequence[PodGroup]) -> list[PlannedNode]:
        """Return nodes for `pod_groups`, by component, without those to which limits leave too few types.

        They say who will have a node in the end. Some may be dearer than needed until `cheaper` is asked.
        """
        units = {pod_group.index: pod_group.units for pod_group in pod_groups}
        # Rules follow the groups of this round: bundles are new objects each time.
        self._rules = self._rules_of(pod_groups)
        self.remaining_limits = RemainingLimits()
        if not self._wants_first_fit(pod_groups):
            planned_nodes = self._planned(pod_groups, None, units)
            limited = any(
                link.option.template.limited
                for pod_group in pod_groups
                for link in pod_group.options_in_order
            )
            # Without first-fit it is not known which pods Karpenter would have placed. That matters only if
            # limits left some out.
            left = sum(units.values()) - units_in(planned_nodes)
            # Steps ended: what is planned stands, and first-fit would have none to spend either.
            if self._steps.exhausted or not (limited and left):
                return planned_nodes
            # Where limits leave some out, first-fit leaves out no pod that Karpenter would place.
            self.remaining_limits = RemainingLimits()
        first = self._first_fit(pod_groups, units)
        # Cheaper nodes never hold fewer. Where limits count, what a component takes is left to no other.
        whole = units_in(first) == sum(units.values()) and not _may_lack_choice(first)
        return self._planned(pod_groups, first, units, lambda component: whole or not component.limited)

    def cheaper(self) -> list[PlannedNode]:
        """Look for cheaper nodes where that was put off, and return all nodes."""
        # Kept to go back to: cheaper nodes may leave limits that are too small for minValues elsewhere.
        first, before = self._all_made(), self.remaining_limits.copy()
        # In order, for each component takes from the same limits.
        for at in sorted(self._waiting):
            component = self._parted[1][at]
            self._made[at] = self._of_component(component, self._made[at], self._units)
        self._waiting.clear()
        return self._unless_fewer(self._of_enough_choice(self._all_made()), first, before)

    def planned_from(
        self, pod_groups: Sequence[PodGroup], first: list[PlannedNode], remaining_limits: RemainingLimits
    ) -> list[PlannedNode]:
        """Return nodes for `pod_groups` that are no worse than `first`, which `remaining_limits` counts."""
        self._rules = self._rules_of(pod_groups)
        self.remaining_limits, before = remaining_limits, remaining_limits.copy()
        planned_nodes = self._planned(
            pod_groups, first, {pod_group.index: pod_group.units for pod_group in pod_groups}
        )
        return self._unless_fewer(planned_nodes, first, before)

    def _unless_fewer(
        self, planned_nodes: list[PlannedNode], first: list[PlannedNode], before: RemainingLimits
    ) -> list[PlannedNode]:
        """Return `planned_nodes`, or `first` if it holds more units. `before` are the limits with `first`."""
        if units_in(planned_nodes) >= units_in(first):
            return planned_nodes
        self.remaining_limits = before
        return self._of_enough_choice(first)

    def _all_made(self) -> list[PlannedNode]:
        return [planned_node for planned_nodes in self._made for planned_node in planned_nodes]

    def _planned(
        self,
        pod_groups: Sequence[PodGroup],
        first: list[PlannedNode] | None,
        units: dict[int, int],
        may_wait: Callable[[Component], bool] = lambda _: False,
    ) -> list[PlannedNode]:
        """Plan nodes for each component; keep those of `first` that hold all where the search `may_wait`."""
        self._parted, self._bounds = (tuple(pod_groups), components(pod_groups, self._options)), {}
        self._made, self._units, self._waiting = [], units, set()
        self._first_nodes = nodes_in(first or ())
        for at, component in enumerate(self._parted[1]):
            members = {pod_group.index for pod_group in component.pod_groups}
            # A node of first-fit holds pods of one component only: no two components could share it.
            own = None if first is None else [d for d in first if not members.isdisjoint(d.parts)]
            if own is not None and may_wait(component) and _holds(own, component, units):
                self._waiting.add(at)
                self._made.append(own)
            else:
                self._made.append(self._of_component(component, own, units))
        return self._of_enough_choice(self._all_made())

    def place_late(
        self,
        planned_nodes: list[PlannedNode],
        pod_groups: Sequence[PodGroup],
        pod_group: PodGroup,
        units: int,
    ) -> tuple[list[PlannedNode], int]:
        """Place units of `pod_group`, one of `pod_groups`; return the planned nodes, and what is left."""
        context = self._context(self.remaining_limits, self._rules_of(pod_groups))
        late_placement = LatePlacement(planned_nodes, context, self._stand)
        left = late_placement.place(pod_group, units)
        return late_placement.planned_nodes, left

    def smaller(
        self,
        planned_nodes: Sequence[PlannedNode],
        pod_groups: Sequence[PodGroup],
        to_come: Mapping[int, float],
    ) -> Sequence[PlannedNode]:
        """Return smaller nodes where pods to come would get large ones, and `planned_nodes` otherwise.

        `to_come` is which share of each group's units (by index) are pods to come.
        """
        if not to_come or self._settings.packing is not Packing.CHEAPEST:
            return planned_nodes
        context = self._context(self.remaining_limits, self._rules)
        smaller = SmallerNodes(pod_groups, to_come, context, spot_is_replaced=self._settings.spot_is_replaced)
        try:
            found = smaller.planned_nodes(planned_nodes)
        except Exception as error:  # noqa: BLE001 (large nodes are better than none)
            self.problems.append(f"smaller nodes were not found: {type(error).__name__}: {error}")
            return planned_nodes
        self.remaining_limits = smaller.remaining_limits
        return found

    def bound(
        self, pod_groups: Sequence[PodGroup], planned_nodes: Sequence[PlannedNode], option_order: OptionOrder
    ) -> Bound:
        """Return the bound of all nodes for `pod_groups`, whatever domains are chosen for them."""
        # The bound must hold whatever domains are chosen. If no domain was chosen, the components planned
        # with can be used again, and so can their bounds.
        loose, units = without_domains(pod_groups, option_order)
        templates = {planned_node.option.template.index for planned_node in planned_nodes}
        planned, found = self._parted
        opened = {link.option.template.index for pod_group in planned for link in pod_group.options_in_order}
        # Components must cover every node that was opened, of whatever pool: a node outside them would be
        # paid for without being in the bound.
        if len(loose) != len(planned) or set(loose) != set(planned) or not templates <= opened:
            found = components(loose, self._options, templates)
        return reduce(Bound.plus, (self._bound_of(component, units) for component in found), Bound())

    def _bound_of(self, component: Component, units: Mapping[int, int]) -> Bound:
        key = (component, tuple(units.get(pod_group.index, 0) for pod_group in component.pod_groups))
        known = self._bounds.get(key)
        if known is None:
            known = self._bounds[key] = component.lower_bound(units, self._parsed.groups.terms)
        return known

    def finishing(self) -> Finishing:
        """Return what makes claims of the nodes planned."""
        return self._finishing(self.remaining_limits)

    def _context(self, remaining_limits: RemainingLimits, rules: NodeRules) -> PlanningContext:
        return PlanningContext(self._options, rules, remaining_limits, self._steps)

    def _rules_of(self, pod_groups: Sequence[PodGroup]) -> NodeRules:
        return NodeRules(self._parsed.groups.terms, pod_groups)

    def _wants_first_fit(self, pod_groups: Sequence[PodGroup]) -> bool:
        """Return whether first-fit is wanted from the start, as the plan or to compare with."""
        return (
            self._settings.packing is not Packing.CHEAPEST
            or self._rules.none
            or len(pod_groups) <= _MANY_POD_GROUPS
        )

    def _first_fit(self, pod_groups: Sequence[PodGroup], units: dict[int, int]) -> list[PlannedNode]:
        """Return first-fit's nodes for all pod groups but those on which it fails.

        After a failure it starts over without the group, so that nothing of the group is left on any node.
        """
        columns = len(self._parsed.axis.names)
        failed: set[int] = set()
        while True:
            self.remaining_limits = RemainingLimits()
            first_fit = FirstFit(self._context(self.remaining_limits, self._rules), columns)
            known = len(failed)
            waiting = [
                (pod_group, units[pod_group.index])
                for pod_group in pod_groups
                if pod_group.index not in failed
            ]
            waiting = self._place(first_fit, waiting, failed)
            # Only after all groups had their turn with caution: whoever Karpenter would place must come
            # first.
            first_fit.be_bold()
            if waiting and len(failed) == known:
                self._place(first_fit, waiting, failed)
            if len(failed) == known:
                return first_fit.planned_nodes()

    def _place(
        self, first_fit: FirstFit, waiting: Sequence[tuple[PodGroup, int]], failed: set[int]
    ) -> list[tuple[PodGroup, int]]:
        """Let first-fit place pod groups; return those with units left. `failed` gets those it fails on."""
        still = []
        for pod_group, units in waiting:
            # What is decided stands; the rest is deferred.
            if self._steps.exhausted:
                break
            try:
                left = first_fit.place(pod_group, units)
            except Exception as error:  # noqa: BLE001 (whatever is wrong with one, the others must go on)
                failed.add(pod_group.index)
                # All classes of the group: which of them is to blame is not known, and one bad class must not
                # fail the plan.
                for index in pod_group.classes():
                    self._parsed.set_aside(index, error)
                break
            if left:
                still.append((pod_group, left))
        return still

    def _of_component(
        self, component: Component, first: list[PlannedNode] | None, units: dict[int, int]
    ) -> list[PlannedNode]:
        """Return first-fit's nodes for the pod groups of a component, or cheaper ones."""
        # The user chose first-fit: then nothing cheaper is looked for.
        if self._settings.packing is not Packing.CHEAPEST and first is not None:
            return first
        return self._cheapest(component, first, units)

    def _cheapest(
        self, component: Component, first: list[PlannedNode] | None, units: dict[int, int]
    ) -> list[PlannedNode]:
        """Look for cheaper nodes than first-fit's; should that fail, take these."""
        wanted = [units[pod_group.index] for pod_group in component.pod_groups]
        # A copy, for a search that fails half way must leave no trace in the limits.
        remaining_limits = self.remaining_limits.copy()
        # The few nodes that may be more than first-fit's are for the whole plan. Each component gets its
        # share.
        share = nodes_in(first) / max(self._first_nodes, 1) if first is not None else 0.0
        context = self._context(remaining_limits, self._rules)
        try:
            if first is None:
                planned_nodes = fresh(component, wanted, context)
            else:
                bound = self._bound_of(component, placed_in(first))
                planned_nodes = CheapestNodes(component, wanted, context, first, bound, share=share).run()
        except Exception as error:  # noqa: BLE001 (dearer nodes are better than none)
            self.problems.append(f"cheaper nodes were not found: {type(error).__name__}: {error}")
            # Without a first plan there is no limit that could have been counted against.
            return self._first_fit(component.pod_groups, units) if first is None else first
        self.remaining_limits = remaining_limits
        return planned_nodes

    def _of_enough_choice(self, planned_nodes: list[PlannedNode]) -> list[PlannedNode]:
        """Return `planned_nodes` but for those that limits leave too few types."""
        if not _may_lack_choice(planned_nodes):
            return planned_nodes
        # Finished on a copy, claim by claim, for each claim that lists large types leaves fewer for the next.
        trial = self._finishing(self.remaining_limits.copy())
        kept = []
        for planned_node in planned_nodes:
            copies = sum(trial.claim(planned_node, {}) is not None for _ in range(planned_node.copies))
            if copies:
                kept.append(replace(planned_node, copies=copies))
        return kept

    def _stand(self, planned_nodes: list[PlannedNode]) -> bool:
        """Return whether limits leave every planned node enough types."""
        return len(self._of_enough_choice(planned_nodes)) == len(planned_nodes)

    def _finishing(self, remaining_limits: RemainingLimits) -> Finishing:
        requests = [kind.spec.requests for kind, _ in self._parsed.parts]
        return Finishing(remaining_limits, self._parsed.axis, requests)


def _may_lack_choice(planned_nodes: Sequence[PlannedNode]) -> bool:
    return any(
        planned_node.option.min_values is not None and planned_node.option.template.limited
        for planned_node in planned_nodes
    )


def _holds(planned_nodes: Sequence[PlannedNode], component: Component, units: Mapping[int, int]) -> bool:
    """Return whether `planned_nodes`, which are a component's, hold all units of it."""
    return units_in(planned_nodes) == sum([units[pod_group.index] for pod_group in component.pod_groups])
