"""What instances of a call have in common, as a launch template of EC2."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import msgspec

from treenail.adapters.ec2.ami_families import TRAITS
from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.launch.tags import specification, template_tags
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain import labels
from treenail.domain.fleets import FleetRequest
from treenail.domain.node_classes import BlockDevice, MetadataOptions, NodeClass

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.literals import ResourceTypeType
    from types_boto3_ec2.type_defs import (
        LaunchTemplateBlockDeviceMappingRequestTypeDef,
        LaunchTemplateEbsBlockDeviceRequestTypeDef,
        LaunchTemplateInstanceMetadataOptionsRequestTypeDef,
        LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef,
        RequestLaunchTemplateDataTypeDef,
    )

NAME_PREFIX: Final = "treenail.sh/"
_GIB: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A launch template. Its name follows from its content: what is equal has one name, in any process."""

    name: str
    data: RequestLaunchTemplateDataTypeDef
    tags: Mapping[str, str]


def template_of(
    request: FleetRequest,
    cluster: ClusterFacts,
    *,
    security_groups: tuple[str, ...],
    instance_profile: str,
    max_pods: int,
) -> Template:
    """Return the template for those instances of a request that admit `max_pods` pods.

    Image and subnet are not in it: those the call gives, with each instance type.

    Raises:
        NodeClassNotReadyError: the node class's instances cannot be told how to join the cluster.
    """
    node_class = request.node_class
    settings = KubeletSettings(
        max_pods=max_pods, labels=request.labels, taints=request.taints, kubelet=request.kubelet
    )
    booting = user_data(node_class, cluster, settings)
    tags = template_tags(request)
    tagged: list[ResourceTypeType] = ["network-interface"]
    if request.capacity_type == labels.SPOT:
        tagged.append("spot-instances-request")
    data: RequestLaunchTemplateDataTypeDef = {
        "Monitoring": {"Enabled": node_class.detailed_monitoring},
        "UserData": base64.b64encode(booting.encode()).decode(),
        "NetworkInterfaces": [_interface(node_class, security_groups)],
        "MetadataOptions": _metadata_options(node_class.metadata_options),
        "TagSpecifications": [specification(kind, tags) for kind in tagged],
    }
    if instance_profile:
        data["IamInstanceProfile"] = {"Name": instance_profile}
    devices = _devices(node_class)
    if devices:
        data["BlockDeviceMappings"] = devices
    content = msgspec.json.encode((data, tags), order="deterministic")
    number = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")
    return Template(name=f"{NAME_PREFIX}{number}", data=data, tags=tags)


def _interface(
    node_class: NodeClass, security_groups: tuple[str, ...]
) -> LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef:
    interface: LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef = {
        "DeviceIndex": 0,
        "Groups": list(security_groups),
    }
    if node_class.associate_public_ip is not None:
        interface["AssociatePublicIpAddress"] = node_class.associate_public_ip
    return interface


def _metadata_options(options: MetadataOptions) -> LaunchTemplateInstanceMetadataOptionsRequestTypeDef:
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


def _devices(node_class: NodeClass) -> list[LaunchTemplateBlockDeviceMappingRequestTypeDef]:
    devices = node_class.block_devices
    traits = TRAITS[node_class.ami_family]
    if not devices and traits.pods_device is not None:
        devices = (
            BlockDevice(
                device_name=traits.pods_device,
                volume_size=traits.volume_size,
                volume_type="gp3",
                encrypted=True,
            ),
        )
    return [{"DeviceName": device.device_name, "Ebs": _volume(device)} for device in devices]


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
