"""All instance types of a region, as each node class would launch them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.ec2.instance_types import Market, SpotPrices, resolve
from treenail.adapters.ec2.labels import requirements_of
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.records import RegionRecord, TypeRecord, shipped_region, shipped_types
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import AmiFamily, Kubelet, NodeClass
from treenail.domain.model.observed_capacity import NOTHING_OBSERVED, Sizes
from treenail.domain.model.requirements import Requirements
from treenail.domain.scheduling.capacity_shortfalls import with_room

Zones = tuple[tuple[str, str], ...]

# Different node settings in use at once; each costs a few megabytes.
_REMEMBERED: Final = 32
_SETTINGS_REMEMBERED: Final = 4
_DEFAULTS: Final = NodeSizing()


class Catalogue:
    """The instance types that EC2 sells in a region. Threads may share it; results are never changed.

    Types that differ only in prices are resolved once: node classes and kubelets that size their nodes alike
    share the result.
    """

    def __init__(
        self, types: Iterable[TypeRecord], region: RegionRecord, settings: NodeSizing = _DEFAULTS
    ) -> None:
        self._records = tuple(sorted(types, key=lambda record: record.name))
        self._region = region.region
        self._spot_prices = region.spot_prices or None
        self._sales = {sale.instance_type: sale for sale in region.sales}
        self._settings = settings
        self._zone_ids = region.zones
        self._markets = lru_cache(maxsize=_REMEMBERED)(self._find_markets)
        self._requirements = lru_cache(maxsize=_REMEMBERED)(self._label)
        self._resolved = lru_cache(maxsize=_REMEMBERED)(self._resolve)

    @staticmethod
    def shipped(region: str = "us-east-1", settings: NodeSizing = _DEFAULTS) -> Catalogue:
        """Return the catalogue that comes with the package: the same object for equal arguments.

        Raises:
            ValueError: no data of this region is shipped.
        """
        return _shipped(region, settings)

    @property
    def zones(self) -> tuple[str, ...]:
        """The names of the region's zones, sorted."""
        return tuple(sorted(self._zone_ids))

    def on_demand_price(self, instance_type: str) -> float | None:
        """Return the price in US dollars per hour, None where the region has none of the type."""
        sale = self._sales.get(instance_type)
        return sale.on_demand_price if sale else None

    def instance_types(
        self,
        node_class: NodeClass,
        kubelet: Kubelet,
        *,
        zones: Sequence[str | tuple[str, str]] | None = None,
        spot_prices: SpotPrices | None = None,
        learned: Sizes = NOTHING_OBSERVED,
    ) -> tuple[InstanceType, ...]:
        """Return all known types as `node_class` and `kubelet` make them, sorted by name.

        `zones` are those the node class has subnets in, all of the region if None: names, or names with
        ids where the account's are not those of the data. A type sold in none of them has no offerings. A
        type and zone missing in `spot_prices` has no spot price, and its spot offering is unavailable;
        without any `spot_prices` those of the region's data hold, or else the on-demand price stands in.
        What nodes with this node class's images turned out to have is `learned`: of memory types have what is
        said there, of room for pods no more. Equal arguments without `spot_prices` return the same tuple.

        Raises:
            ValueError: an eviction threshold of `kubelet` is neither a quantity nor a percentage.
        """
        node = NodeSettings.of(node_class, kubelet)
        places = self._places(self.zones if zones is None else zones)
        resolved = self._resolved(node, places, learned)
        if spot_prices is None:
            return resolved
        return tuple(
            replace(one, offerings=market.offerings(node, spot_prices))
            for one, market in zip(resolved, self._markets(places), strict=True)
        )

    def _places(self, zones: Sequence[str | tuple[str, str]]) -> Zones:
        ids = self._zone_ids
        return tuple(sorted({(zone, ids.get(zone, "")) if isinstance(zone, str) else zone for zone in zones}))

    def _resolve(self, node: NodeSettings, zones: Zones, learned: Sizes) -> tuple[InstanceType, ...]:
        if learned.room:
            estimated = self._resolved(node, zones, replace(learned, room=()))
            return with_room(estimated, dict(learned.room))
        markets, labelled = self._markets(zones), self._requirements(node.family, zones)
        if not learned.memory:
            return tuple(
                resolve(market, requirements, node, self._settings, spot_prices=self._spot_prices)
                for market, requirements in zip(markets, labelled, strict=True)
            )
        # What was learned of a few types leaves all the others as they are.
        memory, estimated = dict(learned.memory), self._resolved(node, zones, NOTHING_OBSERVED)
        return tuple(
            resolve(
                market,
                one.requirements,
                node,
                self._settings,
                spot_prices=self._spot_prices,
                learned_memory=memory[one.name],
            )
            if one.name in memory
            else one
            for market, one in zip(markets, estimated, strict=True)
        )

    def _label(self, family: AmiFamily, zones: Zones) -> tuple[Requirements, ...]:
        return tuple(
            requirements_of(market.record, family, region=self._region, zones=market.zones)
            for market in self._markets(zones)
        )

    def _find_markets(self, zones: Zones) -> tuple[Market, ...]:
        return tuple(Market.of(record, self._sales.get(record.name), zones) for record in self._records)


# Shared by all who read it in a process: to resolve the types takes longer than a small rehearsal.
@lru_cache(maxsize=_SETTINGS_REMEMBERED)
def _shipped(region: str, settings: NodeSizing) -> Catalogue:
    return Catalogue(shipped_types(), shipped_region(region), settings)
