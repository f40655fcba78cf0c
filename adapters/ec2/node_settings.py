"""The settings of a node class and its kubelet that decide how much a node holds."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.adapters.ec2.ami_families import TRAITS
from treenail.domain.model.node_classes import AmiFamily, BlockDevice, Kubelet, NetworkInterface, NodeClass
from treenail.domain.model.resources import NOTHING, Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """The settings that size a node, and nothing else: two node classes equal in them have equal nodes.

    `volume_size` (bytes) is of the device pods write to; with `raid0` the instance's own disks replace it
    on types that have any. Thresholds are as written, None where they are not set. The last four are set
    where the node class asks for what not every type can do.
    """

    family: AmiFamily
    volume_size: int
    raid0: bool = False
    max_pods: int | None = None
    pods_per_core: int | None = None
    system_reserved: Resources = NOTHING
    kube_reserved: Resources = NOTHING
    memory_threshold: str | None = None
    storage_threshold: str | None = None
    nested_virtualization: bool = False
    connection_tracking: bool = False
    ip_prefixes: int = 0
    interfaces: tuple[NetworkInterface, ...] = ()

    @classmethod
    def of(cls, node_class: NodeClass, kubelet: Kubelet) -> NodeSettings:
        thresholds = dict(kubelet.eviction_hard)
        honoured = TRAITS[node_class.ami_family].pods_per_core
        return cls(
            family=node_class.ami_family,
            volume_size=_volume_size(node_class.ami_family, node_class.block_devices),
            raid0=node_class.instance_store_raid0,
            max_pods=kubelet.max_pods,
            pods_per_core=(kubelet.pods_per_core or None) if honoured else None,
            system_reserved=kubelet.system_reserved or NOTHING,
            kube_reserved=kubelet.kube_reserved or NOTHING,
            memory_threshold=thresholds.get("memory.available"),
            storage_threshold=thresholds.get("nodefs.available"),
            nested_virtualization=node_class.nested_virtualization == "enabled",
            connection_tracking=node_class.connection_tracking is not None,
            ip_prefixes=node_class.ip_prefix_count,
            interfaces=node_class.network_interfaces,
        )

    @property
    def fabric_interfaces(self) -> int:
        """The number of configured interfaces that carry fabric traffic alone."""
        return sum(one.efa_only for one in self.interfaces)

    @property
    def without_addresses(self) -> int:
        """The number of interfaces of the first card that give pods no addresses."""
        return sum(one.efa_only and one.card == 0 for one in self.interfaces)


def _volume_size(family: AmiFamily, devices: tuple[BlockDevice, ...]) -> int:
    """Return the size of the volume that pods write to.

    The device marked as the root volume comes first. Of a custom image we know no device: there the last
    one counts.
    """
    traits = TRAITS[family]
    root = next((device for device in devices if device.root_volume), None)
    if root is not None and root.volume_size is not None:
        return root.volume_size
    if family is AmiFamily.CUSTOM:
        named = devices[-1] if devices else None
    else:
        named = next((device for device in devices if device.device_name == traits.pods_device), None)
    if named is None or named.volume_size is None:
        return traits.volume_size
    return named.volume_size
