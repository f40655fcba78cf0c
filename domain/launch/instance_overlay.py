"""Node overlays of an instance that was bought: its price, and what its node will have besides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.model.fleets import Instance
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.overlaid_types import overlaid
from treenail.domain.model.resources import NOTHING, Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceOverlay:
    """The price of an instance, $/h, and which overlay sets it ("" where none does), and what is `added`."""

    name: str = ""
    price: float = 0.0
    added: Resources = NOTHING

    def of(self, instance: Instance) -> Instance:
        """Return the instance as overlays make it."""
        return replace(
            instance,
            price=self.price if self.name else instance.price,
            capacity=Resources({**instance.capacity, **self.added}) if self.added else instance.capacity,
            allocatable=Resources({**instance.allocatable, **self.added})
            if self.added
            else instance.allocatable,
        )


NO_OVERLAY: Final = InstanceOverlay()


def instance_overlay(instance: Instance, types: tuple[InstanceType, ...], pool: NodePool) -> InstanceOverlay:
    """Return what the overlays of a pool say of its instance, where `types` are what it could launch."""
    sold = tuple(one for one in types if one.name == instance.instance_type)
    seen = overlaid(sold, pool).types
    for before, after in zip(sold, seen, strict=True):
        offering = next((one for one in after.offerings if _bought(one, instance)), None)
        added = {
            name: amount for name, amount in after.capacity.items() if before.capacity.get(name, 0) != amount
        }
        return InstanceOverlay(
            name=offering.overlay if offering is not None else "",
            price=offering.price if offering is not None else 0.0,
            added=Resources(added),
        )
    return NO_OVERLAY


def _bought(offering: Offering, instance: Instance) -> bool:
    reservation = "" if offering.reservation is None else offering.reservation.id
    where = (offering.zone, offering.capacity_type, reservation)
    return where == (instance.zone, instance.capacity_type, instance.reservation)
