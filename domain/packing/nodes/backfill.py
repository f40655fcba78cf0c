"""Backfill: puts pods into what is left on nodes that are planned already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Floats, count_fitting, holds
from treenail.domain.packing.nodes.filling import fill
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.offers.node_options import NodeOption, NodeOptions
from treenail.domain.packing.planned.node_rules import NodeRules
from treenail.domain.packing.planned.planned_nodes import PlannedNode, added
from treenail.domain.packing.planned.pod_groups import PodGroup


def backfill(
    planned_nodes: Sequence[PlannedNode],
    option: NodeOption,
    pod_groups: Sequence[PodGroup],
    left: Floats,
    context: PlanningContext,
) -> list[PlannedNode]:
    """Return `planned_nodes` with units of `pod_groups`, which ask for `option`, added where that is free.

    `left` (I) is how many units of each pod group there are; those that found a place are taken off.
    """
    if not planned_nodes:
        return []
    # First fit over nodes in the order they were opened, the least flexible first: what is bought for certain
    # is filled before anything is bought.
    backfilling = _Backfill(pod_groups, left, context.rules)
    least = np.minimum.reduce(backfilling.requests)
    rooms = np.array([each.option.room[each.row] for each in planned_nodes])
    rooms = rooms.reshape(len(planned_nodes), len(least))
    loads = np.array([each.load for each in planned_nodes]).reshape(rooms.shape)
    # All nodes at once: a node that has not even the least that any group asks for is not looked at further.
    roomy = holds(rooms - loads, least).tolist()
    filled: list[PlannedNode] = []
    for able, planned_node in zip(roomy, planned_nodes, strict=True):
        now = _same_node(planned_node, option, context.options) if able else None
        filled += [planned_node] if now is None else backfilling.filled(planned_node, *now)
    return filled


class _Backfill:
    """Takes units of pod groups off `left` (I), and puts them on the nodes it is shown."""

    def __init__(self, pod_groups: Sequence[PodGroup], left: Floats, rules: NodeRules) -> None:
        self._pod_groups = pod_groups
        self._left = left
        self._rules = rules
        self.requests: Floats = np.array([pod_group.requests for pod_group in pod_groups])
        self._free: Bools = np.array([rules.free(pod_group) for pod_group in pod_groups], dtype=np.bool_)
        self._ruled = not np.logical_and.reduce(self._free)

    def filled(self, planned_node: PlannedNode, option: NodeOption, row: int) -> Iterator[PlannedNode]:
        """Yield the copies of a node with what is added to them, and then those that nothing is added to.

        With units of these pod groups on it, the node is of the type `row` of `option`.
        """
        # Copies are filled in one go where they come out alike: the work does not grow with the number of
        # nodes.
        copies = planned_node.copies
        while copies and np.logical_or.reduce(self._left):
            counts = self._added(planned_node)
            held = counts > 0
            if not np.logical_or.reduce(held):
                break
            # As many copies as the units last for get the same; the rest of the copies are asked again.
            alike = int(min(copies, (self._left[held] // counts[held]).min()))
            self._left -= alike * counts
            copies -= alike
            groups = zip(self._pod_groups, counts, strict=True)
            more = {pod_group.index: int(count) for pod_group, count in groups if count}
            load = planned_node.load + counts @ self.requests
            yield PlannedNode(option, row, load, added(planned_node.parts, more), alike)
        if copies:
            yield planned_node if copies == planned_node.copies else replace(planned_node, copies=copies)

    def _added(self, planned_node: PlannedNode) -> Floats:
        """Return how many units of each pod group fit beside what one copy holds, those with rules first."""
        requests, rules, left = self.requests, self._rules, self._left
        counts, room = np.zeros(len(left)), planned_node.free
        able = (left > 0) & holds(room, requests)
        if self._ruled:
            colocated = rules.colocated(planned_node.parts)
            # Those with rules first: they can go onto fewer nodes, and each may shut others out.
            for i in (able & ~self._free).nonzero()[0].tolist():
                most = min(rules.most(colocated, self._pod_groups[i]), left[i])
                units = min(most, float(count_fitting(room, requests[i]))) if most else 0.0
                if units >= 1:
                    counts[i] = units
                    room = room - units * requests[i]
                    rules.join(colocated, self._pod_groups[i], int(units))
        rest = (able & self._free).nonzero()[0]
        if len(rest):
            # Nothing keeps these apart: they go by how well they fit what is left, all classes in view.
            none = np.zeros((1, len(rest)))
            counts[rest] = fill(room[np.newaxis], requests[rest], left[np.newaxis, rest], none)[0]
        return counts


def _same_node(
    planned_node: PlannedNode, option: NodeOption, options: NodeOptions
) -> tuple[NodeOption, int] | None:
    """Return what the node becomes as one of `option` too, if it stays of its type and costs no more."""
    # The node was weighed and paid for as it is. What joins it may narrow its labels, and nothing else.
    narrowed = options.meet(planned_node.option, option)
    # With minValues, a narrower option has less usable room.
    if narrowed is None or (narrowed is not planned_node.option and narrowed.min_values is not None):
        return None
    own = planned_node.option.types[planned_node.row]
    if not narrowed.as_roomy(planned_node.option, own):
        return None
    rows = (narrowed.types == own).nonzero()[0]
    # The price may have risen by narrowing, where the cheapest offering is not allowed any more.
    if narrowed.prices[rows[0]] > planned_node.price:
        return None
    return narrowed, int(rows[0])
