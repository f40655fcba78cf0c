"""Cheapest launches: what each instance type on offer has room for, and costs at least."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treenail.domain.model.resources import Resources
from treenail.domain.packing.problem import PackingSettings, PoolOffer


def cheapest_launches(
    offers: Iterable[PoolOffer], settings: PackingSettings
) -> Iterator[tuple[Resources, float]]:
    """Yield the allocatable of each type that can be bought now, and its least whole cost, $/h."""
    for offer in offers:
        surcharge = offer.surcharge(settings)
        for one in offer.instance_types:
            prices = [offering.price for offering in one.offerings if offering.available]
            if prices:
                yield one.allocatable, min(prices) + surcharge
