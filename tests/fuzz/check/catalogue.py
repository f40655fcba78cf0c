"""What could be bought: instance types and their offerings, from the JSON of Karpenter's KWOK provider."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.fuzz.check.amounts import Amounts, add, amount, amounts
from tests.fuzz.check.label_values import Labels

Written: TypeAlias = Mapping[str, Any]

CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
HOSTNAME: Final = "kubernetes.io/hostname"
POOL: Final = "karpenter.sh/nodepool"
ZONE: Final = "topology.kubernetes.io/zone"
_KWOK: Final = "karpenter.kwok.sh/instance-"
_OF_AWS: Final = re.compile(r"\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)")


@dataclass(frozen=True, eq=False)
class Offering:
    """One way to buy a type: the labels its node would have, and its price in $/h."""

    labels: Labels
    price: float


@dataclass(frozen=True, eq=False)
class InstanceType:
    name: str
    capacity: Amounts
    allocatable: Amounts
    offerings: tuple[Offering, ...]

    def values(self, key: str) -> set[str]:
        """Return the values that nodes of this type may have for a label."""
        return {offering.labels[key] for offering in self.offerings if key in offering.labels}


Catalogue: TypeAlias = dict[str, InstanceType]


def read_catalogue(written: Sequence[Written]) -> Catalogue:
    """Return types by name. Each keeps 100m CPU and 10Mi for itself; where it says nothing, 110 pods fit."""
    return {one["name"]: _instance_type(one) for one in written}


def _instance_type(written: Written) -> InstanceType:
    capacity = {"pods": amount("110"), **amounts(written["resources"])}
    allocatable = dict(capacity)
    add(allocatable, {"cpu": amount("100m"), "memory": amount("10Mi")}, -1)
    own = _labels(written)
    offerings = tuple(
        Offering({**own, **{r["key"]: r["values"][0] for r in offering["Requirements"]}}, offering["Price"])
        for offering in written["offerings"]
        if offering.get("Available", True)
    )
    return InstanceType(written["name"], capacity, allocatable, offerings)


def _labels(written: Written) -> Labels:
    name, cpu, memory = written["name"], written["resources"]["cpu"], written["resources"]["memory"]
    size = _OF_AWS.fullmatch(name)
    return {
        "node.kubernetes.io/instance-type": name,
        "kubernetes.io/arch": written["architecture"],
        "kubernetes.io/os": written["operatingSystems"][0],
        _KWOK + "cpu": cpu,
        _KWOK + "memory": memory,
        _KWOK + "size": size[1] if size else cpu,
        _KWOK + "family": re.split(r"[.-]", name)[0] if re.search(r"[.-]", name) else name[:1],
    }
