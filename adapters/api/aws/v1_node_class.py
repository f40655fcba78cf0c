"""karpenter.k8s.aws/v1 EC2NodeClass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.aws.launch_options import (
    BlockDeviceMappingModel,
    InstanceTags,
    MetadataOptionsModel,
)
from treenail.adapters.api.aws.v1_selectors import (
    AmiTermModel,
    CapacityReservationTermModel,
    SecurityGroupTermModel,
    SubnetTermModel,
)
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.kubelet import KubeletModel
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.model import NotEmpty, NotNegative, StrictModel
from treenail.domain.model.node_classes import ConnectionTracking, NetworkInterface, SelectorTerm

RESTRICTED_TAGS: Final = (
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
)
_TERMS: Final = Meta(min_length=1, max_length=30)

Family: TypeAlias = Literal[
    "AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025"
]


class PlacementGroupSelectorModel(StrictModel):
    """A placement group by name or id."""

    name: NotEmpty | None = None
    id: Annotated[str, Meta(pattern="^pg-[0-9a-z]+$")] | None = None

    def value(self, at: str) -> SelectorTerm:
        """Return the selector; FieldError unless it has exactly one of both."""
        if (self.name is None) == (self.id is None):
            raise FieldError(at, "needs exactly one of name and id")
        return SelectorTerm(name=self.name or "", id=self.id or "")


class NetworkInterfaceModel(StrictModel, kw_only=True):
    """A network interface of an instance."""

    network_card_index: NotNegative
    device_index: NotNegative
    interface_type: Literal["interface", "efa-only"]

    @property
    def value(self) -> NetworkInterface:
        return NetworkInterface(self.network_card_index, self.device_index, self.interface_type == "efa-only")


def network_interfaces(models: Sequence[NetworkInterfaceModel], at: str) -> tuple[NetworkInterface, ...]:
    """Return the interfaces at the path `at`, sorted; FieldError says what is wrong with them."""
    found = [model.value for model in models]
    if found and NetworkInterface(0, 0) not in found:
        raise FieldError(at, "needs one of interfaceType interface with networkCardIndex 0 and deviceIndex 0")
    if len({(one.card, one.device) for one in found}) < len(found):
        raise FieldError(at, "two have the same networkCardIndex and deviceIndex")
    fabric = [one.card for one in found if one.efa_only]
    if len(set(fabric)) < len(fabric):
        raise FieldError(at, "only one for each networkCardIndex may be efa-only")
    return tuple(sorted(found))


class ConnectionTrackingModel(StrictModel):
    """Timeouts after which idle connections are not tracked any more, in seconds."""

    tcp_established_timeout: Annotated[int, Meta(ge=60, le=432_000)] | None = None
    udp_stream_timeout: Annotated[int, Meta(ge=60, le=180)] | None = None
    udp_timeout: Annotated[int, Meta(ge=30, le=60)] | None = None

    def value(self, at: str) -> ConnectionTracking:
        """Return the settings; FieldError where there are none."""
        times = (self.tcp_established_timeout, self.udp_stream_timeout, self.udp_timeout)
        if not any(times):
            raise FieldError(at, "needs tcpEstablishedTimeout, udpStreamTimeout or udpTimeout")
        return ConnectionTracking(
            tcp_established_timeout=self.tcp_established_timeout,
            udp_stream_timeout=self.udp_stream_timeout,
            udp_timeout=self.udp_timeout,
        )


class CpuOptionsModel(StrictModel):
    """Options of an instance's CPU."""

    nested_virtualization: Literal["enabled", "disabled"] | None = None


class EC2NodeClassSpecModel(StrictModel, kw_only=True):
    """The spec of an EC2NodeClass."""

    subnet_selector_terms: Annotated[tuple[SubnetTermModel, ...], _TERMS]
    security_group_selector_terms: Annotated[tuple[SecurityGroupTermModel, ...], _TERMS]
    ami_selector_terms: Annotated[tuple[AmiTermModel, ...], _TERMS]
    ami_family: Family | None = None
    role: NotEmpty | None = None
    instance_profile: NotEmpty | None = None
    user_data: str = ""
    context: str = ""
    tags: InstanceTags = field(default_factory=dict)
    block_device_mappings: Annotated[tuple[BlockDeviceMappingModel, ...], Meta(max_length=50)] = ()
    metadata_options: MetadataOptionsModel | None = None
    kubelet: KubeletModel | None = None
    instance_store_policy: Literal["RAID0"] | None = None
    detailed_monitoring: bool | None = None
    associate_public_ip_address: bool | None = field(default=None, name="associatePublicIPAddress")
    capacity_reservation_selector_terms: Annotated[
        tuple[CapacityReservationTermModel, ...], Meta(max_length=30)
    ] = ()
    placement_group_selector: PlacementGroupSelectorModel | None = None
    ip_prefix_count: NotNegative | None = None
    network_interfaces: Annotated[tuple[NetworkInterfaceModel, ...], Meta(max_length=150)] = ()
    connection_tracking: ConnectionTrackingModel | None = None
    cpu_options: CpuOptionsModel | None = None


class EC2NodeClassModel(StrictObject, kw_only=True):
    """karpenter.k8s.aws/v1 EC2NodeClass. Its status is ours to write and not to read."""

    spec: EC2NodeClassSpecModel
    status: dict[str, Any] = field(default_factory=dict)
