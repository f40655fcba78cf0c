"""Class fits: how many pods of one class each existing node could take, remembered until that changes."""

from __future__ import annotations

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.existing.existing_nodes import ExistingNodes
from treenail.domain.packing.pods.classes import PodClass


class ClassFits:
    """Upper bounds on the pods of a class that existing nodes take, each class by itself. Mutable.

    Domains that pods must be in are left out: they depend on where other pods go.
    """

    def __init__(self, nodes: ExistingNodes) -> None:
        self._nodes = nodes
        self._known: dict[tuple[object, object], tuple[int, Floats]] = {}

    def of(self, one: PodClass, revision: int) -> Floats:
        """Return how many pods of a class each node (N) could take at most.

        `revision` is a number that changes when the nodes do.
        """
        key = (one.relaxation, one.requests.tobytes())
        known = self._known.get(key)
        if known is not None and known[0] == revision:
            return known[1]
        fits: Floats = np.zeros(len(self._nodes.names))
        for level in one.relaxation.levels:
            rows = self._nodes.open_to(level.demand)
            if len(rows):
                fits[rows] = np.maximum(fits[rows], self._nodes.fits(rows, one.requests, None))
        # Pods that request nothing fit infinitely often; sums are to remain numbers.
        fits = np.minimum(fits, 1e9)
        self._known[key] = (revision, fits)
        return fits
