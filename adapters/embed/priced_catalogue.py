"""A catalogue with price overrides applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treenail.adapters.fake.ec2.catalogue import Catalogue
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.price_overrides import PriceOverrides


class PricedCatalogue:
    """A catalogue with one's own prices in place of the public ones. As one to make a fake EC2 of."""

    def __init__(self, public: Catalogue, overrides: PriceOverrides) -> None:
        self._public = public
        self._overrides = overrides

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of the region, sorted."""
        return self._public.zones

    def instance_types(
        self,
        node_class: NodeClass,
        kubelet: Kubelet,
        *,
        zones: Sequence[str] | None = None,
        spot_prices: Mapping[tuple[str, str], float] | None = None,
    ) -> tuple[InstanceType, ...]:
        """Return the types as nodes of the class would have them, sorted by name.

        `spot_prices` are the public ones, by type and zone, in $/h.
        """
        types = self._public.instance_types(node_class, kubelet, zones=zones, spot_prices=spot_prices)
        return self._overrides.applied(types)

    def on_demand_price(self, instance_type: str, /) -> float | None:
        """Return the public price on demand, in $/h, which spot prices follow."""
        return self._public.on_demand_price(instance_type)
