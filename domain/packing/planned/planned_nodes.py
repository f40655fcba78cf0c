"""Planned nodes, while a plan is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.offers.node_options import NodeOption


@dataclass(frozen=True, slots=True, eq=False)
class PlannedNode:
    """A planned node, times `copies`. Copies keep the work independent of the number of nodes.

    `parts` is how many units of each pod group (by index) one copy holds, `load` (R) what they request
    together. `row` is the instance type the node is planned with, the cheapest one its option allows.
    """

    option: NodeOption
    row: int
    load: Floats
    parts: Mapping[int, int]
    copies: int = 1

    @property
    def price(self) -> float:
        """The price of one copy, $/h."""
        return float(self.option.prices[self.row])

    @property
    def cost(self) -> float:
        """The cost of one copy in all, $/h."""
        return float(self.option.costs[self.row])

    @property
    def free(self) -> Floats:
        """The room that is left (R) on each copy."""
        rest: Floats = self.option.room[self.row] - self.load
        return rest


@dataclass(frozen=True, slots=True)
class Bound:
    """The least that nodes for some pods can cost, $/h: their prices together, and their whole cost."""

    price: float = 0.0
    cost: float = 0.0

    def plus(self, other: Bound) -> Bound:
        """Return the sum of two bounds."""
        return Bound(self.price + other.price, self.cost + other.cost)


def added(parts: Mapping[int, int], more: Mapping[int, int]) -> dict[int, int]:
    """Return the sum of two counts of units by pod group."""
    # Mappings are never changed in place: planned nodes share them, and a plan may be gone back to.
    together = dict(parts)
    for index, pods in more.items():
        together[index] = together.get(index, 0) + pods
    return together


def cost_of(planned_nodes: Iterable[PlannedNode]) -> float:
    """Return what all copies cost together in all, $/h."""
    # Sums of floats depend on the order in the last bits; who compares them allows for that.
    return sum(planned_node.cost * planned_node.copies for planned_node in planned_nodes)


def price_of(planned_nodes: Iterable[PlannedNode]) -> float:
    """Return the prices of all copies together, $/h."""
    return sum(planned_node.price * planned_node.copies for planned_node in planned_nodes)


def nodes_in(planned_nodes: Iterable[PlannedNode]) -> int:
    """Return how many nodes there are, copies counted."""
    return sum(planned_node.copies for planned_node in planned_nodes)


def units_in(planned_nodes: Iterable[PlannedNode]) -> int:
    """Return how many units of all pod groups together the planned nodes hold."""
    return sum(sum(planned_node.parts.values()) * planned_node.copies for planned_node in planned_nodes)


def placed_in(planned_nodes: Iterable[PlannedNode]) -> dict[int, int]:
    """Return how many units of each pod group (by index) the planned nodes hold."""
    # By pod group, and not in sum: a cheaper plan must hold no fewer of any of them.
    placed: dict[int, int] = {}
    for planned_node in planned_nodes:
        for index, pods in planned_node.parts.items():
            placed[index] = placed.get(index, 0) + pods * planned_node.copies
    return placed
