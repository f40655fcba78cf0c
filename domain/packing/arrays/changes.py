"""Changes of an array by row: few rows change from one moment to the next, of arrays that are long."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.domain.packing.arrays.arrays import Floats, Indices


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Changes of an array: the `rows` that changed, and their new `values`."""

    rows: Indices
    values: Floats

    @classmethod
    def between(cls, before: Floats, after: Floats) -> Changes:
        """Return what leads from `before` to `after`: arrays (N) or (N, R) of one shape."""
        differ = before != after
        rows = (differ if differ.ndim == 1 else differ.any(axis=1)).nonzero()[0]
        return cls(rows, after[rows])

    def make(self, array: Floats) -> None:
        """Make the same changes in an array (N) or (N, R) that is as it was before them."""
        array[self.rows] = self.values
