from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.ec2.launch.orders import FACTS, node_class
from treenail.adapters.ec2.launch.interfaces import interfaces
from treenail.domain.model.node_classes import ConnectionTracking, NetworkInterface, NodeClass

SIX = replace(FACTS, service_cidr="fd12::/108")
PLAIN = {"DeviceIndex": 0, "Groups": ["sg-1"]}


def made(of: NodeClass, *, efa: int = 0, six: bool = False) -> list[Any]:
    return list(interfaces(of, SIX if six else FACTS, ("sg-1",), efa=efa))


def test_instances_have_one_interface_that_bears_their_groups() -> None:
    assert made(node_class()) == [PLAIN]


@pytest.mark.parametrize("public", [True, False])
def test_whether_it_has_a_public_address_is_as_the_class_says(*, public: bool) -> None:
    assert made(node_class(associate_public_ip=public)) == [{**PLAIN, "AssociatePublicIpAddress": public}]


def test_in_a_cluster_of_ipv6_it_has_such_an_address() -> None:
    assert made(node_class(), six=True) == [{**PLAIN, "PrimaryIpv6": True, "Ipv6AddressCount": 1}]


def test_prefixes_are_of_the_clusters_kind() -> None:
    of = node_class(ip_prefix_count=2)

    assert made(of) == [{**PLAIN, "Ipv4PrefixCount": 2}]
    assert made(of, six=True)[0]["Ipv6PrefixCount"] == 2


def test_fabric_adapters_are_one_on_each_card() -> None:
    assert made(node_class(), efa=3) == [
        {"DeviceIndex": 0, "NetworkCardIndex": 0, "InterfaceType": "efa", "Groups": ["sg-1"]},
        {"DeviceIndex": 1, "NetworkCardIndex": 1, "InterfaceType": "efa", "Groups": ["sg-1"]},
        {"DeviceIndex": 1, "NetworkCardIndex": 2, "InterfaceType": "efa", "Groups": ["sg-1"]},
    ]


def test_connections_are_tracked_as_long_as_the_class_says() -> None:
    of = node_class(connection_tracking=ConnectionTracking(tcp_established_timeout=60, udp_timeout=45))

    assert made(of) == [
        {**PLAIN, "ConnectionTrackingSpecification": {"TcpEstablishedTimeout": 60, "UdpTimeout": 45}}
    ]


def test_interfaces_are_as_the_class_has_them_and_those_for_fabric_alone_have_no_addresses() -> None:
    own = (NetworkInterface(0, 0), NetworkInterface(0, 1, efa_only=True), NetworkInterface(1, 1))
    of = node_class(
        network_interfaces=own,
        associate_public_ip=False,
        ip_prefix_count=1,
        connection_tracking=ConnectionTracking(udp_timeout=45),
    )
    addressed = {
        "InterfaceType": "interface",
        "AssociatePublicIpAddress": False,
        "ConnectionTrackingSpecification": {"UdpTimeout": 45},
        "PrimaryIpv6": True,
        "Ipv6AddressCount": 1,
        "Ipv6PrefixCount": 1,
        "Groups": ["sg-1"],
    }

    for efa in (0, 2):
        assert made(of, efa=efa, six=True) == [
            {"NetworkCardIndex": 0, "DeviceIndex": 0, **addressed},
            {"NetworkCardIndex": 0, "DeviceIndex": 1, "InterfaceType": "efa-only", "Groups": ["sg-1"]},
            {"NetworkCardIndex": 1, "DeviceIndex": 1, **addressed},
        ]
