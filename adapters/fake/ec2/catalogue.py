"""The catalogue of instance types that the fake EC2 sells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import Kubelet, NodeClass


class Catalogue(Protocol):
    """The instance types of one region."""

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of the region, sorted."""
        ...

    def instance_types(
        self,
        node_class: NodeClass,
        kubelet: Kubelet,
        *,
        zones: Sequence[str] | None = None,
        spot_prices: Mapping[tuple[str, str], float] | None = None,
    ) -> tuple[InstanceType, ...]:
        """Return the types as nodes of the class would have them, sorted by name.

        Offered in `zones` only, where given; `spot_prices` are by type and zone, in $/h.
        """
        ...

    def on_demand_price(self, instance_type: str, /) -> float | None:
        """Return what a type costs on demand, in $/h; None where that is not known."""
        ...
