"""Smaller nodes: replaces large planned nodes by several smaller ones where many pods are still to be made.

A workload gets a few large nodes when all its pods are planned in one decision, where pods that come one by
one get more and smaller ones. When it wants fewer pods, the rest are on all of its nodes: the scheduler deals
pods out evenly, and the ReplicaSet controller deletes first where it has most. Consolidation moves them
together, which empties small nodes one after the other. A spot node is not replaced with a smaller one by
default, so all of a large one is kept for the last of its pods.

In a pool that gives back empty nodes alone, nothing moves pods together. Smaller nodes would be given back
and bought again far more often there (twice as often for 20 to 200 pods that come and go), and pods would
wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from treenail.domain.model import labels
from treenail.domain.model.resources import CPU
from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.nodes.type_choice import Sizing
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.planned.planned_nodes import PlannedNode, cost_of, price_of
from treenail.domain.packing.planned.pod_groups import PodGroup

# All these numbers are choices. A node with so many millicores is small, ...
_SMALL: Final = 16_000
# ... and so is one that costs no more than a quarter of all nodes. Smaller nodes are an eighth at most: large
# workloads keep large nodes.
_LARGE: Final = 1 / 4
_SMALLER: Final = 1 / 8
# With fewer pods to come than this on a node, it is likely enough that all of them go together.
_MANY_PODS: Final = 16
# How much dearer the smaller nodes may be: their prices, and all that they cost with volumes and overhead.
_DEARER: Final = 1.05
_DEARER_IN_ALL: Final = 1.2


class SmallerNodes:
    """Replaces large planned nodes. `remaining_limits` count the nodes that there are.

    `to_come` is which share of each group's units (by index) are pods that are still to be made.
    `spot_is_replaced` says that consolidation may replace a spot node with a smaller one.
    """

    def __init__(
        self,
        pod_groups: Sequence[PodGroup],
        to_come: Mapping[int, float],
        context: PlanningContext,
        *,
        spot_is_replaced: bool,
    ) -> None:
        self._pod_groups = {pod_group.index: pod_group for pod_group in pod_groups}
        self._to_come = to_come
        self._context = context
        self._spot_is_replaced = spot_is_replaced
        self.remaining_limits = context.remaining_limits

    def planned_nodes(self, planned_nodes: Sequence[PlannedNode]) -> list[PlannedNode]:
        """Return nodes for the same units: each of `planned_nodes` as it is, or smaller ones in its place."""
        whole = price_of(planned_nodes)
        found: list[PlannedNode] = []
        for planned_node in planned_nodes:
            if self._stays_large(planned_node, whole):
                one = replace(planned_node, copies=1)
                # One by one: limits may end between two, and pods that keep apart must not meet on one node.
                for _ in range(planned_node.copies):
                    found += self._instead(one, whole) or (one,)
            else:
                found.append(planned_node)
        return found

    def _stays_large(self, planned_node: PlannedNode, whole: float) -> bool:
        """Return whether a node is large, for many pods to come, and never replaced with a smaller one.

        `whole` is the price of all nodes, $/h.
        """
        option = planned_node.option
        if planned_node.price <= whole * _LARGE or _cpus(option)[planned_node.row] <= _SMALL:
            return False
        # Reserved capacity is paid for already. minValues counts on what all its types have room for.
        if option.template.offer.reservation or option.min_values is not None:
            return False
        to_come = sum(units * self._to_come.get(index, 0.0) for index, units in planned_node.parts.items())
        if to_come < _MANY_PODS:
            return False
        moves_pods = option.template.offer.pool.disruption.moves_pods
        return moves_pods and not self._spot_is_replaced and _is_spot(planned_node)

    def _instead(self, large: PlannedNode, whole: float) -> list[PlannedNode] | None:
        """Return smaller nodes for what is on one that is `large`; None where they would cost too much."""
        cpus = float(_cpus(large.option)[large.row])
        most = max(_SMALL, cpus * whole * _SMALLER / large.price)
        # The smallest first: one size may be sold dear today where twice of it is not.
        while most < cpus:
            found = self._up_to(most, large)
            if found is not None:
                return found
            most *= 2
        return None

    def _up_to(self, most: float, large: PlannedNode) -> list[PlannedNode] | None:
        """Return nodes of up to `most` millicores for what is on one that is `large`; None where too dear.

        Each holds some of its units. So no term per node is broken that was not before, and domains stay.
        """
        option = large.option
        rows = (_cpus(option) <= most).nonzero()[0]
        if not len(rows):
            return None
        smaller = replace(option, types=option.types[rows], prices=option.prices[rows])
        trial = self.remaining_limits.copy()
        trial.take_nodes(option, large.row, -1)
        pod_groups = [self._pod_groups[index] for index in large.parts]
        units = np.array(list(large.parts.values()), dtype=np.float64)
        context = self._context._replace(remaining_limits=trial)
        sizing = Sizing(smaller, pod_groups, context, per_node=option.template.surcharge, small=True)
        found = [replace(one, option=option, row=int(rows[one.row])) for one in sizing.planned_nodes(units)]
        dear = price_of(found) > large.price * _DEARER or cost_of(found) > large.cost * _DEARER_IN_ALL
        if units.any() or dear:
            return None
        self.remaining_limits = trial
        return found


def _cpus(option: NodeOption) -> Floats:
    """Return the millicores of each type (U)."""
    names, capacities = option.template.table.capacities
    if CPU not in names:
        return np.zeros(len(option.types))
    millicores: Floats = capacities[option.types, names.index(CPU)]
    return millicores


def _is_spot(planned_node: PlannedNode) -> bool:
    option = planned_node.option
    one = option.template.table.types[option.types[planned_node.row]]
    sold = one.cheapest(option.requirements)
    return sold is not None and sold.capacity_type == labels.SPOT
