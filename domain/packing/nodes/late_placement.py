"""Late placement: finds places for units that got none, with all others where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.nodes.backfill import backfill
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.planned.planned_nodes import PlannedNode, added
from treenail.domain.packing.planned.pod_groups import PodGroup


class LatePlacement:
    """Late placement of units of pod groups on `planned_nodes`.

    First where that costs nothing, then on nodes that become larger by it, and last on new nodes, as far as
    limits go. `stands` returns whether limits leave all planned nodes enough types for minValues.
    """

    def __init__(
        self,
        planned_nodes: Sequence[PlannedNode],
        context: PlanningContext,
        stands: Callable[[list[PlannedNode]], bool],
    ) -> None:
        self.planned_nodes = list(planned_nodes)
        self._context = context
        self._options, self._rules, self._remaining_limits, _ = context
        self._stands = stands

    def place(self, pod_group: PodGroup, units: int) -> int:
        """Place up to `units` of a pod group; return how many are left."""
        left = np.array([float(units)])
        while True:
            # What is paid for already goes first, by options in order: a preference is kept while any node
            # has room for it.
            for link in pod_group.options_in_order:
                self.planned_nodes = backfill(
                    self.planned_nodes, link.option, [pod_group], left, self._context
                )
            # One unit, and then backfill again: the node that grew may have room for more of them.
            if not left[0] or not self._one_more(pod_group):
                return int(left[0])
            left[0] -= 1

    def _one_more(self, pod_group: PodGroup) -> bool:
        options = [link.option for link in pod_group.options_in_order]
        # A larger type before another node: the overhead of a node, and a node's share of a limit, are spent
        # once. First fit over the nodes; which of them grows is not weighed, for few pods ever come here.
        return any(self._grown(pod_group, one) for one in options) or any(
            self._opened(pod_group, one) for one in options
        )

    def _grown(self, pod_group: PodGroup, option: NodeOption) -> bool:
        """Put a unit on a node that another type is chosen for; return whether there was such a node."""
        for at, planned_node in enumerate(self.planned_nodes):
            narrowed = self._options.meet(planned_node.option, option)
            # The node may already hold pods that keep apart from these.
            if narrowed is None or not self._may_join(planned_node, pod_group):
                continue
            load = planned_node.load + pod_group.requests
            own = planned_node.option.capacity[planned_node.row]
            able = narrowed.able(load, self._remaining_limits.allowed(narrowed, own))
            if able is None:
                continue
            row = int(able.argmax())
            grown = PlannedNode(narrowed, row, load, added(planned_node.parts, {pod_group.index: 1}))
            # One copy grows; the others stay as they are, in the same place of the order.
            rest = [replace(planned_node, copies=planned_node.copies - 1)] if planned_node.copies > 1 else []
            changed = [*self.planned_nodes[:at], grown, *rest, *self.planned_nodes[at + 1 :]]
            if self._taken(narrowed.capacity[row] - own, narrowed, changed):
                return True
        return False

    def _opened(self, pod_group: PodGroup, option: NodeOption) -> bool:
        """Plan a node for one unit of the pod group; return whether limits leave any."""
        able = option.able(pod_group.requests, self._remaining_limits.allowed(option))
        if able is None:
            return False
        row = int(able.argmax())
        opened = PlannedNode(option, row, pod_group.requests, {pod_group.index: 1})
        return self._taken(option.capacity[row], option, [*self.planned_nodes, opened])

    def _taken(self, capacity: Floats, option: NodeOption, planned_nodes: list[PlannedNode]) -> bool:
        # Taken on trial: whether all nodes can still list enough types for minValues shows only when it is
        # counted.
        self._remaining_limits.take(option.template, capacity)
        # Growing one node may leave another too few types: then nothing is changed.
        if not self._stands(planned_nodes):
            self._remaining_limits.take(option.template, -capacity)
            return False
        self.planned_nodes = planned_nodes
        return True

    def _may_join(self, planned_node: PlannedNode, pod_group: PodGroup) -> bool:
        return (
            self._rules.free(pod_group)
            or self._rules.most(self._rules.colocated(planned_node.parts), pod_group) >= 1
        )
