"""Parts of a launch template beside user data: disks, network, metadata, placement."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from treenail.adapters.ec2.ami_families import TRAITS
from treenail.domain.model.node_classes import AmiFamily, BlockDevice, MetadataOptions, NodeClass

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.type_defs import (
        LaunchTemplateBlockDeviceMappingRequestTypeDef,
        LaunchTemplateCpuOptionsRequestTypeDef,
        LaunchTemplateEbsBlockDeviceRequestTypeDef,
        LaunchTemplateInstanceMetadataOptionsRequestTypeDef,
    )

_GIB: Final = 2**30
_BOTTLEROCKET_ROOT: Final = BlockDevice(
    device_name="/dev/xvda", volume_size=4 * _GIB, volume_type="gp3", encrypted=True
)


def metadata_options(options: MetadataOptions) -> LaunchTemplateInstanceMetadataOptionsRequestTypeDef:
    """Return access to instance metadata."""
    given = {
        "HttpEndpoint": options.http_endpoint,
        "HttpProtocolIpv6": options.http_protocol_ipv6,
        "HttpTokens": options.http_tokens,
        "HttpPutResponseHopLimit": options.http_put_response_hop_limit,
        # Tags hold what processes on the node need not know.
        "InstanceMetadataTags": "disabled",
    }
    # The API's models have admitted no other words.
    return cast("LaunchTemplateInstanceMetadataOptionsRequestTypeDef", given)


def cpu_options(nested_virtualization: str) -> LaunchTemplateCpuOptionsRequestTypeDef:
    """Return whether virtual machines run inside, "enabled" or "disabled"."""
    given = {"NestedVirtualization": nested_virtualization}
    return cast("LaunchTemplateCpuOptionsRequestTypeDef", given)


def block_devices(node_class: NodeClass) -> list[LaunchTemplateBlockDeviceMappingRequestTypeDef]:
    """Return the disks of the class, or else the default ones of its family; none if they are unknown."""
    devices = node_class.block_devices or usual_devices(node_class.ami_family)
    return [{"DeviceName": device.device_name, "Ebs": _volume(device)} for device in devices]


def usual_devices(family: AmiFamily) -> tuple[BlockDevice, ...]:
    """Return the disks of a class that maps none; none if it is unknown."""
    traits = TRAITS[family]
    if traits.pods_device is None:
        return ()
    of_pods = BlockDevice(
        device_name=traits.pods_device, volume_size=traits.volume_size, volume_type="gp3", encrypted=True
    )
    # Bottlerocket has its system on a disk apart.
    return (_BOTTLEROCKET_ROOT, of_pods) if family is AmiFamily.BOTTLEROCKET else (of_pods,)


def _volume(device: BlockDevice) -> LaunchTemplateEbsBlockDeviceRequestTypeDef:
    fields: dict[str, object] = {
        "VolumeSize": math.ceil(device.volume_size / _GIB) if device.volume_size is not None else None,
        "VolumeType": device.volume_type or None,
        "Iops": device.iops,
        "Throughput": device.throughput,
        "Encrypted": device.encrypted,
        "DeleteOnTermination": device.delete_on_termination,
        "KmsKeyId": device.kms_key_id or None,
        "SnapshotId": device.snapshot_id or None,
        "VolumeInitializationRate": device.volume_initialization_rate,
    }
    return {name: value for name, value in fields.items() if value is not None}  # type: ignore[return-value]
