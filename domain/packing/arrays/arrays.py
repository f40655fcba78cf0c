"""Amounts as arrays: which column stands for which resource, and how many pods fit in a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from treenail.domain.model.resources import CPU, MEMORY, PODS

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]

# Below this every sum and difference of whole amounts is exact in a double. No machine is as large
# (4 PiB of memory): room is cut down to it, and a request beyond it fits nowhere.
_EXACT: Final = 2.0**52
# Up to so many amounts, the number of operations is what takes time, not their size.
_FEW: Final = 256
# Up to so many rows are compared in all pairs.
_FEW_ROWS: Final = 100
# Stands for zero where one divides: what is divided by it is huge, and still finite.
TINY: Final = 1e-200


class Axis:
    """The resources a problem is about, each with its column. CPU, memory and pods come first."""

    def __init__(self, vectors: Iterable[Mapping[str, int]]) -> None:
        named = {name for vector in vectors for name in vector}
        first = (CPU, MEMORY, PODS)
        # Sorted, so that equal problems have equal columns; the first three are at places that other modules
        # rely on.
        self.names: tuple[str, ...] = (*first, *sorted(named.difference(first)))

    def rooms(self, vectors: Sequence[Mapping[str, int]]) -> Floats:
        """Return a row of amounts (N, R) for each of N vectors; a resource not named is zero."""
        room: Floats = np.minimum(self._rows(vectors), _EXACT)
        return room

    def requests(self, vector: Mapping[str, int]) -> Floats:
        """Return a request as one row (R).

        Raises:
            ValueError: an amount is negative.
        """
        for name, amount in vector.items():
            if amount < 0:
                raise ValueError(f"requests {amount} of {name}")
        row: Floats = self._rows((vector,))[0]
        # Rounded, such a request might just fit; infinite, it fits nowhere.
        row[row > _EXACT] = np.inf
        return row

    def _rows(self, vectors: Sequence[Mapping[str, int]]) -> Floats:
        names = self.names
        rows = [[vector.get(name, 0) for name in names] for vector in vectors]
        array: Floats = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
        return array


def holds(room: Floats, loads: Floats) -> Bools:
    """Return which `room` (..., R) holds which of `loads` (..., R); the leading axes broadcast."""
    if room.size * loads.size <= _FEW * room.shape[-1]:
        few: Bools = np.logical_and.reduce(room >= loads, axis=-1)
        return few
    # Column by column: reducing over so short an axis takes several times as long, unless there is little.
    # Exact comparisons, without a tolerance: amounts are whole numbers below 2^52.
    held: Bools = np.asarray(room[..., 0] >= loads[..., 0])
    for column in range(1, room.shape[-1]):
        held = held & (room[..., column] >= loads[..., column])
    return held


def exceeds(rows: Floats, one: Floats) -> Bools:
    """Return which (N) of `rows` (N, R) exceed `one` (R) in some column."""
    if rows.size <= _FEW:
        few: Bools = np.logical_or.reduce(rows > one, axis=-1)
        return few
    over: Bools = rows[:, 0] > one[0]
    for column in range(1, rows.shape[1]):
        over |= rows[:, column] > one[column]
    return over


def first_holding(room: Floats, loads: Floats) -> Indices:
    """Return the first row of `room` (U, R) that holds each of `loads` (..., R): U where none does."""
    able = holds(room, loads[..., np.newaxis, :])
    first: Indices = able.argmax(axis=-1)
    first[~np.logical_or.reduce(able, axis=-1)] = len(room)
    return first


def count_fitting(free: Floats, requests: Floats) -> Floats:
    """Return how many pods of `requests` (R) fit into each row of `free` (..., R).

    Where they request nothing, that is infinitely many.
    """
    if free.size <= _FEW:
        ratios: Floats = np.empty(free.shape)
        ratios.fill(np.inf)
        np.divide(free, requests, out=ratios, where=requests > 0)
        few: Floats = np.minimum.reduce(ratios, axis=-1)
        return np.maximum(np.floor(few), 0.0)
    counts: Floats = np.full(free.shape[:-1], np.inf)
    for column in (requests > 0).nonzero()[0].tolist():
        np.minimum(counts, free[..., column] / requests[column], out=counts)
    return np.maximum(np.floor(counts), 0.0)


def maximal_rows(rows: Floats) -> Floats:
    """Return those of `rows` (N, R) that no other exceeds or equals in every column, the largest first."""
    in_order = rows[np.lexsort(rows.T[::-1])[::-1]]
    maximal: Floats = in_order[unequalled(in_order)]
    return maximal


def unequalled(rows: Floats) -> Indices:
    """Return the indices of `rows` (N, R) that no row before them exceeds or equals in every column."""
    if len(rows) <= _FEW_ROWS:
        # All pairs at once: that is quicker than a look at the rest for each that is kept.
        at = np.arange(len(rows))
        equalled = holds(rows[:, np.newaxis], rows) & (at[:, np.newaxis] < at)
        first: Indices = (~np.logical_or.reduce(equalled, axis=0)).nonzero()[0]
        return first
    left = np.arange(len(rows))
    kept: list[int] = []
    while len(left):
        kept.append(int(left[0]))
        left = left[exceeds(rows[left], rows[left[0]])]
    return np.array(kept, dtype=np.intp)
