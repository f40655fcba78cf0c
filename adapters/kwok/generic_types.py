"""Default instance types: those of Karpenter's KWOK provider."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Final

from treenail.adapters.kwok.instance_types import instance_type
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering

ZONES: Final = ("test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d")
_CPUS: Final = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256)
# GiB of memory for each CPU, by family: compute, standard, memory.
_FAMILIES: Final = {"c": 2, "s": 4, "m": 8}
_SYSTEMS: Final = ("linux", "windows")
_ARCHITECTURES: Final = ("amd64", "arm64")
_GIB: Final = 2**30
# US dollars per hour.
_PER_CPU: Final = 0.025
_PER_GB: Final = 0.001
_SPOT: Final = 0.7
_MOST_PODS: Final = 1024


@cache
def generic_types() -> tuple[InstanceType, ...]:
    """Return 144 types such as "c-4x-amd64-linux" in four zones, spot and on demand, sorted by name."""
    made = (_make(*which) for which in product(_CPUS, _FAMILIES, _SYSTEMS, _ARCHITECTURES))
    return tuple(sorted(made, key=lambda t: t.name))


def _make(cpu: int, family: str, system: str, architecture: str) -> InstanceType:
    memory = cpu * _FAMILIES[family]
    price = _PER_CPU * cpu + _PER_GB * (memory * _GIB) / 1e9
    prices = {labels.SPOT: price * _SPOT, labels.ON_DEMAND: price}
    return instance_type(
        f"{family}-{cpu}x-{architecture}-{system}",
        architecture=architecture,
        operating_systems=(system,),
        resources={
            "cpu": str(cpu),
            "memory": f"{memory}Gi",
            "pods": str(min(cpu * 16, _MOST_PODS)),
            "ephemeral-storage": "20Gi",
        },
        offerings=tuple(Offering(zone, way, p) for zone in ZONES for way, p in prices.items()),
    )
