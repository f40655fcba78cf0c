from __future__ import annotations

import pytest

from tests.adapters.ec2.node_classes import GIB, MIB, device, instance_type, node_class, record
from treenail.adapters.ec2.capacity import NodeSizing, capacity_of
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.records import Accelerator, Gpu
from treenail.domain.model.node_classes import AmiFamily, BlockDevice, Kubelet, NodeClass
from treenail.domain.model.resources import Resources

LINUX = [family for family in AmiFamily if not family.windows]
WINDOWS = [family for family in AmiFamily if family.windows]


def storage_gib(node: NodeClass, name: str = "c5.xlarge") -> float:
    return instance_type(name, node).capacity["ephemeral-storage"] / GIB


def pods(kubelet: Kubelet, family: AmiFamily = AmiFamily.AL2023, reserved_enis: int = 0) -> int:
    settings = NodeSizing(reserved_enis=reserved_enis)
    return instance_type("c5.xlarge", node_class(family), kubelet, settings).capacity["pods"]


@pytest.mark.parametrize("family", LINUX)
def test_interfaces_and_their_addresses_limit_the_pods_of_linux(family: AmiFamily) -> None:
    assert pods(Kubelet(), family) == 4 * 14 + 2


@pytest.mark.parametrize("family", WINDOWS)
def test_windows_nodes_have_110_pods(family: AmiFamily) -> None:
    assert pods(Kubelet(), family) == 110


@pytest.mark.parametrize("family", AmiFamily)
def test_max_pods_replaces_what_the_family_would_do(family: AmiFamily) -> None:
    assert pods(Kubelet(max_pods=17), family) == 17


@pytest.mark.parametrize(
    ("family", "expected"),
    [(AmiFamily.AL2, 12), (AmiFamily.UBUNTU, 12), (AmiFamily.WINDOWS2022, 12), (AmiFamily.BOTTLEROCKET, 58)],
)
def test_pods_per_core_lowers_the_pods_except_on_bottlerocket(family: AmiFamily, expected: int) -> None:
    assert pods(Kubelet(pods_per_core=3), family) == expected


def test_pods_per_core_never_raises_the_pods() -> None:
    assert pods(Kubelet(pods_per_core=3, max_pods=5)) == 5
    assert pods(Kubelet(pods_per_core=1000)) == 58
    assert pods(Kubelet(pods_per_core=0)) == 58


@pytest.mark.parametrize(("reserved", "expected"), [(1, 3 * 14 + 2), (4, 0), (9, 0)])
def test_reserved_interfaces_carry_no_pods(reserved: int, expected: int) -> None:
    assert pods(Kubelet(), reserved_enis=reserved) == expected


@pytest.mark.parametrize(
    ("name", "percent", "expected"),
    [("c5.xlarge", 0, 8192), ("c5.xlarge", 0.1, 7372), ("t4g.small", 0, 1984)],
)
def test_memory_is_what_the_hypervisor_and_an_arm_kernel_leave(
    name: str, percent: float, expected: int
) -> None:
    found = instance_type(name, settings=NodeSizing(vm_memory_overhead_percent=percent))

    assert found.capacity["memory"] == expected * MIB


@pytest.mark.parametrize(
    ("family", "expected"),
    [(f, 50 if f.windows else 20) for f in AmiFamily],
)
def test_a_family_has_its_own_default_volume(family: AmiFamily, expected: int) -> None:
    assert storage_gib(node_class(family)) == expected


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (AmiFamily.AL2, "/dev/xvda"),
        (AmiFamily.AL2023, "/dev/xvda"),
        (AmiFamily.BOTTLEROCKET, "/dev/xvdb"),
        (AmiFamily.UBUNTU, "/dev/sda1"),
        (AmiFamily.WINDOWS2019, "/dev/sda1"),
    ],
)
def test_the_device_that_pods_write_to_gives_the_storage(family: AmiFamily, name: str) -> None:
    other = device("/dev/xvdz", 100)

    assert storage_gib(node_class(family, other, device(name, 80), other)) == 80
    assert storage_gib(node_class(family, other)) == storage_gib(node_class(family))
    assert storage_gib(node_class(family, device(name, None))) == storage_gib(node_class(family))


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ((device("/dev/xvda", 80), device("/dev/xvdz", 100, root=True)), 100),
        ((device("/dev/xvda", 80), device("/dev/xvdz", None, root=True)), 80),
    ],
)
def test_a_device_marked_as_the_root_volume_comes_first(
    devices: tuple[BlockDevice, ...], expected: int
) -> None:
    assert storage_gib(node_class(AmiFamily.AL2, *devices)) == expected


def test_of_a_custom_image_the_last_device_gives_the_storage() -> None:
    custom = AmiFamily.CUSTOM

    assert storage_gib(node_class(custom, device("/dev/a", 80), device("/dev/b", 90))) == 90
    assert storage_gib(node_class(custom, device("/dev/a", 80), device("/dev/b", None))) == 20
    assert storage_gib(node_class(custom, device("/dev/a", 80, root=True), device("/dev/b", 90))) == 80


def test_joined_instance_disks_replace_the_volume_where_there_are_any() -> None:
    joined = node_class(AmiFamily.AL2023, device("/dev/xvda", 80), raid0=True)

    assert instance_type("c5d.xlarge", joined).capacity["ephemeral-storage"] == 100 * 10**9
    assert storage_gib(joined) == 80


def test_devices_are_counted_by_maker_and_what_a_type_has_none_of_is_left_out() -> None:
    one = record(
        "x1.large",
        gpus=(Gpu("L4", "NVIDIA", 2, 1), Gpu("T4", "NVIDIA", 1, 1), Gpu("V520", "AMD", 4, 1)),
        accelerators=(Accelerator("Trainium2", "AWS", 16, 8), Accelerator("AI100", "Qualcomm", 8, 0)),
        efa_interfaces=4,
    )
    node = NodeSettings.of(node_class(), Kubelet())

    capacity = capacity_of(one, node, NodeSizing())

    assert capacity == Resources.parse(
        {
            "cpu": 4,
            "memory": "7577Mi",
            "ephemeral-storage": "20Gi",
            "pods": 58,
            "nvidia.com/gpu": 3,
            "amd.com/gpu": 4,
            "aws.amazon.com/neuron": 16,
            "aws.amazon.com/neuroncore": 128,
            "vpc.amazonaws.com/efa": 4,
        }
    )
