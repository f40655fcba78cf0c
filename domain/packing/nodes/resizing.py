"""Resizing: replaces some nodes of a plan by others that hold the same pods for less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, Indices
from treenail.domain.packing.arrays.lazy import Lazy
from treenail.domain.packing.arrays.steps import Steps
from treenail.domain.packing.nodes.bound import dual_prices_of
from treenail.domain.packing.nodes.covering import Covering
from treenail.domain.packing.nodes.filling import asked_for, by_proportions, fill, proportional
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.planned.planned_nodes import PlannedNode
from treenail.domain.packing.planned.pod_groups import PodGroup

# Of a plan of more nodes than this, what could be saved on a few of them is not worth looking for.
_MOST_NODES: Final = 16
# So many nodes are sized anew together at most, and so many are put in their place.
_TOGETHER: Final = 6
_INSTEAD: Final = 5
# How many choices of types are tried in place of some nodes, the cheapest first: then twice as many.
_TRIED: Final = 8
# Few units share nodes less evenly. Up to so many, more is tried, also sizes with so much room to spare.
_FEW_UNITS: Final = 100
_SPARE: Final = 1.03
# How full of the average mix of pods a node is made before it is topped up with what suits its shape: where
# the small nodes are filled first, and where the large ones are.
_SHARES: Final = np.array([0.5, 0.0])
_LARGE_FIRST: Final = np.array([1.0, 0.85])
# Less than this share of the whole cost is not worth it.
_WORTH_IT: Final = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class _SizedNode:
    """A node that costs so much ($/h), and how many units of each pod group are on it (I)."""

    cost: float
    counts: Floats


class Resizing:
    """Sizes anew the nodes that waste the most: nodes of one option, of pods that nothing keeps apart."""

    def __init__(self, option: NodeOption, pod_groups: Sequence[PodGroup], steps: Steps) -> None:
        self._option = option
        self._pod_groups = pod_groups
        self._places = {pod_group.index: place for place, pod_group in enumerate(pod_groups)}
        self._steps = steps
        self._whole_requests: Floats = np.array([pod_group.requests for pod_group in pod_groups])
        asked = asked_for(self._whole_requests)
        self._requests = self._whole_requests[:, asked]
        self._room = option.room[option.undominated][:, asked]
        self._costs = option.costs[option.undominated]

    def run(self, planned_nodes: Sequence[PlannedNode], bound: float) -> list[PlannedNode]:
        """Return nodes for the same units that cost less if any were found.

        Stops when they cost next to no more than `bound` ($/h).
        """
        nodes = [
            _SizedNode(planned_node.cost, self._counts(planned_node))
            for planned_node in planned_nodes
            for _ in range(planned_node.copies)
        ]
        if len(nodes) > _MOST_NODES:
            return list(planned_nodes)
        self._dual_prices = self._dual_prices_of(nodes)
        self._covering = Covering(self._room, self._costs, self._dual_prices)
        changed = False
        while sum(node.cost for node in nodes) > bound * (1 + _WORTH_IT) and not self._steps.exhausted:
            found = self._changed(nodes)
            if found is None:
                break
            nodes, changed = found, True
        return [self._planned_node(node) for node in nodes] if changed else list(planned_nodes)

    def _changed(self, nodes: list[_SizedNode]) -> list[_SizedNode] | None:
        """Return cheaper nodes for what is on `nodes`, some of which are still the same; None without any."""
        # A node wastes what it costs beyond the worth of its pods. The one that wastes most is in every try.
        worst = sorted(nodes, key=self._wasted, reverse=True)
        least = _WORTH_IT * sum(node.cost for node in nodes)
        # From one node up: small exchanges are found quickly, and the next round starts from a better plan.
        for some in range(1, min(_TOGETHER, len(nodes)) + 1):
            units = np.sum([node.counts for node in worst[:some]], axis=0)
            found = self._instead(units, sum(node.cost for node in worst[:some]) - least)
            if found is not None:
                return [*worst[some:], *found]
        return None

    def _dual_prices_of(self, nodes: Sequence[_SizedNode]) -> Floats:
        demand = np.sum([node.counts for node in nodes], axis=0) @ self._requests
        return dual_prices_of(demand, self._room, self._costs)

    def _wasted(self, node: _SizedNode) -> float:
        """Return what a node costs beyond what its pods are worth ($/h)."""
        return node.cost - float(node.counts @ self._requests @ self._dual_prices)

    def _counts(self, planned_node: PlannedNode) -> Floats:
        counts = np.zeros(len(self._pod_groups))
        for index, units in planned_node.parts.items():
            counts[self._places[index]] = units
        return counts

    @Lazy
    def _with_none(self) -> tuple[Floats, Floats]:
        """Costs and room of the types, and of no type at all, which comes last."""
        return np.append(self._costs, 0.0), np.vstack([self._room, np.zeros(self._room.shape[1])])

    def _instead(self, units: Floats, below: float) -> list[_SizedNode] | None:
        """Return nodes, a few, that hold `units` (I) and cost less than `below`; None without any."""
        self._steps.spend()
        # Covering knows sums alone, and so is quick; whether whole pods fit is tried for the few sets that it
        # returns.
        load = units @ self._requests
        # Even fractions of nodes would not be cheap enough.
        if load @ self._dual_prices >= below:
            return None
        choices = self._covering.choices(load, below, _INSTEAD)[: 3 * _TRIED]
        # Small nodes first: the units they leave, which may be large, have room on the others.
        small_first = choices[:, ::-1]
        found = self._held(units, small_first[:_TRIED], _SHARES)
        if found is None:
            found = self._held(units, small_first[_TRIED:], _SHARES)
        if found is None and units.sum() <= _FEW_UNITS:
            roomy = self._covering.choices(load * _SPARE, below, _INSTEAD)[:_TRIED]
            found = self._held(units, np.vstack([choices, roomy]), _LARGE_FIRST)
        return found

    def _held(self, units: Floats, choices: Indices, shares: Floats) -> list[_SizedNode] | None:
        """Return the nodes of the first of `choices` (C, N), by row, that `units` (I) fit into, if any.

        They are filled in that order, with about such `shares` (S) of the average mix to begin with.
        """
        if not len(choices):
            return None
        rows, shares = choices.repeat(len(shares), axis=0), np.tile(shares, len(choices))
        left = np.tile(units, (len(rows), 1))
        held = []
        for place in range(rows.shape[1]):
            own = self._with_none[1][rows[:, place]]
            start = proportional(own, self._requests, left, shares, self._order)
            held.append(fill(own, self._requests, left, start))
            left = left - held[-1]
        # Room in sum is not room for whole pods: only a choice that all units really went into counts, and
        # the first is the cheapest.
        done = (~np.logical_or.reduce(left > 0, axis=1)).nonzero()[0]
        if not len(done):
            return None
        best = int(done[0])
        of = zip(rows[best].tolist(), held, strict=True)
        return [_SizedNode(float(self._costs[row]), counts[best]) for row, counts in of if counts[best].any()]

    @Lazy
    def _order(self) -> Indices:
        return by_proportions(self._requests)

    def _planned_node(self, node: _SizedNode) -> PlannedNode:
        load = node.counts @ self._whole_requests
        # The type it was filled as, or a cheaper one if it was not filled up.
        row = self._option.cheapest_holding(load)
        assert row is not None  # noqa: S101 (the node is of a type that holds it)
        parts = {
            pod_group.index: int(count)
            for pod_group, count in zip(self._pod_groups, node.counts, strict=True)
            if count
        }
        return PlannedNode(self._option, row, load, parts)
