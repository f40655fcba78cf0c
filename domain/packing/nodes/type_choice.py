"""The choice of instance types, for pods that may all share nodes, so that together they cost little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import TINY, Bools, Floats, Indices, count_fitting, first_holding
from treenail.domain.packing.arrays.lazy import Lazy
from treenail.domain.packing.identity import IdentityMap, grouping
from treenail.domain.packing.nodes.alike import nodes_for
from treenail.domain.packing.nodes.bound import dual_prices_of
from treenail.domain.packing.nodes.filling import asked_for, by_proportions, fill, proportional
from treenail.domain.packing.nodes.first_fit import cheapest_allowed
from treenail.domain.packing.nodes.planning_context import PlanningContext
from treenail.domain.packing.offers.node_options import NodeOption
from treenail.domain.packing.planned.planned_nodes import PlannedNode
from treenail.domain.packing.planned.pod_groups import PodGroup

# How full of the average mix of pods a node is made before it is topped up with what suits its shape.
_SHARES: Final = np.array([1.0, 0.93, 0.7])
# How many types are weighed for a node, for each of the reasons there are to weigh one.
_WEIGHED: Final = 3
# With fewer nodes than this to come, types are weighed together with the one node that would hold the rest.
_FEW: Final = 3.0
# Fewer alike nodes than this are chosen one at a time: the last ones decide how well it comes out.
_MANY: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """The next node: its type by row, what it holds of each class (I), and how many such nodes."""

    row: int
    counts: Floats
    copies: int


class Sizing:
    """Sizes nodes of one node option for pod groups that nothing keeps apart.

    `per_node` ($/h) is what a node is to cost beyond its price: the higher, the fewer nodes. With `small`,
    several small nodes may take the place of a large one for all that is left. `smaller` then says whether
    that happened anywhere.
    """

    def __init__(
        self,
        option: NodeOption,
        pod_groups: Sequence[PodGroup],
        context: PlanningContext,
        *,
        per_node: float,
        small: bool,
    ) -> None:
        self._option = option
        _, _, self._remaining_limits, self._steps = context
        self._per_node = per_node
        self._small = small
        self.smaller = False
        # Groups with one array of requests are alike here: they are sized as one class, and dealt out at the
        # end.
        classes: IdentityMap[Floats, list[int]] = grouping()
        for at, pod_group in enumerate(pod_groups):
            classes[pod_group.requests].append(at)
        self._pod_groups = pod_groups
        self._classes = list(classes.values())
        self._whole_requests: Floats = np.array(list(classes))

    @Lazy
    def _asked(self) -> Bools:
        """Return which resources are asked for at all (R)."""
        return asked_for(self._whole_requests)

    @Lazy
    def _requests(self) -> Floats:
        return self._whole_requests[:, self._asked]

    @Lazy
    def _room(self) -> Floats:
        return self._option.room[self._option.undominated][:, self._asked]

    @Lazy
    def _prices(self) -> Floats:
        return self._option.prices[self._option.undominated] + self._per_node

    @Lazy
    def _least(self) -> Floats:
        """Return the least cost of a node that holds a pod of each class (I)."""
        rows = first_holding(self._option.room, self._whole_requests)
        return np.append(self._option.prices, np.inf)[rows] + self._per_node

    @Lazy
    def _order(self) -> Indices:
        return by_proportions(self._requests)

    def planned_nodes(self, units: Floats) -> list[PlannedNode]:
        """Return nodes for the `units` (G) of each pod group as far as limits go; take off what they hold."""
        planned_nodes: list[PlannedNode] = []
        of_pod_groups = units.tolist()
        left: Floats = np.array([np.add.reduce(units[members]) for members in self._classes])
        while np.logical_or.reduce(left) and not self._steps.exhausted:
            self._steps.spend()
            choices = self._alike(left) or self._next(left)
            if not choices:
                break
            for choice in choices:
                planned_nodes += self._dealt(choice, of_pod_groups)
                left -= choice.copies * choice.counts
        units[:] = of_pod_groups
        return planned_nodes

    def _dealt(self, choice: _Choice, units: list[float]) -> Iterator[PlannedNode]:
        """Yield the nodes chosen. What they hold of a class is dealt to its groups in order, and off `units`.

        Copies stay together as long as the groups they are dealt from last.
        """
        option, copies = self._option, choice.copies
        self._remaining_limits.take_nodes(option, choice.row, copies)
        load = choice.counts @ self._whole_requests
        wanted = [(self._classes[at], float(choice.counts[at])) for at in choice.counts.nonzero()[0].tolist()]
        while copies:
            alike = copies
            for members, count in wanted:
                while not units[members[0]]:
                    members.pop(0)
                alike = min(alike, max(int(units[members[0]] // count), 1))
            parts: dict[int, int] = {}
            for members, count in wanted:
                rest = count
                for at in members:
                    taken = min(rest, units[at])
                    if taken:
                        units[at] -= taken * alike
                        rest -= taken
                        parts[self._pod_groups[at].index] = int(taken)
                    if not rest:
                        break
            copies -= alike
            yield PlannedNode(option, choice.row, load, parts, alike)

    def _alike(self, left: Floats) -> list[_Choice]:
        """Choose all nodes where one class of pods is left, and they may be small; none otherwise."""
        # Alike pods can be solved exactly, but not under limits, which the program does not know.
        waiting = left.nonzero()[0].tolist() if self._small and not self._option.template.limited else []
        if len(waiting) != 1:
            return []
        at, pods = waiting[0], int(left[waiting[0]])
        holds = np.minimum(count_fitting(self._room, self._requests[at]), pods).astype(int).tolist()
        # Whole pods of one shape on types that hold so many each: a knapsack with small numbers, where duals
        # would only guess.
        choices = []
        for nodes in nodes_for(pods, holds, self._prices.tolist()):
            counts = np.zeros_like(left)
            counts[at] = nodes.pods
            choices.append(_Choice(int(self._option.undominated[nodes.at]), counts, nodes.copies))
        self.smaller |= sum(choice.copies for choice in choices) > 1
        return choices

    def _next(self, left: Floats) -> list[_Choice]:
        """Choose the next node, and how many of it to take; none where limits leave none."""
        option = self._option
        # One node for all that is left ends the search. It is taken at once where no two nodes could cost
        # less.
        whole = cheapest_allowed(option, left @ self._whole_requests, self._remaining_limits, 0.0)
        dearness = np.inf if whole is None else float(option.prices[whole]) + self._per_node
        if whole is not None and dearness <= self._least_of_two(left):
            return [_Choice(whole, left.copy(), 1)]
        # Otherwise the next of several nodes is chosen, and taken only if all of them together seem to cost
        # less.
        several = self._one_of_several(left)
        if several is None or (whole is not None and dearness <= several[0]):
            return [] if whole is None else [_Choice(whole, left.copy(), 1)]
        return [several[1]]

    def _least_of_two(self, left: Floats) -> float:
        """Return what two nodes or more for the pods `left` (I) cost at least."""
        if np.add.reduce(left) <= 1:
            return np.inf
        return float(np.maximum.reduce(self._least[left > 0]) + self._option.prices[0]) + self._per_node

    def _one_of_several(self, left: Floats) -> tuple[float, _Choice] | None:
        """Choose the next of several nodes; return the estimated cost of all of them with it."""
        rows, room, prices = self._option.undominated, self._room, self._prices
        if self._option.template.limited:
            allowed = self._remaining_limits.allowed(self._option)[rows].nonzero()[0]
            rows, room, prices = rows[allowed], room[allowed], prices[allowed]
        if not len(rows):
            return None
        demand = left @ self._requests
        # Computed anew for what is left: the worth of a resource falls as the pods that need it get their
        # nodes.
        dual_prices = dual_prices_of(demand, room, prices)
        weighed = _worth_weighing(demand, room, prices, dual_prices)
        counts, copies = self._filled(room[weighed], left)
        if not len(counts):
            return None
        loads = counts @ self._requests
        # A fill that came out smaller than its type may fit a cheaper one.
        chosen = first_holding(room, loads)
        rest = demand - loads
        # The estimate for the nodes after this one: per unit of worth (by dual prices), they waste as much as
        # this one.
        wasteful = prices[chosen] / np.maximum(loads @ dual_prices, TINY)
        later = _cost_of_rest(rest, room, prices, (rest @ dual_prices) * np.maximum(wasteful, 1.0))
        costs = prices[chosen] + later
        best = int(costs.argmin())
        if self._small:
            large, costs = best, prices[chosen] + _or_several(later, rest, room, prices, dual_prices)
            best = int(costs.argmin())
            # Noted, so that the caller can try a plan of large nodes as well: which is better shows only in
            # the end.
            self.smaller |= best != large
        row = int(rows[chosen[best]])
        copies_made = int(min(copies[best], self._remaining_limits.copies(self._option, row)))
        return float(costs[best]), _Choice(row, counts[best], copies_made)

    def _filled(self, room: Floats, left: Floats) -> tuple[Floats, Floats]:
        """Return what a node of each `room` (W, R) might hold (B, I), and of how many such nodes (B).

        What a node gets of a class leaves as much for each of its copies; there are about half as many
        as would hold all pods, so that what is left, of another mix by then, is looked at again.
        """
        share = np.minimum.reduce(room / np.maximum(left @ self._requests, TINY), axis=1)
        copies = np.floor(0.5 / np.maximum(share, TINY))
        copies[copies < _MANY] = 1.0
        each = np.arange(len(room)).repeat(len(_SHARES))
        room, copies = room[each], copies[each]
        pods = np.floor(left / copies[:, np.newaxis])
        # With few pods of each class the share for many copies rounds down to nothing, and these would need
        # nodes of their own in the end: then a single node is filled from all of them.
        none = ~np.logical_or.reduce((pods @ self._requests) > 0, axis=1)
        pods[none], copies[none] = left, 1.0
        shares = np.empty((len(room) // len(_SHARES), len(_SHARES)))
        shares[:] = _SHARES
        start = proportional(room, self._requests, pods, shares.ravel(), self._order)
        counts = fill(room, self._requests, pods, start)
        some = np.logical_or.reduce(counts > 0, axis=1)
        return counts[some], copies[some]


def _cost_of_rest(rest: Floats, room: Floats, prices: Floats, several: Floats) -> Floats:
    """Return an estimate of what the nodes for each `rest` (B, R) will cost: the price of one if one will do.

    `several` (B) is the estimate for more than one.
    """
    rows = first_holding(room, rest)
    one: Bools = rows < len(prices)
    value: Floats = np.where(one, prices[np.minimum(rows, len(prices) - 1)], several)
    value[np.logical_and.reduce(rest <= 0, axis=1)] = 0.0
    return value


def _or_several(one: Floats, rest: Floats, room: Floats, prices: Floats, dual_prices: Floats) -> Floats:
    """Return the cost of nodes for each `rest` (B, R): of one node, `one` (B), or of several of a small type.

    A small type may have room for almost as many pods as one that costs much more.
    """
    doubtful = (one > rest @ dual_prices).nonzero()[0]
    if not len(doubtful):
        return one
    copies = np.ceil(np.maximum.reduce(rest[doubtful, np.newaxis] / np.maximum(room, TINY), axis=2))
    several = np.minimum.reduce(copies * prices, axis=1)
    either = one.copy()
    either[doubtful] = np.minimum(one[doubtful], several)
    return either


def _worth_weighing(demand: Floats, room: Floats, prices: Floats, dual_prices: Floats) -> Indices:
    """Return the rows of the types that promise most as the next node, by three measures."""
    # Reduced cost: what a type costs beyond the worth of its room. Types in the cover have none.
    dearness = 1.0 - (room @ dual_prices) / np.maximum(prices, TINY)
    share = np.minimum(np.minimum.reduce(room / np.maximum(demand, TINY), axis=1), 1.0)
    # The price for each share of the average mix of pods: duals know nothing of proportions.
    efficient = prices / np.maximum(share, TINY)
    chosen = [
        *dearness.argsort(kind="stable")[:_WEIGHED].tolist(),
        *efficient.argsort(kind="stable")[:_WEIGHED].tolist(),
    ]
    # Near the end nodes are whole, and duals of fractions mislead: the type and the one node after it are
    # looked at.
    if demand @ dual_prices < _FEW * np.maximum.reduce(prices):
        rest = np.maximum(demand - room, 0.0)
        rows = first_holding(room, rest)
        more = np.append(prices, np.inf)[rows]
        more[np.logical_and.reduce(rest <= 0, axis=1)] = 0.0
        together = prices + more
        chosen += together.argsort(kind="stable")[:_WEIGHED].tolist()
    return np.array(sorted(set(chosen)), dtype=np.intp)
