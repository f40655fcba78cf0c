"""Gauges of instance types and what they cost where: thousands of series, on request alone."""

from __future__ import annotations

from collections.abc import Iterator

from treenail.domain.model.catalogue_keys import OfferingKey, mark_unavailable
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.resources import CPU, MEMORY
from treenail.domain.telemetry import state_metrics
from treenail.domain.telemetry.series import Series


def type_series(
    catalogues: tuple[tuple[tuple[InstanceType, ...], frozenset[OfferingKey]], ...],
) -> Iterator[Series]:
    """Yield the series of all types of `catalogues`, each with what ran out there.

    Of a type that several have, an offering can be bought where one says so, at the lowest price.
    """
    sizes: dict[str, tuple[int, int]] = {}
    offerings: dict[tuple[str, str, str], tuple[float, bool]] = {}
    for types, ran_out in catalogues:
        for one in mark_unavailable(types, ran_out):
            sizes[one.name] = (one.capacity.get(CPU, 0), one.capacity.get(MEMORY, 0))
            for offering in one.offerings:
                at = one.name, offering.capacity_type, offering.zone
                price, available = offerings.get(at, (offering.price, False))
                offerings[at] = min(price, offering.price), available or offering.available
    for name, (cpu, memory) in sorted(sizes.items()):
        yield Series(state_metrics.INSTANCE_TYPE_CPU, cpu / 1000, {"instance_type": name})
        yield Series(state_metrics.INSTANCE_TYPE_MEMORY, memory, {"instance_type": name})
    for (name, capacity_type, zone), (price, available) in sorted(offerings.items()):
        labels = {"instance_type": name, "capacity_type": capacity_type, "zone": zone}
        yield Series(state_metrics.OFFERING_PRICE, price, labels)
        yield Series(state_metrics.OFFERING_AVAILABLE, 1 if available else 0, labels)
