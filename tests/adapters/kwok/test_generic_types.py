from __future__ import annotations

import pytest

from treenail.adapters.kwok.generic_types import ZONES, generic_types
from treenail.domain.model import labels
from treenail.domain.model.resources import Resources

TYPES = {t.name: t for t in generic_types()}


def test_there_are_144_types_sorted_by_name() -> None:
    assert len(TYPES) == len(generic_types()) == 144
    assert list(TYPES) == sorted(TYPES)


@pytest.mark.parametrize(
    ("name", "capacity", "price"),
    [
        # As Karpenter's own catalogue has them.
        ("c-1x-amd64-linux", {"cpu": "1", "memory": "2Gi", "pods": "16"}, 0.027147483648),
        ("c-192x-arm64-linux", {"cpu": "192", "memory": "384Gi", "pods": "1024"}, 5.212316860416),
        ("m-4x-arm64-windows", {"cpu": "4", "memory": "32Gi", "pods": "64"}, 0.134359738368),
    ],
)
def test_a_type_is_as_large_and_as_dear_as_its_name_says(
    name: str, capacity: dict[str, str], price: float
) -> None:
    found = TYPES[name]

    assert found.capacity == Resources.parse({**capacity, "ephemeral-storage": "20Gi"})
    prices = {(o.zone, o.capacity_type): o.price for o in found.offerings}
    assert prices.keys() == {(zone, way) for zone in ZONES for way in (labels.SPOT, labels.ON_DEMAND)}
    assert prices["test-zone-a", labels.ON_DEMAND] == pytest.approx(price)
    assert prices["test-zone-d", labels.SPOT] == pytest.approx(0.7 * price)
