"""Prices of nodes: what existing nodes cost now, by what pools could launch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from treenail.domain.model import labels
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeView
from treenail.domain.packing.problem import NODE_OVERHEAD_COST


@dataclass(frozen=True)
class NodePrices:
    """All that is known of prices, in $/h.

    `types` are the instance types of each pool's catalogue by name; a pool is missing where nobody can tell.
    `volume_costs` is what the volumes of a node of each pool cost, `overhead_cost` what a node costs beside,
    where its pool does not say.
    """

    types: Mapping[str, Mapping[str, InstanceType]] = field(default_factory=dict)
    volume_costs: Mapping[str, float] = field(default_factory=dict)
    overhead_cost: float = NODE_OVERHEAD_COST

    @cached_property
    def _offered(self) -> Mapping[tuple[str, str, str, str], float]:
        found: dict[tuple[str, str, str, str], float] = {}
        for pool, types in self.types.items():
            for name, sold in types.items():
                # Without a known price an offering costs infinitely much: no node does.
                for offering in (one for one in sold.offerings if math.isfinite(one.price)):
                    key = pool, name, offering.zone, offering.capacity_type
                    found[key] = min(offering.price, found.get(key, offering.price))
        return found

    def price(self, view: NodeView) -> float | None:
        """Return the present price of a node's offering, else its price when bought, $/h; None if unknown."""
        if view.claim is None:
            return None
        own = view.labels
        key = (
            view.pool,
            own.get(labels.INSTANCE_TYPE, ""),
            own.get(labels.ZONE, ""),
            own.get(labels.CAPACITY_TYPE, ""),
        )
        price = self._offered.get(key)
        return price if price is not None else price_of(view.claim)

    def surcharge(self, pool: NodePool) -> float:
        """Return what each node of a pool costs beside its price: its volumes and its overhead."""
        return self.volume_costs.get(pool.name, 0.0) + pool.overhead_cost(self.overhead_cost)

    def sells(self, pool: str, instance_type: str) -> bool:
        """Return whether a pool's catalogue has an instance type; where nobody can tell, it does."""
        types = self.types.get(pool)
        return types is None or instance_type in types
