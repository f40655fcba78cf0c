"""EC2 node classes, of whichever API generation: how instances of a pool are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from treenail.domain.model.resources import Resources


@dataclass(frozen=True, slots=True, order=True)
class NodeClassRef:
    """The node class that a pool uses. An inline provider of a Provisioner is named after that."""

    group: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def inline(self) -> bool:
        """True if the node class stands within a Provisioner, and is no object of its own."""
        return self.kind == "Provisioner"

    @property
    def played(self) -> bool:
        """True if its nodes have no machines: KWOK plays them."""
        return self.kind == "KWOKNodeClass"


class AmiFamily(StrEnum):
    """The operating system image family of a node class."""

    AL2 = "AL2"
    AL2023 = "AL2023"
    BOTTLEROCKET = "Bottlerocket"
    UBUNTU = "Ubuntu"
    WINDOWS2019 = "Windows2019"
    WINDOWS2022 = "Windows2022"
    WINDOWS2025 = "Windows2025"
    CUSTOM = "Custom"

    @property
    def windows(self) -> bool:
        """True if its images run Windows."""
        return self.value.startswith("Windows")


@dataclass(frozen=True, slots=True)
class SelectorTerm:
    """One alternative of a selector, of subnets, security groups and so on. All fields must match.

    A tag value of "*" matches any value. `alias` and `ssm_parameter` are for images only, `match_criteria`
    ("open" or "targeted") for capacity reservations, and `owner` for both.
    """

    tags: tuple[tuple[str, str], ...] = ()
    id: str = ""
    name: str = ""
    owner: str = ""
    alias: str = ""
    ssm_parameter: str = ""
    match_criteria: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDevice:
    """A block device mapping. Sizes in bytes; `throughput` in MiB/s."""

    device_name: str
    root_volume: bool = False
    volume_size: int | None = None
    volume_type: str = ""
    iops: int | None = None
    throughput: int | None = None
    encrypted: bool | None = None
    delete_on_termination: bool | None = None
    kms_key_id: str = ""
    snapshot_id: str = ""
    volume_initialization_rate: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubelet:
    """Kubelet settings that change what a node can hold, or are passed on to it.

    Thresholds are as written, a quantity or a percentage, by signal name.
    """

    max_pods: int | None = None
    pods_per_core: int | None = None
    system_reserved: Resources | None = None
    kube_reserved: Resources | None = None
    eviction_hard: tuple[tuple[str, str], ...] = ()
    eviction_soft: tuple[tuple[str, str], ...] = ()
    eviction_soft_grace_period: tuple[tuple[str, str], ...] = ()
    eviction_max_pod_grace_period: int | None = None
    image_gc_high_threshold_percent: int | None = None
    image_gc_low_threshold_percent: int | None = None
    cpu_cfs_quota: bool | None = None
    cluster_dns: tuple[str, ...] = ()
    container_runtime: str = ""


DEFAULT_KUBELET: Final = Kubelet()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataOptions:
    """Access to instance metadata, as EC2 names the values."""

    http_endpoint: str = "enabled"
    http_protocol_ipv6: str = "disabled"
    http_put_response_hop_limit: int = 1
    http_tokens: str = "required"


@dataclass(frozen=True, slots=True, order=True)
class NetworkInterface:
    """A network interface that instances are launched with, by the index of its card and of itself on that.

    One that is `efa_only` carries traffic of Elastic Fabric Adapters and has no addresses.
    """

    card: int
    device: int
    efa_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionTracking:
    """The seconds for which a network interface remembers idle connections; None is as EC2 has it."""

    tcp_established_timeout: int | None = None
    udp_stream_timeout: int | None = None
    udp_timeout: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClass:
    """An EC2 node class. Where one field of the old API and one of the new say the same, it is one here.

    `ip_prefix_count` is how many prefixes of addresses each network interface gets; without any
    `network_interfaces` there are as many as pods need. `nested_virtualization`
    is as EC2 names it, "" where it is not set. `reservation_terms` select the capacity reservations that
    may be used.
    """

    ref: NodeClassRef
    uid: str = ""
    resource_version: int = 0
    generation: int = 0
    ami_family: AmiFamily = AmiFamily.AL2
    ami_terms: tuple[SelectorTerm, ...] = ()
    subnet_terms: tuple[SelectorTerm, ...] = ()
    security_group_terms: tuple[SelectorTerm, ...] = ()
    role: str = ""
    instance_profile: str = ""
    launch_template: str = ""
    user_data: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    block_devices: tuple[BlockDevice, ...] = ()
    metadata_options: MetadataOptions = MetadataOptions()
    kubelet: Kubelet = DEFAULT_KUBELET
    instance_store_raid0: bool = False
    detailed_monitoring: bool = False
    associate_public_ip: bool | None = None
    ip_prefix_count: int = 0
    network_interfaces: tuple[NetworkInterface, ...] = ()
    connection_tracking: ConnectionTracking | None = None
    nested_virtualization: str = ""
    placement_group: SelectorTerm | None = None
    reservation_terms: tuple[SelectorTerm, ...] = ()
    context: str = ""
    deleting: bool = False
    # Who holds a class says nothing of what it is: classes that differ in this alone are equal.
    finalizers: tuple[str, ...] = field(default=(), compare=False)
