from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.ec2.launch.orders import node_class
from treenail.adapters.ec2.launch.hardware import block_devices, metadata_options
from treenail.domain.model.node_classes import AmiFamily, BlockDevice, MetadataOptions

DISK = BlockDevice(
    device_name="/dev/xvda",
    root_volume=True,
    volume_size=100 * 10**9,
    volume_type="io2",
    iops=3000,
    throughput=500,
    encrypted=True,
    delete_on_termination=False,
    kms_key_id="key",
    snapshot_id="snap-1",
    volume_initialization_rate=200,
)


def volume(size: int, **more: Any) -> dict[str, Any]:
    return {"VolumeSize": size, "VolumeType": "gp3", "Encrypted": True, **more}


def test_disks_are_as_the_class_has_them_with_sizes_rounded_up() -> None:
    assert block_devices(node_class(block_devices=(DISK,))) == [
        {
            "DeviceName": "/dev/xvda",
            "Ebs": {
                "VolumeSize": 94,
                "VolumeType": "io2",
                "Iops": 3000,
                "Throughput": 500,
                "Encrypted": True,
                "DeleteOnTermination": False,
                "KmsKeyId": "key",
                "SnapshotId": "snap-1",
                "VolumeInitializationRate": 200,
            },
        }
    ]


@pytest.mark.parametrize(
    ("family", "disks"),
    [
        (AmiFamily.AL2, {"/dev/xvda": volume(20)}),
        (AmiFamily.AL2023, {"/dev/xvda": volume(20)}),
        (AmiFamily.UBUNTU, {"/dev/sda1": volume(20)}),
        (AmiFamily.BOTTLEROCKET, {"/dev/xvda": volume(4), "/dev/xvdb": volume(20)}),
        (AmiFamily.WINDOWS2019, {"/dev/sda1": volume(50)}),
        (AmiFamily.WINDOWS2022, {"/dev/sda1": volume(50)}),
        (AmiFamily.WINDOWS2025, {"/dev/sda1": volume(50)}),
        (AmiFamily.CUSTOM, {}),
    ],
)
def test_without_any_a_family_has_its_usual_disks(
    family: AmiFamily, disks: dict[str, dict[str, Any]]
) -> None:
    made = block_devices(node_class(family))

    assert {disk["DeviceName"]: disk["Ebs"] for disk in made} == disks


def test_a_disk_that_says_nothing_of_itself_is_left_to_ec2() -> None:
    plain = BlockDevice(device_name="/dev/xvda", snapshot_id="snap-1")

    assert block_devices(node_class(block_devices=(plain,))) == [
        {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": "snap-1"}}
    ]


def test_metadata_is_open_as_far_as_the_class_says() -> None:
    options = MetadataOptions(
        http_endpoint="disabled",
        http_protocol_ipv6="enabled",
        http_put_response_hop_limit=2,
        http_tokens="optional",
    )

    assert metadata_options(options) == {
        "HttpEndpoint": "disabled",
        "HttpProtocolIpv6": "enabled",
        "HttpPutResponseHopLimit": 2,
        "HttpTokens": "optional",
        "InstanceMetadataTags": "disabled",
    }
