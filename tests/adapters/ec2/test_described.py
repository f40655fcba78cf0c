from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.adapters.ec2.node_classes import record
from treenail.adapters.ec2.described import DescribedType, record_of
from treenail.adapters.ec2.records import Accelerator, Gpu, TypeRecord


def described(name: str = "x1.large", **more: Any) -> DescribedType:
    """Make what DescribeInstanceTypes says of a type, less most of what we do not read."""
    said = {
        "InstanceType": name,
        "CurrentGeneration": True,
        "MemoryInfo": {"SizeInMiB": 8192},
        "VCpuInfo": {"DefaultVCpus": 4, "DefaultCores": 2},
        "ProcessorInfo": {
            "Manufacturer": "Intel",
            "SupportedArchitectures": ["i386", "x86_64"],
            "SustainedClockSpeedInGhz": 3.4,
        },
        "NetworkInfo": {
            "DefaultNetworkCardIndex": 1,
            "NetworkCards": [{"MaximumNetworkInterfaces": 8}, {"MaximumNetworkInterfaces": 4}],
            "Ipv4AddressesPerInterface": 15,
        },
        "EbsInfo": {"EbsOptimizedSupport": "unsupported"},
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedVirtualizationTypes": ["hvm"],
        "Hypervisor": "nitro",
    }
    return msgspec.convert(said | more, DescribedType)


def kept(one: DescribedType, network_mbps: int | None = None) -> TypeRecord:
    return record_of(one, branch_interfaces=0, network_mbps=network_mbps)


def test_a_described_type_is_kept_with_the_figures_no_api_gives() -> None:
    found = record_of(described(), branch_interfaces=18, network_mbps=1250)

    assert found == record("x1.large", branch_interfaces=18, network_mbps=1250, cards=(8, 4))


def test_what_a_type_has_beside_the_usual_is_kept() -> None:
    chips = [{"Name": "Inferentia", "Manufacturer": "AWS", "Count": 16}]
    devices = [{"Name": "Inferentia", "Count": 16, "CoreInfo": {"Count": 4}}]
    gpus = [{"Name": "L4", "Manufacturer": "NVIDIA", "Count": 2, "MemoryInfo": {"SizeInMiB": 22888}}]

    found = kept(
        described(
            InferenceAcceleratorInfo={"Accelerators": chips},
            NeuronInfo={"NeuronDevices": devices},
            GpuInfo={"Gpus": gpus},
            InstanceStorageInfo={"TotalSizeInGB": 900, "NvmeSupport": "required"},
        )
    )

    assert found == record(
        "x1.large",
        gpus=(Gpu("L4", "NVIDIA", 2, 22888),),
        accelerators=(Accelerator("Inferentia", "AWS", 16, 4),),
        local_storage_gb=900,
        local_nvme=True,
        cards=(8, 4),
    )


def test_a_type_says_in_which_placement_groups_it_cannot_be() -> None:
    burstable = described(PlacementGroupInfo={"SupportedStrategies": ["partition", "spread"]})

    assert kept(burstable).unplaced == ("cluster",)
    assert kept(described()).unplaced == ()


def test_a_type_says_whether_virtual_machines_run_inside() -> None:
    processor = {"SupportedArchitectures": ["x86_64"], "SupportedFeatures": ["nested-virtualization"]}

    assert kept(described(ProcessorInfo=processor)).nested_virtualization
    assert not kept(described()).nested_virtualization


def test_accelerators_count_where_there_is_no_neuron() -> None:
    chips = [{"Name": "AI100", "Manufacturer": "Qualcomm", "Count": 8}]

    found = kept(described(InferenceAcceleratorInfo={"Accelerators": chips}))

    assert found.accelerators == (Accelerator("AI100", "Qualcomm", 8, 0),)


@pytest.mark.parametrize(("support", "mbps"), [("default", 4750), ("supported", None)])
def test_the_bandwidth_to_volumes_counts_where_it_comes_by_default(support: str, mbps: int | None) -> None:
    ebs = {"EbsOptimizedSupport": support, "EbsOptimizedInfo": {"MaximumBandwidthInMbps": 4750}}

    assert kept(described(EbsInfo=ebs)).ebs_mbps == mbps


@pytest.mark.parametrize(
    "more",
    [
        {"ProcessorInfo": {"SupportedArchitectures": ["arm64_mac"]}},
        {"SupportedVirtualizationTypes": ["paravirtual"]},
    ],
)
def test_no_node_runs_on_other_architectures_or_ways_of_virtualization(more: dict[str, Any]) -> None:
    assert not described(**more).runs_nodes


def test_what_has_an_architecture_of_no_node_has_no_record() -> None:
    mac = described(ProcessorInfo={"SupportedArchitectures": ["arm64_mac"]})

    with pytest.raises(ValueError, match=r"x1\.large has an architecture no node runs on"):
        kept(mac)


@pytest.mark.parametrize(
    ("hypervisor", "published", "mbps"),
    [("nitro", None, 12_500), ("", None, 12_500), ("xen", None, None), ("nitro", 10_000, 10_000)],
)
def test_the_bandwidth_published_comes_first_and_that_of_the_cards_counts_for_newer_types(
    hypervisor: str, published: int | None, mbps: int | None
) -> None:
    cards = [{"MaximumNetworkInterfaces": 8, "BaselineBandwidthInGbps": 12.5}]
    network = {"NetworkCards": cards, "Ipv4AddressesPerInterface": 15}

    assert kept(described(Hypervisor=hypervisor, NetworkInfo=network), published).network_mbps == mbps
