from __future__ import annotations

from functools import cache

from treenail.adapters.ec2.capacity import NodeSizing
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.adapters.ec2.records import RegionRecord, TypeRecord, shipped_region, shipped_types
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import (
    DEFAULT_KUBELET,
    AmiFamily,
    BlockDevice,
    Kubelet,
    NodeClass,
    NodeClassRef,
)

GIB = 2**30
MIB = 2**20


def node_class(family: AmiFamily = AmiFamily.AL2023, *devices: BlockDevice, raid0: bool = False) -> NodeClass:
    return NodeClass(
        ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
        ami_family=family,
        block_devices=devices,
        instance_store_raid0=raid0,
    )


def device(name: str, gib: int | None, *, root: bool = False) -> BlockDevice:
    size = None if gib is None else gib * GIB
    return BlockDevice(device_name=name, volume_size=size, root_volume=root)


@cache
def alone(name: str) -> tuple[TypeRecord, RegionRecord]:
    """Return a shipped type and a region that sells nothing else: resolving all of them takes its time."""
    us_east_1 = shipped_region("us-east-1")
    sales = tuple(sale for sale in us_east_1.sales if sale.instance_type == name)
    one = next(one for one in shipped_types() if one.name == name)
    return one, RegionRecord("us-east-1", us_east_1.zones, sales)


def instance_type(
    name: str,
    node: NodeClass | None = None,
    kubelet: Kubelet = DEFAULT_KUBELET,
    settings: NodeSizing | None = None,
) -> InstanceType:
    """Return a shipped type as the node class makes it (AL2023 without devices, if None)."""
    one, region = alone(name)
    (found,) = Catalogue((one,), region, settings or NodeSizing()).instance_types(
        node or node_class(), kubelet
    )
    return found


def record(name: str, **more: object) -> TypeRecord:
    """Make a type of 4 CPUs, 8 GiB and 4 interfaces with 15 addresses each."""
    fields: dict[str, object] = {
        "arch": "amd64",
        "cpus": 4,
        "memory_mib": 8192,
        "cpu_manufacturer": "Intel",
        "clock_mhz": 3400,
        "hypervisor": "nitro",
        "encryption_in_transit": False,
        "usage_classes": ("on-demand", "spot"),
        "ebs_mbps": None,
        "network_mbps": None,
        "interfaces": 4,
        "ipv4_per_interface": 15,
        "branch_interfaces": 0,
        "efa_interfaces": 0,
        "local_storage_gb": None,
        "local_nvme": False,
    }
    return TypeRecord(name=name, **(fields | more))  # type: ignore[arg-type]
