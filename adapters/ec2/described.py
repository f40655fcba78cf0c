"""Instance types as EC2's API describes them, and the fields that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from treenail.adapters.ec2.records import Accelerator, Gpu, TypeRecord

# What nodes call an architecture that EC2 calls otherwise; nothing else runs a node.
ARCHITECTURES: Mapping[str, str] = {"x86_64": "amd64", "arm64": "arm64"}

# How EC2 places the instances of a group.
STRATEGIES: Final = ("cluster", "partition", "spread")


class _Described(msgspec.Struct, rename="pascal", frozen=True):
    """An object of the API; only the fields named are read."""


class _Memory(_Described, frozen=True):
    size: int = msgspec.field(name="SizeInMiB")


class _Cpus(_Described, frozen=True):
    default_cpus: int = msgspec.field(name="DefaultVCpus")


class _Processor(_Described, frozen=True):
    supported_architectures: tuple[str, ...]
    manufacturer: str = ""
    sustained_clock_speed_in_ghz: float = 0.0
    supported_features: tuple[str, ...] = ()


class _EbsBandwidth(_Described, frozen=True):
    maximum_bandwidth_in_mbps: int


class _Ebs(_Described, frozen=True):
    ebs_optimized_support: str
    ebs_optimized_info: _EbsBandwidth | None = None


class _NetworkCard(_Described, frozen=True):
    maximum_network_interfaces: int
    baseline_bandwidth_in_gbps: float | None = None


class _Efa(_Described, frozen=True):
    maximum_efa_interfaces: int


class _Network(_Described, frozen=True):
    network_cards: tuple[_NetworkCard, ...]
    ipv4_addresses_per_interface: int
    default_network_card_index: int = 0
    encryption_in_transit_supported: bool = False
    efa_info: _Efa | None = None


class _Storage(_Described, frozen=True):
    total_size: int = msgspec.field(name="TotalSizeInGB")
    nvme_support: str = "unsupported"


class _Placement(_Described, frozen=True):
    supported_strategies: tuple[str, ...]


class _Cores(_Described, frozen=True):
    count: int


class _Chip(_Described, frozen=True):
    name: str
    count: int
    manufacturer: str = "AWS"
    memory_info: _Memory = _Memory(0)
    core_info: _Cores = _Cores(0)


class _Gpus(_Described, frozen=True):
    gpus: tuple[_Chip, ...]


class _Accelerators(_Described, frozen=True):
    accelerators: tuple[_Chip, ...]


class _Neurons(_Described, frozen=True):
    neuron_devices: tuple[_Chip, ...]


class DescribedType(_Described, frozen=True):
    """An instance type in the answer of DescribeInstanceTypes."""

    instance_type: str
    memory_info: _Memory
    cpus: _Cpus = msgspec.field(name="VCpuInfo")
    processor_info: _Processor
    network_info: _Network
    ebs_info: _Ebs
    supported_usage_classes: tuple[str, ...]
    supported_virtualization_types: tuple[str, ...]
    hypervisor: str = ""
    instance_storage_info: _Storage | None = None
    gpu_info: _Gpus = _Gpus(())
    inference_accelerator_info: _Accelerators = _Accelerators(())
    neuron_info: _Neurons = _Neurons(())
    placement_group_info: _Placement = _Placement(STRATEGIES)

    @property
    def arch(self) -> str | None:
        """The architecture as nodes call it, None where no node can run on it."""
        known = (ARCHITECTURES.get(name) for name in self.processor_info.supported_architectures)
        return next((arch for arch in known if arch), None)

    @property
    def baseline_mbps(self) -> int | None:
        """The bandwidth all network cards have at any time, None where EC2 does not tell that of each."""
        known = [card.baseline_bandwidth_in_gbps for card in self.network_info.network_cards]
        return round(1000 * sum(gbps or 0 for gbps in known)) if all(known) else None

    @property
    def runs_nodes(self) -> bool:
        """True if a node can run on it: by its architecture, and virtualized by hardware."""
        return self.arch is not None and "hvm" in self.supported_virtualization_types


def record_of(described: DescribedType, *, branch_interfaces: int, network_mbps: int | None) -> TypeRecord:
    """Return what the catalogue keeps of a described type, with the two figures no API gives.

    `network_mbps` is the bandwidth AWS publishes, None where it publishes none: then it is that of all
    network cards. Xen's types have none at all: all that is published of them is "moderate" or "high".

    Raises:
        ValueError: no node can run on it.
    """
    arch = described.arch
    if arch is None:
        raise ValueError(f"{described.instance_type} has an architecture no node runs on")
    network, ebs = described.network_info, described.ebs_info
    storage, processor = described.instance_storage_info, described.processor_info
    if network_mbps is None and described.hypervisor != "xen":
        network_mbps = described.baseline_mbps
    ebs_default = ebs.ebs_optimized_info if ebs.ebs_optimized_support == "default" else None
    return TypeRecord(
        name=described.instance_type,
        arch=arch,
        cpus=described.cpus.default_cpus,
        memory_mib=described.memory_info.size,
        cpu_manufacturer=processor.manufacturer,
        clock_mhz=round(processor.sustained_clock_speed_in_ghz * 1000),
        hypervisor=described.hypervisor,
        encryption_in_transit=network.encryption_in_transit_supported,
        usage_classes=described.supported_usage_classes,
        ebs_mbps=ebs_default.maximum_bandwidth_in_mbps if ebs_default else None,
        network_mbps=network_mbps,
        interfaces=network.network_cards[network.default_network_card_index].maximum_network_interfaces,
        ipv4_per_interface=network.ipv4_addresses_per_interface,
        branch_interfaces=branch_interfaces,
        efa_interfaces=network.efa_info.maximum_efa_interfaces if network.efa_info else 0,
        local_storage_gb=storage.total_size if storage else None,
        local_nvme=storage is not None and storage.nvme_support != "unsupported",
        gpus=tuple(
            Gpu(chip.name, chip.manufacturer, chip.count, chip.memory_info.size)
            for chip in described.gpu_info.gpus
        ),
        accelerators=_accelerators(described),
        nested_virtualization="nested-virtualization" in processor.supported_features,
        cards=tuple(card.maximum_network_interfaces for card in network.network_cards),
        unplaced=tuple(
            one for one in STRATEGIES if one not in described.placement_group_info.supported_strategies
        ),
    )


def _accelerators(described: DescribedType) -> tuple[Accelerator, ...]:
    """Return the Neuron devices, or else the inference accelerators: EC2 lists some as both."""
    chips = described.neuron_info.neuron_devices or described.inference_accelerator_info.accelerators
    return tuple(Accelerator(c.name, c.manufacturer, c.count, c.core_info.count) for c in chips)
