from __future__ import annotations

import pytest

from treenail.adapters.ec2.records import shipped_regions
from treenail.adapters.ec2.volume_costs import volume_cost, written_volume_cost
from treenail.domain.model.node_classes import AmiFamily, BlockDevice, NodeClass, NodeClassRef

GIB = 2**30
HOURS = 730
EC2 = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")


def node_class(*devices: BlockDevice, family: AmiFamily = AmiFamily.AL2023) -> NodeClass:
    return NodeClass(ref=EC2, ami_family=family, block_devices=devices)


def device(gib: int | None, kind: str, iops: int | None = None, throughput: int | None = None) -> BlockDevice:
    size = None if gib is None else gib * GIB
    return BlockDevice(
        device_name="/dev/xvda", volume_size=size, volume_type=kind, iops=iops, throughput=throughput
    )


@pytest.mark.parametrize(
    ("one", "a_month"),
    [
        (device(100, "gp2"), 10.0),
        (device(100, "gp3"), 8.0),
        (device(100, "gp3", iops=3000, throughput=125), 8.0),
        (device(100, "gp3", iops=4000, throughput=225), 8.0 + 1000 * 0.005 + 100 * 0.04),
        (device(100, "io1", iops=1000), 12.5 + 65.0),
        (device(100, "io2", iops=70_000), 12.5 + 32_000 * 0.065 + 32_000 * 0.0455 + 6_000 * 0.03185),
        (device(500, "st1"), 22.5),
        (device(500, "sc1"), 7.5),
        (device(100, "standard"), 5.0),
        (device(100, ""), 10.0),
        (device(None, "gp3"), 1.6),
    ],
)
def test_a_volume_costs_its_size_and_what_it_is_given_beyond_what_is_free(
    one: BlockDevice, a_month: float
) -> None:
    assert volume_cost(node_class(one)) == pytest.approx(a_month / HOURS)


def test_all_volumes_of_a_node_count() -> None:
    assert volume_cost(node_class(device(4, "gp3"), device(100, "gp3"))) == pytest.approx(8.32 / HOURS)


@pytest.mark.parametrize(
    ("family", "gib"),
    [
        (AmiFamily.AL2023, 20),
        (AmiFamily.AL2, 20),
        (AmiFamily.BOTTLEROCKET, 24),
        (AmiFamily.WINDOWS2022, 50),
        (AmiFamily.CUSTOM, 20),
    ],
)
def test_a_class_that_maps_none_has_the_usual_ones_of_its_family(family: AmiFamily, gib: int) -> None:
    assert volume_cost(node_class(family=family)) == pytest.approx(gib * 0.08 / HOURS)


def test_nodes_without_machines_have_those_volumes_alone_that_their_class_maps() -> None:
    played = NodeClass(ref=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default"))

    assert volume_cost(played) == written_volume_cost(node_class()) == 0.0
    assert written_volume_cost(node_class(device(100, "gp3"))) == pytest.approx(8.0 / HOURS)


def test_the_file_of_volume_prices_is_taken_for_no_region() -> None:
    assert "volume-prices" not in shipped_regions()
