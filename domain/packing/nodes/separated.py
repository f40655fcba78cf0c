"""Separated pods: nodes for pods that terms per node keep apart, filled up with others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, Indices, count_fitting, first_holding, holds
from treenail.domain.packing.identity import IdentityMap, grouping
from treenail.domain.packing.nodes.first_fit import cheapest_allowed
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.planned.node_rules import ColocatedPods
from treenail.domain.packing.planned.planned_nodes import PlannedNode
from treenail.domain.packing.planned.pod_groups import PodGroup

# So many pod groups of one shape are tried for a place before it stays empty: rules may refuse all of them.
_TRIED: Final = 24
# Room beyond the pods that a node is opened for counts with this share of its worth: others may fill most of
# it.
_FILLED: Final = 0.9
# With a ration it counts with more than its worth: of types that cost the same per room, the largest is
# taken.
_FILLED_AT_ANY_PRICE: Final = 1.1


@dataclass(slots=True, eq=False)
class _OpenNode:
    """A node while it is filled, of one type (its row in the template), which counts with `capacity` (L).

    `met` is what it becomes with units of another node option, by its index; None where they cannot join.
    """

    option: NodeOption
    type: int
    capacity: Floats
    colocated: ColocatedPods = field(default_factory=ColocatedPods)
    parts: dict[int, int] = field(default_factory=dict)
    met: dict[int, NodeOption | None] = field(default_factory=dict)


class SeparatedPods:
    """Opens a node for each unit that must not share one with its own kind.

    All nodes for units that keep apart from each other are opened at once. Each gets one unit of another term
    as well, the largest with the smallest, and is of the type that is cheapest for the two. Then what is left
    goes onto the nodes shape by shape (a shape is an array of requests), the most valuable first, each onto
    those that it fills best.

    `left` is how many units of each pod group (by index) there are: those that get a node are taken off.
    `dual_prices` (R) are what a unit of each resource is worth, $/h. With a `ration`, types have room for so
    many times a node's share of the rest. `settled` says that another ration would make no difference.
    """

    def __init__(
        self,
        pod_groups: Sequence[PodGroup],
        left: dict[int, int],
        context: PlanningContext,
        dual_prices: Floats,
    ) -> None:
        self._left = left
        self._options, self._rules, self._remaining_limits, self._steps = context
        self._dual_prices = dual_prices
        # Filling looks for pods that fit, and that depends on requests alone: a few shapes for hundreds of
        # groups.
        by_shape: IdentityMap[Floats, list[PodGroup]] = grouping()
        # The hardest to place first: those with terms, then those that may be in few places.
        for pod_group in sorted(pod_groups, key=_hardest_first):
            by_shape[pod_group.requests].append(pod_group)
        self._queues = list(by_shape.values())
        self._shape_of = {pod_group.index: at for at, queue in enumerate(self._queues) for pod_group in queue}
        self._shapes: Floats = np.array(list(by_shape))
        self._values: list[float] = (self._shapes @ dual_prices).tolist()
        self.settled = True
        self._types: dict[int, tuple[Indices, Floats, Floats, Floats]] = {}
        self._units = [sum([left[pod_group.index] for pod_group in queue]) for queue in self._queues]
        # The node option that each pod group asks for now, and how many it has turned from, for limits were
        # used up.
        self._asked: dict[int, NodeOption] = {
            pod_group.index: pod_group.options_in_order[0].option for pod_group in pod_groups
        }
        self._turned: dict[int, int] = {}

    def planned_nodes(self, separated: Sequence[PodGroup], ration: float) -> list[PlannedNode]:
        """Return nodes for all units of `separated`, and for what of the rest is on them."""
        planned_nodes: list[PlannedNode] = []
        waiting = list(separated)
        while waiting and not self._steps.exhausted:
            # Each turn serves all groups that keep apart from the first one: their nodes are known to be
            # different.
            group, others = _apart_from_first(waiting)
            made = self._for_group(group, others, ration)
            planned_nodes += made
            # Groups that limits left no node ask for their next node option, if they have one.
            turned = [] if made else [pod_group for pod_group in group if self._turn(pod_group)]
            still = waiting if made else [*turned, *others]
            waiting = [pod_group for pod_group in still if self._left[pod_group.index]]
        return planned_nodes

    def _turn(self, pod_group: PodGroup) -> bool:
        """Have a pod group ask for its next node option; return whether there is one."""
        turns = self._turned.get(pod_group.index, 0) + 1
        if turns == len(pod_group.options_in_order):
            return False
        self._turned[pod_group.index] = turns
        self._asked[pod_group.index] = pod_group.options_in_order[turns].option
        return True

    def _for_group(
        self, group: Sequence[PodGroup], others: Sequence[PodGroup], ration: float
    ) -> list[PlannedNode]:
        """Open nodes for the units left of `group`, as far as limits go with the types chosen now."""
        units, alone = self._with_colocated(group)
        nodes, free = self._opened(units, self._seconds(len(units), others), ration)
        if nodes:
            self._fill(nodes, free)
            return self._planned_nodes(nodes, free)
        return [node for pod_group, copies in alone for node in self._alone(pod_group, copies)]

    def _with_colocated(self, group: Sequence[PodGroup]) -> tuple[list[PodGroup], list[tuple[PodGroup, int]]]:
        """Return the units of `group` that others may share a node with, and those for whom none are left."""
        units: list[PodGroup] = []
        alone: list[tuple[PodGroup, int]] = []
        most = sum(self._units) - sum([self._left[pod_group.index] for pod_group in group])
        for pod_group in group:
            left = self._left[pod_group.index]
            some = min(left, most - len(units))
            units += [pod_group] * some
            if some < left:
                alone.append((pod_group, left - some))
        return units, alone

    def _seconds(self, nodes: int, others: Sequence[PodGroup]) -> list[PodGroup | None]:
        """Return a unit of `others`, the smallest first, for each of so many nodes; or None for some."""
        none: list[PodGroup | None] = [None] * nodes
        # By worth, the one measure in which cpu and memory can be compared.
        by_value = sorted(others, key=lambda pod_group: self._values[self._shape_of[pod_group.index]])
        units = [pod_group for pod_group in by_value for _ in range(self._left[pod_group.index])]
        # The first units come largest first: the largest meets the smallest, and so the pairs are of similar
        # size, and the nodes too.
        picked = min(len(units), nodes)
        # Of too many, some of every size.
        evenly = [units[(2 * at + 1) * len(units) // (2 * picked)] for at in range(picked)]
        return [*evenly, *none[picked:]]

    def _opened(
        self, units: Sequence[PodGroup], seconds: Sequence[PodGroup | None], ration: float
    ) -> tuple[list[_OpenNode], Floats]:
        """Return a node for each unit and its second, and what is free on each (N, R)."""
        # What all waiting pods are worth, shared out evenly: a node need not be larger than its own pods and
        # this.
        spare = sum([a * b for a, b in zip(self._values, self._units, strict=True)]) / max(len(units), 1)
        rows: dict[tuple[int, int, int | None], int | None] = {}
        nodes: list[_OpenNode] = []
        free: list[Floats] = []
        for pod_group, second in zip(units, seconds, strict=True):
            option, shape = self._asked[pod_group.index], self._shape_of[pod_group.index]
            key = (option.index, shape, None if second is None else self._shape_of[second.index])
            if key not in rows:
                rows[key] = self._row_for_two(option, pod_group, second, spare, ration)
            row = rows[key]
            if row is None:
                continue
            # Limits are used up by nodes that were just opened. The rest turns to another option, in the next
            # turn.
            if self._steps.exhausted or not self._remaining_limits.allows(option, row):
                break
            node = _OpenNode(option, int(option.types[row]), option.capacity[row])
            self._remaining_limits.take_nodes(option, row, 1)
            rest: Floats = option.room[row] - pod_group.requests
            self._put(node, pod_group, 1)
            if second is not None and holds(rest, second.requests) and self._join(node, second, 1):
                rest = rest - second.requests
            nodes.append(node)
            free.append(rest)
        return nodes, np.array(free).reshape(len(free), len(self._dual_prices))

    def _row_for_two(
        self, option: NodeOption, first: PodGroup, second: PodGroup | None, spare: float, ration: float
    ) -> int | None:
        """Return the row of the type for a unit of each; for the first alone where no type holds both."""
        self._steps.spend()
        if second is not None:
            row = self._row(option, first.requests + second.requests, spare, ration)
            if row is not None:
                return row
        return self._row(option, first.requests, spare, ration)

    def _row(self, option: NodeOption, asked: Floats, spare: float, ration: float) -> int | None:
        """Return the row of the type for what is `asked` (R); None where limits leave none.

        `spare` ($/h) is a node's share of what the other pods are worth.
        """
        # Only undominated types: another one could not win under any worth.
        rows, room, prices, values = self._types_of(option)
        holding = holds(room, asked)
        if option.template.limited:
            holding &= self._remaining_limits.allowed(option)[rows]
        able = holding.nonzero()[0]
        if not len(able):
            return None
        # Room beyond what could ever be filled is worth nothing, so large types win only where there are pods
        # for them.
        used = np.minimum(values[able], float(asked @ self._dual_prices) + spare * max(ration, 1.0))
        prices = prices[able]
        cheap, large = (int((prices - used * filled).argmin()) for filled in (_FILLED, _FILLED_AT_ANY_PRICE))
        # If the ration never changed a choice, a second plan would be the same.
        self.settled = self.settled and cheap == large
        return int(rows[able[large if ration else cheap]])

    def _types_of(self, option: NodeOption) -> tuple[Indices, Floats, Floats, Floats]:
        """Return the types to choose from, by row, the room and the price of each, and what it is worth."""
        known = self._types.get(option.index)
        if known is None:
            rows = option.undominated
            room, prices = option.room[rows], option.costs[rows]
            values = np.minimum(room @ self._dual_prices, prices)
            known = self._types[option.index] = rows, room, prices, values
        return known

    def _alone(self, pod_group: PodGroup, units: int) -> list[PlannedNode]:
        """Return nodes of one unit each: no other pods are left to share them."""
        planned_nodes: list[PlannedNode] = []
        option = self._asked[pod_group.index]
        while units:
            row = cheapest_allowed(option, pod_group.requests, self._remaining_limits, 0.0)
            if row is None:
                break
            copies = int(min(units, self._remaining_limits.copies(option, row)))
            self._remaining_limits.take_nodes(option, row, copies)
            planned_nodes.append(PlannedNode(option, row, pod_group.requests, {pod_group.index: 1}, copies))
            self._take(pod_group, copies)
            units -= copies
        return planned_nodes

    def _fill(self, nodes: Sequence[_OpenNode], free: Floats) -> None:
        """Put on `nodes`, which have so much `free` (N, R), whatever fits, the most valuable first."""
        for shape in sorted(range(len(self._queues)), key=lambda shape: -self._values[shape]):
            queue, asked = self._queues[shape], self._shapes[shape]
            if not queue:
                continue
            fits = np.minimum(count_fitting(free, asked), self._units[shape])
            able = fits.nonzero()[0]
            # First the nodes that would have the least left, by its worth: best fit.
            rest = (free[able] - fits[able, np.newaxis] * asked) @ self._dual_prices
            able = able[rest.argsort(kind="stable")]
            for at, most in zip(able.tolist(), fits[able].tolist(), strict=True):
                placed = self._fill_slot(nodes[at], queue, int(most))
                if placed:
                    free[at] -= placed * asked
                if not queue:
                    break

    def _fill_slot(self, node: _OpenNode, queue: Sequence[PodGroup], units: int) -> int:
        """Put up to `units` of one shape on a node; return how many found a place."""
        wanted, tried = units, 0
        for pod_group in tuple(queue):
            # Known not to join: skipped without counting as a try.
            if node.met.get(self._asked[pod_group.index].index, node.option) is None:
                continue
            units -= self._join(node, pod_group, units)
            tried += 1
            if not units or tried == _TRIED:
                break
        return wanted - units

    def _join(self, node: _OpenNode, pod_group: PodGroup, units: int) -> int:
        """Put up to `units` of a pod group on a node with room for them; return how many joined."""
        both = self._met(node, self._asked[pod_group.index])
        if both is None:
            return 0
        units, joined = min(units, self._left[pod_group.index]), 0
        if self._rules.free(pod_group):
            joined = units
            self._put(node, pod_group, units)
        else:
            # One by one, for each unit may close the node for the next.
            while joined < units and self._rules.admits(node.colocated, pod_group):
                self._put(node, pod_group, 1)
                joined += 1
        # The node is narrowed, so what it met before must be asked anew.
        if joined and both is not node.option:
            node.option, node.met = both, {}
        return joined

    def _met(self, node: _OpenNode, option: NodeOption) -> NodeOption | None:
        """Return what a node becomes as one of `option` too; None where its type would not do.

        The type is not changed here: it was bought for the pods the node was opened for.
        """
        if option is node.option:
            return option
        if option.index not in node.met:
            both = self._options.meet(node.option, option)
            if both is not None and both is not node.option:
                # With minValues the usable room of a type shrinks as the option narrows: the node's pods
                # might not fit.
                same = both.min_values is None and both.as_roomy(node.option, node.type)
                both = both if same else None
            node.met[option.index] = both
        return node.met[option.index]

    def _planned_nodes(self, nodes: Sequence[_OpenNode], free: Floats) -> list[PlannedNode]:
        """Return the nodes, alike ones as copies, each of the cheapest type for what it holds."""
        rooms: Floats = np.array([node.option.whole_of(node.type) for node in nodes])
        loads = rooms - free
        planned_nodes: dict[tuple[object, ...], PlannedNode] = {}
        for node, load, row in zip(nodes, loads, self._cheapest(nodes, loads), strict=True):
            key = (node.option.index, row, *node.parts.items())
            known = planned_nodes.get(key)
            copies = 1 if known is None else known.copies + 1
            planned_nodes[key] = PlannedNode(node.option, row, load, node.parts, copies)
        return list(planned_nodes.values())

    def _cheapest(self, nodes: Sequence[_OpenNode], loads: Floats) -> list[int]:
        """Return the cheapest type, by row, for each node and its load (N, R). Its own type holds it, too.

        Narrowed by the pods that joined, or filled less than hoped, a node may be had for less now.
        """
        rows = [0] * len(nodes)
        by_option: dict[int, list[int]] = {}
        for at, node in enumerate(nodes):
            template = node.option.template
            if not template.limited:
                by_option.setdefault(node.option.index, []).append(at)
                continue
            row = cheapest_allowed(node.option, loads[at], self._remaining_limits, node.capacity)
            assert row is not None  # noqa: S101 (its own type is allowed)
            self._remaining_limits.take(template, node.option.capacity[row] - node.capacity)
            rows[at] = row
        for members in by_option.values():
            found = first_holding(nodes[members[0]].option.room, loads[members])
            for at, row in zip(members, found.tolist(), strict=True):
                rows[at] = row
        return rows

    def _put(self, node: _OpenNode, pod_group: PodGroup, units: int) -> None:
        node.parts[pod_group.index] = node.parts.get(pod_group.index, 0) + units
        self._rules.join(node.colocated, pod_group, units)
        self._take(pod_group, units)

    def _take(self, pod_group: PodGroup, units: int) -> None:
        self._left[pod_group.index] -= units
        shape = self._shape_of[pod_group.index]
        self._units[shape] -= units
        if not self._left[pod_group.index]:
            self._queues[shape].remove(pod_group)


def _hardest_first(pod_group: PodGroup) -> tuple[bool, int, int]:
    return (not pod_group.rules.owned, pod_group.options_in_order[0].option.choices, pod_group.index)


def _apart_from_first(waiting: Sequence[PodGroup]) -> tuple[list[PodGroup], list[PodGroup]]:
    """Return the first pod group with those that keep apart from it and from each other, and all the rest."""
    first, *rest = waiting
    counted = {group for group, _ in first.rules.counted}
    # A term that counts its own pods. Without one, the group keeps apart from others only, and is served
    # alone.
    common = next((group for group in first.rules.owned if group in counted), None)
    if common is None:
        return [first], rest
    group, others = [first], list[PodGroup]()
    for pod_group in rest:
        rules = pod_group.rules
        alike = common in rules.owned and any(each == common for each, _ in rules.counted)
        (group if alike else others).append(pod_group)
    return group, others


def separated_groups(pod_groups: Sequence[PodGroup], left: dict[int, int]) -> list[PodGroup]:
    """Return the pod groups with terms per node, those whose term has the most units first.

    The term with the most units needs the most nodes; the others find room on these.
    """
    owned: dict[int, int] = {}
    for pod_group in pod_groups:
        for group in pod_group.rules.owned:
            owned[group] = owned.get(group, 0) + left[pod_group.index]
    ruled = [pod_group for pod_group in pod_groups if pod_group.rules.owned]
    # Many pod groups share one array of requests.
    largest: IdentityMap[Floats, list[float]] = IdentityMap(lambda requests: (-requests[:2]).tolist())
    return sorted(
        ruled,
        key=lambda pod_group: (
            -max(owned[g] for g in pod_group.rules.owned),
            *largest[pod_group.requests],
            pod_group.index,
        ),
    )
