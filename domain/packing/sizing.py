"""Choose node sizes for pods that may all share nodes, so that together they cost little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treenail.domain.packing.arrays import TINY, Bools, Floats, Indices, first_holding
from treenail.domain.packing.bound import fractional_cover
from treenail.domain.packing.compatibility.families import Family
from treenail.domain.packing.drafts import Draft
from treenail.domain.packing.filling import fill, proportional
from treenail.domain.packing.limits import Ledger
from treenail.domain.packing.lots import Lot
from treenail.domain.packing.steps import Steps

# How full of the average mix of pods a node is made before it is topped up with what suits its shape.
_SHARES: Final = np.array([1.0, 0.93, 0.7])
# How many types are weighed for a node, for each of the reasons there are to weigh one.
_WEIGHED: Final = 3
# Fewer nodes than this to come, and the choice of one is made with a view to the rest of them.
_FEW: Final = 3.0
# As many alike nodes as this, or one at a time: a few are better chosen one after the other.
_MANY: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """The next node: its type by row, what it holds of each class (I), and how many such nodes."""

    row: int
    counts: Floats
    copies: int


class Sizing:
    """Sizes nodes of one family for lots that nothing keeps apart.

    `per_node` ($/h) is what a node is to cost beyond its price: the higher, the fewer nodes.
    """

    def __init__(
        self, family: Family, lots: Sequence[Lot], ledger: Ledger, steps: Steps, *, per_node: float
    ) -> None:
        self._family = family
        self._lots = lots
        self._ledger = ledger
        self._steps = steps
        self._whole_requests: Floats = np.array([lot.requests for lot in lots])
        asked: Bools = self._whole_requests.max(axis=0) > 0
        # Even for pods that ask for nothing there must be something to look at.
        asked[0] = True
        self._requests: Floats = self._whole_requests[:, asked]
        self._rows = family.bargains
        self._room: Floats = family.room[self._rows][:, asked]
        self._prices = family.prices[self._rows] + per_node
        self._order = _by_shape(self._requests)

    def drafts(self, left: Floats) -> list[Draft]:
        """Return nodes for the pods `left` (I) as far as the limits go, and take off those they hold."""
        drafts: list[Draft] = []
        while left.any() and not self._steps.exhausted:
            self._steps.spend()
            choice = self._next(left)
            if choice is None:
                break
            drafts.append(self._draft(choice))
            left -= choice.copies * choice.counts
        return drafts

    def _draft(self, choice: _Choice) -> Draft:
        family = self._family
        self._ledger.take(family.template, family.capacity[choice.row] * choice.copies)
        parts = {lot.index: int(count) for lot, count in zip(self._lots, choice.counts, strict=True) if count}
        return Draft(family, choice.row, choice.counts @ self._whole_requests, parts, choice.copies)

    def _next(self, left: Floats) -> _Choice | None:
        """Choose the next node, and how many of it to take."""
        allowed = self._ledger.allowed(self._family)[self._rows].nonzero()[0]
        if not len(allowed):
            return None
        rows, room, prices = self._rows[allowed], self._room[allowed], self._prices[allowed]
        demand = left @ self._requests
        worth = fractional_cover(demand, room, prices).worth
        weighed = _worth_weighing(demand, room, prices, worth)
        counts, copies = self._filled(room[weighed], left)
        if not len(counts):
            return None
        loads = counts @ self._requests
        chosen = first_holding(room, loads)
        costs = prices[chosen] + _outlook(demand - loads, room, prices, worth)
        best = int(costs.argmin())
        whole = int(first_holding(room, demand[np.newaxis])[0])
        if whole < len(room) and prices[whole] <= costs[best]:
            return _Choice(int(rows[whole]), left.copy(), 1)
        row = int(rows[chosen[best]])
        return _Choice(row, counts[best], int(min(copies[best], self._ledger.copies(self._family, row))))

    def _filled(self, room: Floats, left: Floats) -> tuple[Floats, Floats]:
        """Return what a node of each `room` (W, R) might hold (B, I), and of how many such nodes (B).

        What a node gets of a class leaves as much for each of its copies; there are about half as many
        as would hold all pods, so that what is left, of another mix by then, is looked at again.
        """
        share = (room / np.maximum(left @ self._requests, TINY)).min(axis=1)
        copies = np.floor(0.5 / np.maximum(share, TINY))
        copies[copies < _MANY] = 1.0
        room, copies = np.repeat(room, len(_SHARES), axis=0), np.repeat(copies, len(_SHARES))
        pods = np.floor(left / copies[:, np.newaxis])
        # Rare classes would go without, and have to have nodes of their own in the end.
        none = ~(pods @ self._requests).any(axis=1)
        pods[none], copies[none] = left, 1.0
        start = proportional(
            room, self._requests, pods, np.tile(_SHARES, len(room) // len(_SHARES)), self._order
        )
        counts = fill(room, self._requests, pods, start)
        some = counts.any(axis=1)
        return counts[some], copies[some]


def _by_shape(requests: Floats) -> Indices:
    """Return an order of classes (I) in which neighbours ask for resources in similar proportions."""
    scaled = requests / np.maximum(requests.max(axis=0), TINY)
    shape = scaled[:, 0] / np.maximum(scaled.sum(axis=1), TINY)
    return np.lexsort((scaled.sum(axis=1), shape))


def _outlook(rest: Floats, room: Floats, prices: Floats, worth: Floats) -> Floats:
    """Return about what the nodes for each `rest` (B, R) will cost: the price of one if one will do."""
    rows = first_holding(room, rest)
    priced = np.append(prices, np.inf)[rows]
    none = (rest <= 0).all(axis=1)
    value: Floats = np.where(none, 0.0, np.where(np.isfinite(priced), priced, rest @ worth))
    return value


def _worth_weighing(demand: Floats, room: Floats, prices: Floats, worth: Floats) -> Indices:
    """Return the rows of the types that promise most as the next node."""
    dearness = 1.0 - (room @ worth) / np.maximum(prices, TINY)
    share = np.minimum((room / np.maximum(demand, TINY)).min(axis=1), 1.0)
    efficient = prices / np.maximum(share, TINY)
    chosen = [
        *dearness.argsort(kind="stable")[:_WEIGHED].tolist(),
        *efficient.argsort(kind="stable")[:_WEIGHED].tolist(),
    ]
    if demand @ worth < _FEW * prices.max():
        rest = np.maximum(demand - room, 0.0)
        rows = first_holding(room, rest)
        together = prices + np.where((rest > 0).any(axis=1), np.append(prices, np.inf)[rows], 0.0)
        chosen += together.argsort(kind="stable")[:_WEIGHED].tolist()
    return np.array(sorted(set(chosen)), dtype=np.intp)
