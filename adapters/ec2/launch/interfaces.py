"""The network interfaces that instances are launched with."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.node_classes import ConnectionTracking, NetworkInterface, NodeClass

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.type_defs import (
        ConnectionTrackingSpecificationRequestTypeDef,
        LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef,
    )

_IPV6: Final = 6


def interfaces(
    node_class: NodeClass, cluster: ClusterFacts, security_groups: tuple[str, ...], *, efa: int
) -> Iterator[LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef]:
    """Yield the interfaces of the class, or else one, or as many fabric adapters as are asked for.

    Each has the security groups: EC2 allows none beside interfaces.
    """
    own = node_class.network_interfaces
    # Of adapters each card has one. The first card has the first device; on others that number is kept free.
    usual = tuple(NetworkInterface(card, min(card, 1)) for card in range(max(efa, 1)))
    for one in own or usual:
        interface: LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef = {
            "DeviceIndex": one.device,
            "Groups": list(security_groups),
        }
        if own or efa:
            interface["NetworkCardIndex"] = one.card
            interface["InterfaceType"] = _kind(one) if own else "efa"
        if not one.efa_only:
            _address(interface, node_class, six=_is_ipv6(cluster))
        yield interface


def _kind(interface: NetworkInterface) -> str:
    return "efa-only" if interface.efa_only else "interface"


def _address(
    interface: LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef,
    node_class: NodeClass,
    *,
    six: bool,
) -> None:
    """Set the addresses of an interface, and the tracking of its connections."""
    if node_class.associate_public_ip is not None:
        interface["AssociatePublicIpAddress"] = node_class.associate_public_ip
    if node_class.connection_tracking is not None:
        interface["ConnectionTrackingSpecification"] = _tracking(node_class.connection_tracking)
    if six:
        interface["PrimaryIpv6"] = True
        interface["Ipv6AddressCount"] = 1
    if node_class.ip_prefix_count:
        interface["Ipv6PrefixCount" if six else "Ipv4PrefixCount"] = node_class.ip_prefix_count


def _tracking(tracking: ConnectionTracking) -> ConnectionTrackingSpecificationRequestTypeDef:
    fields = {
        "TcpEstablishedTimeout": tracking.tcp_established_timeout,
        "UdpStreamTimeout": tracking.udp_stream_timeout,
        "UdpTimeout": tracking.udp_timeout,
    }
    return {name: value for name, value in fields.items() if value is not None}  # type: ignore[return-value]


def _is_ipv6(cluster: ClusterFacts) -> bool:
    return bool(cluster.service_cidr) and ip_network(cluster.service_cidr).version == _IPV6
