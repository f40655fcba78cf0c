"""The new-node bound: what nodes to be bought for some pods cost at least, whatever their rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treenail.domain.packing.arrays.arrays import Axis, Floats
from treenail.domain.packing.offers.catalogue_table import table_of
from treenail.domain.packing.problem import PackingSettings, PoolOffer


class NewNodeBound:
    """The least whole cost ($/h) of new nodes for a load, by the cheapest cost of a unit of each resource.

    A true bound: no nodes on offer cost less and hold the load. It is quick, and tells most candidates apart
    that no replacement could be cheaper than.
    """

    def __init__(self, offers: Sequence[PoolOffer], axis: Axis, settings: PackingSettings) -> None:
        self._least = np.inf
        # The cheapest unit of each resource (R): infinite where no type on offer has any.
        self._unit: Floats = np.full(len(axis.names), np.inf)
        for offer in offers:
            # Arrays of the catalogue, which are made once as long as it stays the same.
            table = table_of(offer.instance_types)
            cheapest: Floats = table.offers.prices.min(axis=1, initial=np.inf)
            sold = cheapest < np.inf
            costs = cheapest[sold] + offer.surcharge(settings)
            with np.errstate(divide="ignore"):
                each: Floats = costs[:, np.newaxis] / table.room(axis)[sold]
            self._least = min(self._least, float(costs.min(initial=np.inf)))
            self._unit = np.minimum(self._unit, each.min(axis=0, initial=np.inf))

    def of(self, load: Floats) -> float:
        """Return what nodes that hold `load` (R) cost at least, $/h; nothing for no load."""
        asked = load > 0
        if not asked.any():
            return 0.0
        return max(self._least, float((self._unit[asked] * load[asked]).max()))
