"""The network interfaces that instances are launched with."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.node_classes import ConnectionTracking, NodeClass

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.type_defs import (
        ConnectionTrackingSpecificationRequestTypeDef,
        LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef,
    )

_IPV6: Final = 6


def interfaces(
    node_class: NodeClass, cluster: ClusterFacts, security_groups: tuple[str, ...], *, efa: int
) -> Iterator[LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef]:
    """Yield the only interface, or as many Elastic Fabric Adapters as are asked for, one on each card.

    Groups stand in each of them: EC2 takes none beside interfaces.
    """
    for card in range(max(efa, 1)):
        interface: LaunchTemplateInstanceNetworkInterfaceSpecificationRequestTypeDef = {
            # The first card has the first device; on every other that number is kept free.
            "DeviceIndex": min(card, 1),
            "Groups": list(security_groups),
        }
        if efa:
            interface["NetworkCardIndex"] = card
            interface["InterfaceType"] = "efa"
        if node_class.associate_public_ip is not None:
            interface["AssociatePublicIpAddress"] = node_class.associate_public_ip
        if node_class.connection_tracking is not None:
            interface["ConnectionTrackingSpecification"] = _tracking(node_class.connection_tracking)
        six = _is_ipv6(cluster)
        if six:
            interface["PrimaryIpv6"] = True
            interface["Ipv6AddressCount"] = 1
        if node_class.ip_prefix_count:
            interface["Ipv6PrefixCount" if six else "Ipv4PrefixCount"] = node_class.ip_prefix_count
        yield interface


def _tracking(tracking: ConnectionTracking) -> ConnectionTrackingSpecificationRequestTypeDef:
    fields = {
        "TcpEstablishedTimeout": tracking.tcp_established_timeout,
        "UdpStreamTimeout": tracking.udp_stream_timeout,
        "UdpTimeout": tracking.udp_timeout,
    }
    return {name: value for name, value in fields.items() if value is not None}  # type: ignore[return-value]


def _is_ipv6(cluster: ClusterFacts) -> bool:
    return bool(cluster.service_cidr) and ip_network(cluster.service_cidr).version == _IPV6
