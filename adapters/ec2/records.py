"""The shipped data of EC2's instance types, as the files beside this module hold it."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias

import msgspec

_DATA: Final = files("treenail.adapters.ec2") / "data"
TYPES_FILE: Final = "instance-types.json"
PRICES_FILE: Final = "prices.json"
OFFERINGS_FILE: Final = "offerings.json"
VOLUME_PRICES_FILE: Final = "volume-prices.json"
# hpc* is for tightly coupled clusters: their interfaces are made for EFA, the bandwidth to EBS is that of a
# small instance, one zone sells them, and all sizes of a family cost the same. f* has FPGAs, vt* chips for
# video, and EC2 lists neither among GPUs and accelerators. Images with CUDA are seldom built for arm64, which
# g5g and p6e* have.
_SPECIALISED: Final = ("hpc", "f1", "f2", "vt")
# The share of each vCPU that burstable instances may use all the time, by size, as EC2's user guide gives it
# (baseline utilization per vCPU), which gives none for t1. What is used beyond costs surplus credits, or is
# throttled.
_BURSTABLE: Final = re.compile(r"t[0-9][a-z]*")
_BASELINES: Final = {
    "nano": 0.05,
    "micro": 0.1,
    "small": 0.2,
    "medium": 0.2,
    "large": 0.3,
    "xlarge": 0.4,
    "2xlarge": 0.4,
}
_BASELINES_T2: Final = {**_BASELINES, "xlarge": 0.225, "2xlarge": 0.17}
# From how much on each unit costs how many US dollars a month.
Tiers: TypeAlias = tuple[tuple[float, float], ...]


class Gpu(msgspec.Struct, array_like=True, frozen=True):
    """GPUs of one model: how many, and the memory of each."""

    name: str
    manufacturer: str
    count: int
    memory_mib: int


class Accelerator(msgspec.Struct, array_like=True, frozen=True):
    """Inference or training chips of one model; `neuron_cores` of each is 0 where it is no Neuron."""

    name: str
    manufacturer: str
    count: int
    neuron_cores: int


class TypeRecord(msgspec.Struct, array_like=True, frozen=True, kw_only=True):
    """An instance type as EC2 describes it, alike in all regions.

    `memory_mib` is the whole memory. `interfaces` is how many fit the default network card, each with
    `ipv4_per_interface` addresses; `branch_interfaces` is 0 where the type cannot trunk them. None says
    that no figure is published; `local_nvme` tells whether the local storage is NVMe, and
    `nested_virtualization` whether virtual machines can run inside. `cards` is how many interfaces fit each
    network card, and `unplaced` the placement strategies that the type does not know; both are empty where
    nobody told.
    """

    name: str
    arch: str
    cpus: int
    memory_mib: int
    cpu_manufacturer: str
    clock_mhz: int
    hypervisor: str
    encryption_in_transit: bool
    usage_classes: tuple[str, ...]
    ebs_mbps: int | None
    network_mbps: int | None
    interfaces: int
    ipv4_per_interface: int
    branch_interfaces: int
    efa_interfaces: int
    local_storage_gb: int | None
    local_nvme: bool
    gpus: tuple[Gpu, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    nested_virtualization: bool = False
    cards: tuple[int, ...] = ()
    unplaced: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The part of its name before the dot, such as "m5"."""
        return self.name.partition(".")[0]

    @property
    def exotic(self) -> bool:
        """True if it is bare metal or has GPUs or accelerators."""
        return "metal" in self.name or bool(self.gpus or self.accelerators)

    @property
    def specialised(self) -> bool:
        """True if it is for high-performance computing, or has FPGAs, video chips or GPUs beside arm64."""
        return self.family.startswith(_SPECIALISED) or (bool(self.gpus) and self.arch == "arm64")

    @property
    def baseline(self) -> int | None:
        """The CPU that it may use all the time, in millicores; None where that is all of it, or not known."""
        if not _BURSTABLE.fullmatch(self.family):
            return None
        size = self.name.partition(".")[2]
        share = _BASELINES_T2.get(size) if self.family == "t2" else _BASELINES.get(size)
        return None if share is None else round(self.cpus * 1000 * share)


