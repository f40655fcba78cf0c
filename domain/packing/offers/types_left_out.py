"""Types left out of a node option, and those of which only the baseline of CPU counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Indices


@dataclass(frozen=True, slots=True)
class SetAside:
    """The types of a template, by row, that are left out, and of which only the baseline of CPU counts."""

    left_out: frozenset[int] = frozenset()
    at_baseline: frozenset[int] = frozenset()

    def joined(self, other: SetAside) -> SetAside:
        """Return what is set aside in a node that belongs to both options."""
        if self == other:
            return self
        return SetAside(self.left_out | other.left_out, self.at_baseline | other.at_baseline)

    def without_left_out(self, types: Indices) -> Indices:
        """Return `types` (T) less those left out."""
        return types[~_among(types, self.left_out)] if self.left_out else types

    def counting_baseline(self, types: Indices) -> Bools:
        """Return a mask (T) of the `types` (T) of which only the CPU baseline counts."""
        return _among(types, self.at_baseline)


NOTHING_ASIDE: Final = SetAside()


def _among(types: Indices, rows: frozenset[int]) -> Bools:
    found: Bools = np.isin(types, np.fromiter(rows, dtype=np.intp, count=len(rows)))
    return found
