from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.adapters.ec2.node_classes import record
from treenail.adapters.ec2.data.generate import (
    Place,
    VpcLimit,
    region_record,
    region_text,
    type_records,
    types_text,
)
from treenail.adapters.ec2.described import DescribedType
from treenail.adapters.ec2.records import Accelerator, Gpu, RegionRecord, Sale, TypeRecord


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


def kept(one: DescribedType) -> TypeRecord:
    (found,) = type_records([one], {}, {})
    return found


def test_a_described_type_is_kept_with_the_figures_no_api_gives() -> None:
    limits, network = {"x1.large": VpcLimit(branch_interfaces=18)}, {"x1.large": 1250}

    found = type_records([described()], limits, network)

    assert found == (record("x1.large", branch_interfaces=18, network_mbps=1250),)


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
    )


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
def test_what_no_node_runs_on_is_left_out(more: dict[str, Any]) -> None:
    assert type_records([described(**more)], {}, {}) == ()


def places(**sold: str) -> list[Place]:
    """places(a="m5 c5"): zone a sells m5 and c5."""
    return [Place(one, zone) for zone, types in sold.items() for one in types.split()]


def test_a_region_sells_the_known_types_where_its_offerings_say() -> None:
    types = [record("c5"), record("m5"), record("z9")]

    found = region_record(
        "here", types, places(a="m5 c5", b="m5 mac"), places(id2="mac m5", id1="c5 m5"), {"m5": 0.1}
    )

    assert found == RegionRecord(
        "here", {"a": "id1", "b": "id2"}, (Sale("c5", ("a",), None), Sale("m5", ("a", "b"), 0.1))
    )


def test_zones_that_cannot_be_told_apart_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"zone a sells the same types as \['id1', 'id2'\]"):
        region_record("here", [], places(a="m5", b="m5"), places(id1="m5", id2="m5"), {})


def test_what_is_written_reads_back_as_it_was() -> None:
    types = (record("c5", local_storage_gb=9), record("m5", gpus=(Gpu("L4", "NVIDIA", 2, 22888),)))
    region = RegionRecord("here", {"a": "id1"}, (Sale("c5", ("a",), None), Sale("m5", ("a",), 0.1)))

    assert msgspec.json.decode(types_text(types), type=tuple[TypeRecord, ...]) == types
    assert msgspec.json.decode(region_text(region), type=RegionRecord) == region
