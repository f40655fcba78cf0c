"""Catalogue keys of pools, and offerings that ran out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.resources import Resources

# What has run out: (capacity type, instance type, zone). Of reserved capacity, the reservation's id stands in
# place of the zone.
OfferingKey = tuple[str, str, str]
ANY: Final = "*"
# A zone in which the subnets of a node class have no address left.
ClassZone = tuple[NodeClassRef, str]
# Where spot cannot be bought at all.
ALL_SPOT: Final[OfferingKey] = (labels.SPOT, ANY, ANY)


@dataclass(frozen=True, slots=True)
class CatalogueKey:
    """The key that decides which instance types, of which size, a pool sees."""

    node_class: NodeClassRef
    resource_version: int
    kubelet: Kubelet

    def __str__(self) -> str:
        return f"{self.node_class}@{self.resource_version}"


def catalogue_key(pool: NodePool, node_class: NodeClass) -> CatalogueKey:
    """Return the key of the catalogue that `pool` buys from."""
    return CatalogueKey(pool.node_class, node_class.resource_version, pool.kubelet or node_class.kubelet)


def sell_alike(some: tuple[InstanceType, ...], others: tuple[InstanceType, ...]) -> bool:
    """Return whether two catalogues sell the same types, of the same size, in the same places.

    Prices may differ.
    """
    if some is others:
        return True
    return len(some) == len(others) and all(
        one is other or _sold(one) == _sold(other) for one, other in zip(some, others, strict=True)
    )


def _sold(one: InstanceType) -> tuple[str, Resources, tuple[tuple[str, str, bool], ...]]:
    return one.name, one.allocatable, tuple(map(_place, one.offerings))


def _place(offering: Offering) -> tuple[str, str, bool]:
    left = offering.reservation is None or offering.left > 0
    return offering.capacity_type, offering.place, offering.available and left


def mark_unavailable(
    types: tuple[InstanceType, ...], ran_out: frozenset[OfferingKey]
) -> tuple[InstanceType, ...]:
    """Return `types` with the offerings in `ran_out` marked unavailable; those not concerned as they are."""
    names = {name for _, name, _ in ran_out}
    if not names:
        return types
    return tuple(_without(t, ran_out) if t.name in names or ANY in names else t for t in types)


def _without(instance_type: InstanceType, ran_out: frozenset[OfferingKey]) -> InstanceType:
    def gone(offering: Offering) -> bool:
        way, zone, place = offering.capacity_type, offering.zone, offering.place
        everywhere = (zone, place, offering.zone_id)
        keys = ((way, instance_type.name, place), (way, ANY, ANY), *((ANY, ANY, one) for one in everywhere))
        return any(key in ran_out for key in keys)

    offerings = tuple(replace(o, available=False) if gone(o) else o for o in instance_type.offerings)
    return replace(instance_type, offerings=offerings)
