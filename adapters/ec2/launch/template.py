"""The content of a launch template: what all instances of a call share."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from treenail.adapters.ec2.launch.hardware import block_devices, cpu_options, metadata_options
from treenail.adapters.ec2.launch.interfaces import interfaces
from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.launch.reserved import capacity_reservation, market_options
from treenail.adapters.ec2.launch.tags import NODE_CLASS_TAG, specification, template_tags
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetRequest
from treenail.domain.model.reservations import Reservation

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.literals import ResourceTypeType
    from types_boto3_ec2.type_defs import (
        LaunchTemplatePlacementRequestTypeDef,
        RequestLaunchTemplateDataTypeDef,
    )

NAME_PREFIX: Final = "treenail.sh/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A launch template. Its name follows from its content: what is equal has one name, in any process."""

    name: str
    data: RequestLaunchTemplateDataTypeDef
    tags: Mapping[str, str]

    @property
    def node_class(self) -> str:
        """The name of the node class it was made for."""
        return self.tags.get(NODE_CLASS_TAG, "")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Build:
    """The parts of a launch template that depend on the instance type: pods admitted, fabric adapters.

    In reserved capacity, it names the `reservation` too.
    """

    max_pods: int
    efa: int = 0
    reservation: Reservation | None = None


def template_of(
    request: FleetRequest,
    cluster: ClusterFacts,
    *,
    security_groups: tuple[str, ...],
    instance_profile: str,
    build: Build,
    placement_group: str = "",
    reserved: bool = True,
) -> Template:
    """Return the template for those instances of a request that are of one build; all are in one group.

    With `reserved` it says which capacity reservation they are to run in, or that it is to be none.
    Image and subnet are not in it: those the call gives, with each instance type.

    Raises:
        NodeClassNotReadyError: the node class's instances cannot be told how to join the cluster.
    """
    node_class = request.node_class
    settings = KubeletSettings(
        max_pods=build.max_pods, labels=request.labels, taints=request.taints, kubelet=request.kubelet
    )
    booting = user_data(node_class, cluster, settings)
    tags = template_tags(request)
    tagged: list[ResourceTypeType] = ["network-interface"]
    if request.capacity_type == labels.SPOT:
        tagged.append("spot-instances-request")
    data: RequestLaunchTemplateDataTypeDef = {
        "Monitoring": {"Enabled": node_class.detailed_monitoring},
        "UserData": base64.b64encode(booting.encode()).decode(),
        "NetworkInterfaces": list(interfaces(node_class, cluster, security_groups, efa=build.efa)),
        "MetadataOptions": metadata_options(node_class.metadata_options),
        "TagSpecifications": [specification(kind, tags) for kind in tagged],
    }
    if instance_profile:
        data["IamInstanceProfile"] = {"Name": instance_profile}
    devices = block_devices(node_class)
    if devices:
        data["BlockDeviceMappings"] = devices
    placement = _placement(request, placement_group)
    if placement:
        data["Placement"] = placement
    capacity = capacity_reservation(node_class, build.reservation) if reserved else None
    if capacity:
        data["CapacityReservationSpecification"] = capacity
    market = market_options(build.reservation)
    if market:
        data["InstanceMarketOptions"] = market
    if node_class.nested_virtualization:
        data["CpuOptions"] = cpu_options(node_class.nested_virtualization)
    content = msgspec.json.encode((data, tags), order="deterministic")
    number = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")
    return Template(name=f"{NAME_PREFIX}{number}", data=data, tags=tags)


def _placement(request: FleetRequest, group: str) -> LaunchTemplatePlacementRequestTypeDef:
    placement: LaunchTemplatePlacementRequestTypeDef = {}
    if request.dedicated:
        placement["Tenancy"] = "dedicated"
    if group:
        placement["GroupId"] = group
    if request.partition:
        placement["PartitionNumber"] = request.partition
    return placement