class Sale(msgspec.Struct, array_like=True, frozen=True):
    """The zones in which a region sells an instance type, and its prices in US dollars per hour.

    A price is None where unknown. `spot_prices` are in the order of `zones`; if empty, no spot price is
    known.
    """

    instance_type: str
    zones: tuple[str, ...]
    on_demand_price: float | None
    spot_prices: tuple[float | None, ...] = ()


class RegionRecord(msgspec.Struct, frozen=True):
    """The offerings of a region. `zones` maps the names of its zones to their ids, empty where unknown."""

    region: str
    zones: dict[str, str]
    sales: tuple[Sale, ...]

    @property
    def spot_prices(self) -> dict[tuple[str, str], float]:
        """The prices of spot per hour that are known, by instance type and zone."""
        return {
            (sale.instance_type, zone): price
            for sale in self.sales
            for zone, price in zip(sale.zones, sale.spot_prices, strict=False)
            if price is not None
        }


class _Offered(msgspec.Struct, frozen=True):
    """The types a region sells, by the last letters of the zones that sell them.

    The names of the types are separated by spaces.
    """

    zones: dict[str, str]
    sold: dict[str, str]

    def record(self, region: str) -> RegionRecord:
        found = (
            Sale(name, tuple(f"{region}{letter}" for letter in letters), None)
            for letters, names in self.sold.items()
            for name in names.split()
        )
        return RegionRecord(region, self.zones, tuple(sorted(found, key=lambda sale: sale.instance_type)))


class VolumePrices(msgspec.Struct, frozen=True):
    """Monthly prices of a volume type, US dollars.

    `gib` is for each GiB; the tiers are for IOPS and throughput beyond those included.
    """

    gib: float
    iops: Tiers = ()
    throughput: Tiers = ()


# Made at import, on one thread: msgspec may crash where two threads are the first to meet a class.
_TYPES: Final = msgspec.json.Decoder(tuple[TypeRecord, ...])
_REGION: Final = msgspec.json.Decoder(RegionRecord)
_PRICES: Final = msgspec.json.Decoder(dict[str, dict[str, float]])
_OFFERINGS: Final = msgspec.json.Decoder(dict[str, _Offered])
_VOLUME_PRICES: Final = msgspec.json.Decoder(dict[str, VolumePrices])


@cache
def shipped_types() -> tuple[TypeRecord, ...]:
    """Return every shipped instance type, sorted by name."""
    return _TYPES.decode((_DATA / TYPES_FILE).read_bytes())


@cache
def shipped_region(region: str) -> RegionRecord:
    """Return what `region` sells.

    Raises:
        ValueError: no data of this region is shipped.
    """
    file = _DATA / f"{region}.json"
    if region not in shipped_regions():
        raise ValueError(
            f"no prices of region {region!r} are shipped, only of {', '.join(shipped_regions())}"
        )
    return _REGION.decode(file.read_bytes())


@cache
def shipped_regions() -> tuple[str, ...]:
    """Return the regions whose offerings and prices are shipped, sorted."""
    others = (TYPES_FILE, PRICES_FILE, OFFERINGS_FILE, VOLUME_PRICES_FILE)
    names = (file.name for file in _DATA.iterdir() if file.name not in others)
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


@cache
def shipped_price_lists() -> dict[str, dict[str, float]]:
    """Return the on-demand prices per hour of regions that nothing else is shipped of, by region and type."""
    return _PRICES.decode((_DATA / PRICES_FILE).read_bytes())


@cache
def shipped_offerings() -> dict[str, RegionRecord]:
    """Return what regions sell whose prices are not shipped, without any prices, by region."""
    offered = _OFFERINGS.decode((_DATA / OFFERINGS_FILE).read_bytes())
    return {region: one.record(region) for region, one in offered.items() if region not in shipped_regions()}


@cache
def shipped_volume_prices() -> dict[str, VolumePrices]:
    """Return what volumes cost, by their type."""
    return _VOLUME_PRICES.decode((_DATA / VOLUME_PRICES_FILE).read_bytes())
