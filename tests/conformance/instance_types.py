"""Small instance types of round sizes, in place of EC2's: what the translated cases choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering, Overhead
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources

ZONES: Final = ("z1", "z2", "z3")
EVERYWHERE: Final = tuple((zone, way) for way in ("spot", "on-demand") for zone in ZONES)
# The last zone has no spot.
PLACES: Final = tuple(place for place in EVERYWHERE if place != ("z3", "spot"))
VENDOR_A: Final = "example.com/vendor-a"
VENDOR_B: Final = "example.com/vendor-b"
_OVERHEAD: Final = Overhead(kube_reserved=Resources.parse({"cpu": "100m", "memory": "10Mi"}))
_LARGE_CPU: Final = 4
_LARGE_GIB: Final = 8
_GIB: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """An instance type. `places` are (zone, capacity type); `price` is in $/h, by size where it is None.

    It keeps 100m CPU and 10Mi for itself. Only a large one (over 4 CPU and 8 GiB) has the optional label.
    """

    name: str
    cpu: int = 4
    gib: float = 4
    pods: int = 5
    arch: str = "amd64"
    more: Mapping[str, str | int] = field(default_factory=dict)
    places: Sequence[tuple[str, str]] = PLACES
    price: float | None = None
    prices: Mapping[tuple[str, str], float] = field(default_factory=dict)
    generation: int = 1

    @property
    def dollars(self) -> float:
        """The price by size, unless it has one."""
        if self.price is not None:
            return self.price
        chips = sum(1.0 for name in self.more if name in (VENDOR_A, VENDOR_B))
        return 0.1 * self.cpu + 0.1 * self.gib * _GIB / 1e9 + chips

    @property
    def large(self) -> bool:
        return self.cpu > _LARGE_CPU and self.gib > _LARGE_GIB

    def made(self, zones: Sequence[str]) -> InstanceType:
        """Return the type as it is sold in `zones`."""
        known = {
            labels.INSTANCE_TYPE: self.name,
            labels.ARCH: self.arch,
            labels.OS: "linux",
            labels.INSTANCE_SIZE: "large" if self.large else "small",
            labels.INSTANCE_CPU: str(self.cpu),
            labels.INSTANCE_GENERATION: str(self.generation),
        }
        places = [place for place in self.places if place[0] in zones]
        return InstanceType(
            name=self.name,
            requirements=Requirements(
                (
                    *(Requirement(key, frozenset((value,))) for key, value in known.items()),
                    Requirement(labels.AWS + "instance-local-nvme", frozenset(("1",) if self.large else ())),
                    Requirement(labels.ZONE, frozenset(zone for zone, _ in places)),
                    Requirement(labels.CAPACITY_TYPE, frozenset(way for _, way in places)),
                )
            ),
            capacity=Resources.parse(
                {"cpu": self.cpu, "memory": f"{int(self.gib * 1024)}Mi", "pods": self.pods, **self.more}
            ),
            overhead=_OVERHEAD,
            offerings=tuple(
                Offering(zone, way, self.prices.get((zone, way), self.dollars)) for zone, way in places
            ),
        )


# Six types: none has more than 4 CPU but the one of arm64.
SIX: Final = (
    Size(name="default"),
    Size(name="small", cpu=2, gib=2),
    Size(name="gpu-a", more={VENDOR_A: 2}),
    Size(name="gpu-b", more={VENDOR_B: 2}),
    Size(name="arm", cpu=16, gib=128, arch="arm64"),
    Size(name="single-pod", pods=1),
)


def ladder(count: int, *, price: float | None = None) -> tuple[Size, ...]:
    """Return so many types: type-0 has 1 CPU, 2 GiB and room for 10 pods, type-1 has twice as much..."""
    return tuple(
        Size(name=f"type-{n}", cpu=n + 1, gib=2 * (n + 1), pods=10 * (n + 1), price=price)
        for n in range(count)
    )


def assorted(zones: Sequence[str] = ZONES) -> tuple[Size, ...]:
    """Return 672 types: of each size and architecture one for every zone and capacity type."""
    return tuple(
        Size(
            name=f"{cpu}-cpu-{gib}-gib-{arch}-{zone}-{way}",
            cpu=cpu,
            gib=gib,
            arch=arch,
            places=((zone, way),),
        )
        for cpu in (1, 2, 4, 8, 16, 32, 64)
        for gib in (1, 2, 4, 8, 16, 32, 64, 128)
        for zone in zones
        for way in ("spot", "on-demand")
        for arch in ("amd64", "arm64")
    )


class OwnCatalogue:
    """Sells these types alone, at their prices. One to make a fake EC2 of."""

    def __init__(self, sizes: Sequence[Size]) -> None:
        self._sizes = {size.name: size for size in sorted(sizes, key=lambda one: one.name)}

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones, sorted."""
        return ZONES

    def instance_types(
        self,
        node_class: NodeClass,
        kubelet: Kubelet,
        *,
        zones: Sequence[str] | None = None,
        spot_prices: Mapping[tuple[str, str], float] | None = None,
    ) -> tuple[InstanceType, ...]:
        """Return the types sold in `zones`, alike for every node class, spot at the types' own prices."""
        del node_class, spot_prices
        there = ZONES if zones is None else zones
        made = (size.made(there) for size in self._sizes.values())
        if kubelet.max_pods is None:
            return tuple(made)
        most = Resources.parse({"pods": kubelet.max_pods})
        return tuple(replace(one, capacity=Resources({**one.capacity, **most})) for one in made)

    def on_demand_price(self, instance_type: str, /) -> float | None:
        """Return the price by size, in $/h."""
        size = self._sizes.get(instance_type)
        return None if size is None else size.dollars
