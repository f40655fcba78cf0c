"""The nodes that are there, or on their way, and what is left on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treenail.domain.packing.arrays import Axis, Bools, Floats, count_fitting
from treenail.domain.packing.compatibility.ladder import Rung
from treenail.domain.packing.compatibility.masks import NodeMasks
from treenail.domain.packing.problem import Room
from treenail.domain.taints import Taint, Toleration, untolerated


class Rooms:
    """N rooms in the order they are filled, and what is free on each."""

    def __init__(self, rooms: Sequence[Room], axis: Axis) -> None:
        self.names = tuple(room.name for room in rooms)
        self._free: Floats = axis.rooms([room.free for room in rooms])
        # Overdrawn in whatever resource, a node holds nothing more.
        self._usable = np.array([min(room.free.values(), default=0) >= 0 for room in rooms], dtype=np.bool_)
        self._masks = NodeMasks([room.labels for room in rooms])
        self._taints = [room.taints for room in rooms]
        self._open_to: dict[Rung, Bools] = {}

    def fill(self, rung: Rung, requests: Floats, pods: int) -> dict[int, int]:
        """Put up to `pods` pods that demand `rung` into the first rooms that hold them: how many in which."""
        candidates = np.flatnonzero(self._open(rung))
        if not len(candidates):
            return {}
        fits = np.minimum(count_fitting(self._free[candidates], requests), pods)
        before = np.cumsum(fits) - fits
        taken = np.minimum(fits, np.maximum(pods - before, 0))
        filled = np.flatnonzero(taken)
        rows, counts = candidates[filled], taken[filled]
        self._free[rows] -= counts[:, np.newaxis] * requests
        return {int(row): int(count) for row, count in zip(rows, counts, strict=True)}

    def _open(self, rung: Rung) -> Bools:
        mask = self._open_to.get(rung)
        if mask is None:
            mask = self._usable & self._tolerated(rung.tolerations)
            if mask.any():
                mask &= self._masks.meeting((*rung.requirements.values(), *rung.present.values()))
            self._open_to[rung] = mask
        return mask

    def _tolerated(self, tolerations: tuple[Toleration, ...]) -> Bools:
        verdicts: dict[tuple[Taint, ...], bool] = {}
        for taints in self._taints:
            if taints not in verdicts:
                verdicts[taints] = untolerated(taints, tolerations) is None
        return np.array([verdicts[taints] for taints in self._taints], dtype=np.bool_)
