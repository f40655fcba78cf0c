"""Instance types as a node class launches them: labels, size and offerings with prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from treenail.adapters.ec2.capacity import NodeSizing, capacity_of
from treenail.adapters.ec2.compatibility import can_launch
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.overhead import overhead_of
from treenail.adapters.ec2.records import Sale, TypeRecord
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.requirements import Requirements

# Spot prices in US dollars per hour, by instance type and zone.
SpotPrices = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """An instance type with where a node class can buy it: zones by name and id, sorted by name."""

    record: TypeRecord
    zones: tuple[tuple[str, str], ...]
    on_demand_price: float | None

    @classmethod
    def of(cls, record: TypeRecord, sale: Sale | None, zones: tuple[tuple[str, str], ...]) -> Market:
        """Return where among `zones` the type is sold; nowhere if its region does not sell it."""
        if sale is None:
            return cls(record=record, zones=(), on_demand_price=None)
        sold = tuple(sorted((name, zone_id) for name, zone_id in zones if name in sale.zones))
        return cls(record=record, zones=sold, on_demand_price=sale.on_demand_price)

    def offerings(self, node: NodeSettings, spot_prices: SpotPrices | None) -> tuple[Offering, ...]:
        """Return what is sold, by zone and capacity type; without `spot_prices` spot costs as on-demand.

        An offering without a price, or of a type that cannot do what `node` asks for, is there but
        unavailable.
        """
        possible = can_launch(self.record, node)
        offered: list[Offering] = []
        for zone, zone_id in self.zones:
            for capacity_type in (labels.ON_DEMAND, labels.SPOT):
                if capacity_type not in self.record.usage_classes:
                    continue
                price = self.on_demand_price
                if capacity_type == labels.SPOT and spot_prices is not None:
                    price = spot_prices.get((self.record.name, zone))
                known = math.inf if price is None else price
                offered.append(Offering(zone, capacity_type, known, possible and price is not None, zone_id))
        return tuple(offered)


def resolve(
    market: Market,
    requirements: Requirements,
    node: NodeSettings,
    cluster: NodeSizing,
    *,
    spot_prices: SpotPrices | None = None,
    learned_memory: int | None = None,
) -> InstanceType:
    """Return the type as `node` settings make it; without `spot_prices` spot costs as on-demand.

    `learned_memory` (bytes) is the memory that its nodes were seen to have, None where none was.
    """
    capacity = capacity_of(market.record, node, cluster, learned_memory=learned_memory)
    return InstanceType(
        name=market.record.name,
        requirements=requirements,
        capacity=capacity,
        overhead=overhead_of(market.record, capacity, node),
        offerings=market.offerings(node, spot_prices),
        exotic=market.record.exotic,
        specialised=market.record.specialised,
        baseline=market.record.baseline,
    )
