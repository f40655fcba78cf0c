"""Compatibility of instance types with a node class: the types that can be launched from it."""

from __future__ import annotations

from typing import Final

from treenail.adapters.ec2.ami_families import can_boot
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.records import TypeRecord
from treenail.domain.model.node_classes import NetworkInterface

_NITRO: Final = "nitro"
_XEN: Final = "xen"


def can_launch(record: TypeRecord, node: NodeSettings) -> bool:
    """Return whether the type runs the family's images and takes all that is set of its hardware.

    Of Xen's types and of bare metal, EC2 tracks connections as it likes. Xen's have no prefixes; on others
    a prefix takes the place of an address, and the first address of an interface stays.
    """
    return (
        can_boot(node.family, record)
        and (record.nested_virtualization or not node.nested_virtualization)
        and (record.hypervisor == _NITRO or not node.connection_tracking)
        and (record.hypervisor != _XEN or not node.ip_prefixes)
        and node.ip_prefixes < record.ipv4_per_interface
        and node.fabric_interfaces <= record.efa_interfaces
        and all(_fits(one, record) for one in node.interfaces)
    )


def _fits(interface: NetworkInterface, record: TypeRecord) -> bool:
    """Return whether the type has the card, and room on it; where its cards are not known, it has one."""
    cards = record.cards or (record.interfaces,)
    return interface.card < len(cards) and interface.device < cards[interface.card]
