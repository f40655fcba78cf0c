"""Labels of the nodes of an instance type, as requirements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from treenail.adapters.ec2.ami_families import TRAITS, can_boot
from treenail.adapters.ec2.records import TypeRecord
from treenail.domain.model import labels
from treenail.domain.model.node_classes import AmiFamily
from treenail.domain.model.requirements import Requirement, Requirements

CAPABILITY_FLEX: Final = labels.AWS + "instance-capability-flex"
CPU_MANUFACTURER: Final = labels.AWS + "instance-cpu-manufacturer"
CLOCK_SPEED_MHZ: Final = labels.AWS + "instance-cpu-sustained-clock-speed-mhz"
EBS_BANDWIDTH: Final = labels.AWS + "instance-ebs-bandwidth"
NETWORK_BANDWIDTH: Final = labels.AWS + "instance-network-bandwidth"
LOCAL_NVME: Final = labels.AWS + "instance-local-nvme"
HYPERVISOR: Final = labels.AWS + "instance-hypervisor"
ENCRYPTION_IN_TRANSIT: Final = labels.AWS + "instance-encryption-in-transit-supported"
TENANCY: Final = labels.AWS + "instance-tenancy"
GPU: Final = labels.AWS + "instance-gpu-"
ACCELERATOR: Final = labels.AWS + "instance-accelerator-"

# The family's letters, and its number, which is not that of the terabytes in u-6tb1.
_FAMILY: Final = re.compile(r"([a-z]+)(?:-[0-9]+tb)?([0-9]+)")


def requirements_of(
    record: TypeRecord, family: AmiFamily, *, region: str, zones: Iterable[tuple[str, str]]
) -> Requirements:
    """Return the labels of nodes of the type with an image of `family`, sold in `zones` (name and id).

    A label that no such node has is DoesNotExist.
    """
    places = tuple(zones)
    classes = (labels.ON_DEMAND, labels.SPOT)
    return Requirements(
        (
            *(_single(key, value) for key, value in _own(record)),
            *_system(record, family),
            _single(labels.REGION, region),
            _one_of(labels.ZONE, frozenset(name for name, _ in places)),
            _one_of(labels.ZONE_ID, frozenset(zone_id for _, zone_id in places if zone_id)),
            _one_of(labels.CAPACITY_TYPE, frozenset(c for c in classes if c in record.usage_classes)),
            _one_of(TENANCY, frozenset(("default", "dedicated"))),
            # Unless the node class names a group.
            _single(labels.PLACEMENT_GROUP, None),
            _single(labels.PARTITION, None),
        )
    )


def _own(record: TypeRecord) -> Iterator[tuple[str, str | None]]:
    """Yield the labels that depend on nothing but the type, None for those it lacks."""
    family, _, size = record.name.partition(".")
    generation = _FAMILY.match(family)
    yield labels.INSTANCE_TYPE, record.name
    yield labels.ARCH, record.arch
    yield labels.INSTANCE_FAMILY, family
    yield labels.INSTANCE_SIZE, size
    yield labels.INSTANCE_CATEGORY, generation.group(1) if generation else None
    yield labels.INSTANCE_GENERATION, generation.group(2) if generation else None
    yield CAPABILITY_FLEX, _boolean("-flex" in family)
    yield labels.INSTANCE_CPU, str(record.cpus)
    yield labels.INSTANCE_MEMORY, str(record.memory_mib)
    yield CPU_MANUFACTURER, _kebab(record.cpu_manufacturer)
    yield CLOCK_SPEED_MHZ, str(record.clock_mhz)
    # Bare metal has no hypervisor: an empty value, on the node too.
    yield HYPERVISOR, record.hypervisor
    yield ENCRYPTION_IN_TRANSIT, _boolean(record.encryption_in_transit)
    yield EBS_BANDWIDTH, _number(record.ebs_mbps)
    yield NETWORK_BANDWIDTH, _number(record.network_mbps)
    yield LOCAL_NVME, _number(record.local_storage_gb) if record.local_nvme else None
    yield from _chips(record)


def _chips(record: TypeRecord) -> Iterator[tuple[str, str | None]]:
    """Yield the labels of GPUs and accelerators, which say something only where all are of one model."""
    gpu = record.gpus[0] if len(record.gpus) == 1 else None
    yield GPU + "name", _kebab(gpu.name) if gpu else None
    yield GPU + "manufacturer", _kebab(gpu.manufacturer) if gpu else None
    yield GPU + "count", str(gpu.count) if gpu else None
    yield GPU + "memory", str(gpu.memory_mib) if gpu else None
    accelerator = record.accelerators[0] if len(record.accelerators) == 1 else None
    yield ACCELERATOR + "name", _kebab(accelerator.name) if accelerator else None
    yield ACCELERATOR + "manufacturer", _kebab(accelerator.manufacturer) if accelerator else None
    yield ACCELERATOR + "count", str(accelerator.count) if accelerator else None


def _system(record: TypeRecord, family: AmiFamily) -> Iterator[Requirement]:
    name = "windows" if family.windows else "linux"
    yield _single(labels.OS, name if not family.windows or can_boot(family, record) else None)
    yield _single(labels.WINDOWS_BUILD, TRAITS[family].windows_build)


# A few hundred labels make up all types: equal ones are one object.
@lru_cache(maxsize=16384)
def _single(key: str, value: str | None) -> Requirement:
    return Requirement(key) if value is None else Requirement(key, frozenset((value,)))


@lru_cache(maxsize=1024)
def _one_of(key: str, values: frozenset[str]) -> Requirement:
    return Requirement(key, values)


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _boolean(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"


def _kebab(name: str) -> str:
    return name.lower().replace(" ", "-")
