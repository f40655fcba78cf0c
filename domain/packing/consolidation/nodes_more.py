"""Nodes more: the price of nodes for pods that a move leaves without a place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, count_fitting
from treenail.domain.packing.consolidation.bought import Bought
from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand


@dataclass(frozen=True, slots=True)
class _Purchase:
    """Nodes for pods: their cost, $/h, the demand they were found for, and all that is bought with them."""

    cost: float
    demand: Demand
    bought: Bought


class NodesMore:
    """The price of nodes for pods that are left, by the options that packing has for their classes."""

    def __init__(self, context: PackingContext) -> None:
        self._options = context.options
        self._classes = {one.index: one for one in context.parsed.classes}

    def cost(self, left: Mapping[int, int], bought: Bought) -> float:
        """Return what nodes cost, $/h, for so many pods of each class, by its index; infinite for none.

        They are bought beside what is `bought`: within limits, and in a reservation as long as there is room.
        Either one node takes all pods, or each class gets nodes of its own.
        """
        apart, demands, beside = 0.0, [], bought
        for index, pods in sorted(left.items()):
            found = self._of_class(self._classes[index], pods, beside)
            if found is None:
                return math.inf
            apart, beside = apart + found.cost, found.bought
            demands.append(found.demand)
        return min(apart, self._together(tuple(demands), left, bought))

    def _of_class(self, one: PodClass, pods: int, bought: Bought) -> _Purchase | None:
        """Return the nodes for pods of one class alone, in the order in which packing tries what they ask."""
        demands = (level.demand for level in one.relaxation.levels)
        found = (self._bought(demand, (demand,), one.requests, pods, bought) for demand in demands)
        return next(filter(None, found), None)

    def _together(self, demands: tuple[Demand, ...], left: Mapping[int, int], bought: Bought) -> float:
        """Return what one node that takes all pods costs, $/h; infinite where there is none."""
        load: Floats = np.sum([self._classes[index].requests * pods for index, pods in left.items()], axis=0)
        found = self._bought(demands[0], demands, load, 1, bought)
        return math.inf if found is None else found.cost

    def _bought(
        self, demand: Demand, demands: tuple[Demand, ...], requests: Floats, pods: int, bought: Bought
    ) -> _Purchase | None:
        """Return the nodes that meet all `demands` for so many alike pods, from the first pool with any."""
        for option in self._options.of_each(*demands):
            offer, types = option.template.offer, option.template.table.types
            for row, nodes, cost in _in_order(option, requests, pods):
                capacity = types[option.types[row]].capacity
                if bought.leaves(offer, capacity, nodes):
                    return _Purchase(cost, demand, bought.and_nodes(offer, capacity, nodes))
        return None


def _in_order(option: NodeOption, requests: Floats, pods: int) -> Iterator[tuple[int, int, float]]:
    """Yield the types of an option that hold such pods, the cheapest first: row, nodes and their cost."""
    fitting = np.minimum(count_fitting(option.room, requests), pods)
    rows = np.flatnonzero(fitting >= 1)
    nodes = np.ceil(pods / fitting[rows])
    costs = nodes * option.costs[rows]
    for at in np.argsort(costs, kind="stable").tolist():
        yield int(rows[at]), int(nodes[at]), float(costs[at])
