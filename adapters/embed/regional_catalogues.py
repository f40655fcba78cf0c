"""Instance types and prices of the region and the zones that a cluster is in, as far as they are known here.

Nobody is asked: on-demand prices are those that come with the package, and spot prices what the claims of the
cluster say. A type and zone of which no claim tells has no spot price, and is not bought as spot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from treenail.adapters.api.account import Account
from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.adapters.ec2.records import shipped_regions, shipped_types
from treenail.adapters.ec2.volume_costs import volume_cost
from treenail.adapters.embed.home import REGION_OF_ZONE
from treenail.adapters.embed.regional_sales import USUAL_REGION, sales_in
from treenail.adapters.kwok.generic_types import generic_types
from treenail.domain.model import labels
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides

_SIZES: Final = NodeSizing()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMarket:
    """The places of a cluster's nodes, and what claims say that nodes cost, $/h: spot by type and zone.

    `region` is "" where no node is in a zone of EC2; zones of nodes that are none are `elsewhere`.
    """

    region: str = ""
    zones: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    on_demand_prices: Mapping[str, float] = field(default_factory=dict)
    spot_prices: Mapping[tuple[str, str], float] = field(default_factory=dict)
    account: Account | None = None

    @classmethod
    def of(cls, views: Iterable[NodeView], account: Account | None = None) -> ClusterMarket:
        """Read the labels and prices of nodes; of several prices of one offering the latest node's counts.

        An `account` says where there are subnets, and what is bought costs as it says.
        """
        zones, elsewhere = set(account.zones) if account is not None else set[str](), set[str]()
        regions: Counter[str] = Counter()
        on_demand: dict[str, float] = {}
        spot: dict[tuple[str, str], float] = {}
        for view in sorted(views, key=_oldest_first):
            zone, claim = view.labels.get(labels.ZONE, ""), view.claim
            found = REGION_OF_ZONE.fullmatch(zone)
            if found is None:
                elsewhere |= {zone} - {""}
                continue
            zones.add(zone)
            regions[found[1]] += 1
            price = price_of(claim) if claim is not None else None
            name, way = view.labels.get(labels.INSTANCE_TYPE, ""), view.labels.get(labels.CAPACITY_TYPE)
            if price is not None and way == labels.SPOT:
                spot[name, zone] = price
            elif price is not None and way == labels.ON_DEMAND:
                on_demand[name] = price
        region = min(regions, key=lambda name: (-regions[name], name), default="")
        if account is not None:
            region = account.region or region
            on_demand |= account.on_demand_prices
            spot |= account.spot_prices
        return cls(
            region=region,
            zones=tuple(sorted(zones)),
            elsewhere=tuple(sorted(elsewhere)),
            on_demand_prices=on_demand,
            spot_prices=spot,
            account=account,
        )


def _oldest_first(view: NodeView) -> tuple[datetime, str]:
    return (view.claim.created_at if view.claim is not None else datetime.min.replace(tzinfo=UTC), view.name)


class RegionalCatalogues:
    """The types that pools of a cluster could buy in its `market`, less what `prices` say. See the module.

    `warning` says where prices are not those of the cluster's region.
    """

    def __init__(
        self, market: ClusterMarket, *, prices: PriceOverrides = NO_OVERRIDES, sizes: NodeSizing = _SIZES
    ) -> None:
        self._market = market
        self._prices = prices
        self._region = market.region or USUAL_REGION
        self._made: dict[tuple[NodeClassRef, Kubelet], tuple[InstanceType, ...]] = {}
        self.warning = ""
        if self._region in shipped_regions() and (
            market.account is None or not market.account.on_demand_prices
        ):
            self._catalogue = Catalogue.shipped(self._region, sizes)
        else:
            sales = sales_in(self._region, market.zones, market.on_demand_prices)
            self.warning = sales.warning
            self._catalogue = Catalogue(shipped_types(), sales.record, sizes)

    def types_for(self, pool: NodePool, node_class: NodeClass | None) -> tuple[InstanceType, ...]:
        """Return the types that the pool's node class could launch.

        Raises:
            NodeClassNotReadyError: the class is missing, or its kubelet makes no sense.
        """
        if node_class is None:
            raise NodeClassNotReadyError(f"{pool.node_class} is missing")
        key = node_class.ref, pool.kubelet or node_class.kubelet
        # The very same tuple for all pools: packing prepares each one anew.
        if key not in self._made:
            self._made[key] = self._prices.applied(self._types(node_class, key[1]))
        return self._made[key]

    def _types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        if node_class.ref.played:
            return generic_types()
        if self._market.elsewhere:
            zones = ", ".join(self._market.elsewhere)
            self.warning = self.warning or (
                f"these are no zones of EC2: {zones}; nodes are bought in {self._region}, at its prices"
            )
        try:
            return self._catalogue.instance_types(
                node_class,
                kubelet,
                zones=self._market.zones or None,
                spot_prices=self._market.spot_prices,
            )
        except ValueError as error:
            raise NodeClassNotReadyError(f"{node_class.ref}: {error}") from None

    def volume_cost(self, node_class: NodeClass | None) -> float:
        """Return what the volumes of a node of the class cost, $/h."""
        return 0.0 if node_class is None else volume_cost(node_class)
