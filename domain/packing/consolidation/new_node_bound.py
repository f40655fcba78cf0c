"""The new-node bound: what nodes to be bought for some pods cost at least, whatever their rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treenail.domain.packing.arrays.arrays import Axis, Floats
from treenail.domain.packing.consolidation.cheapest_launches import cheapest_launches
from treenail.domain.packing.problem import PackingSettings, PoolOffer


class NewNodeBound:
    """The least whole cost ($/h) of new nodes for a load, by the cheapest cost of a unit of each resource.

    A true bound: no nodes on offer cost less and hold the load. It is quick, and tells most candidates apart
    that no replacement could be cheaper than.
    """

    def __init__(self, offers: Sequence[PoolOffer], axis: Axis, settings: PackingSettings) -> None:
        rows = list(cheapest_launches(offers, settings))
        self._least = min((cost for _, cost in rows), default=np.inf)
        room = axis.rooms([amounts for amounts, _ in rows])
        costs: Floats = np.array([cost for _, cost in rows], dtype=np.float64)
        with np.errstate(divide="ignore"):
            each: Floats = costs[:, np.newaxis] / room
        # The cheapest unit of each resource (R): infinite where no type on offer has any.
        self._unit: Floats = each.min(axis=0, initial=np.inf)

    def of(self, load: Floats) -> float:
        """Return what nodes that hold `load` (R) cost at least, $/h; nothing for no load."""
        asked = load > 0
        if not asked.any():
            return 0.0
        return max(self._least, float((self._unit[asked] * load[asked]).max()))
