"""Covering: choices of a few types that together have room for a load, found by a beam search."""

from __future__ import annotations

from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, Indices, first_holding

# The width of the beam: so many beginnings of a choice are carried on, those that promise to cost least.
_BEGINNINGS: Final = 16
# What is left of a load costs about so much more than its worth. So of two beginnings that waste as little,
# the one that leaves less goes first.
_WASTE: Final = 0.3


class Covering:
    """Choices of types, of `room` (T, R) at `prices` (T), the cheapest first.

    `dual_prices` (R) are what a unit of each resource costs at least.
    """

    def __init__(self, room: Floats, prices: Floats, dual_prices: Floats) -> None:
        self._room = room
        self._prices = prices
        self._dual_prices = dual_prices
        self._none = len(prices)

    def choices(self, load: Floats, below: float, most: int) -> Indices:
        """Return choices of up to `most` types that have room for `load` (R) and cost less than `below`.

        They are of rows (C, `most`), the dearest first and T for none. Those that cost least come first.
        """
        rows: Indices = np.empty((1, 0), dtype=np.intp)
        last: Indices = np.array([self._none - 1])
        rests, costs = load[np.newaxis], np.zeros(1)
        found: list[Indices] = []
        of_found: list[Floats] = []
        for place in range(most):
            end = first_holding(self._room, rests)
            whole = np.append(self._prices, np.inf)[end] + costs
            # The cheapest type that holds the rest ends a choice. Types come dearest first, so that each set
            # is found once.
            ended = ((end <= last) & (whole < below)).nonzero()[0]
            chosen = np.full((len(ended), most), self._none)
            chosen[:, :place] = rows[ended]
            chosen[:, place] = end[ended]
            found.append(chosen)
            of_found.append(whole[ended])
            of, last, rests, costs = self._further(rests, costs, last, below)
            rows = np.column_stack([rows[of], last])
            if not len(rows):
                break
        cheapest = np.concatenate(of_found).argsort(kind="stable")
        in_order: Indices = np.vstack(found)[cheapest]
        return in_order

    def _further(
        self, rests: Floats, costs: Floats, last: Indices, below: float
    ) -> tuple[Indices, Indices, Floats, Floats]:
        """Add a type, no dearer than its `last`, to each of B beginnings that leave `rests` (B, R).

        Return for the best results: the beginning each came from, the type added, the rest (B, R), and the
        cost.
        """
        after = np.maximum(rests[:, np.newaxis] - self._room, 0.0)
        so_far = costs[:, np.newaxis] + self._prices
        worth = after @ self._dual_prices
        # What is left costs at least its worth: beginnings that cannot stay below the limit are cut off.
        useless = ~np.logical_or.reduce(after > 0, axis=2) | (so_far + worth >= below)
        useless |= np.arange(self._none) > last[:, np.newaxis]
        promise = np.where(useless, np.inf, so_far + (1 + _WASTE) * worth).ravel()
        best = promise.argsort(kind="stable")[:_BEGINNINGS]
        # The flat index says which beginning, and which type was added to it.
        of, added = np.divmod(best[promise[best] < np.inf], self._none)
        return of, added, after[of, added], so_far[of, added]
