from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.node_classes import instance_type, node_class
from treenail.domain.model.fleets import EFA
from treenail.domain.model.node_classes import ConnectionTracking, NetworkInterface, NodeClass

NESTED = replace(node_class(), nested_virtualization="enabled")
TRACKED = replace(node_class(), connection_tracking=ConnectionTracking(udp_timeout=30))


def available(name: str, node: NodeClass) -> bool:
    offerings = instance_type(name, node).offerings
    assert offerings
    return any(offering.available for offering in offerings)


@pytest.mark.parametrize(
    ("name", "possible"), [("m8i.large", True), ("m5.large", False), ("m8g.large", False)]
)
def test_virtual_machines_inside_run_on_types_that_say_so(name: str, possible: bool) -> None:  # noqa: FBT001
    assert available(name, NESTED) is possible
    assert available(name, node_class())


def test_to_forbid_virtual_machines_inside_leaves_all_types() -> None:
    assert available("m5.large", replace(node_class(), nested_virtualization="disabled"))


@pytest.mark.parametrize(("name", "possible"), [("m5.large", True), ("m5.metal", False), ("t2.large", False)])
def test_connections_are_tracked_as_told_on_nitro_alone(name: str, possible: bool) -> None:  # noqa: FBT001
    assert available(name, TRACKED) is possible
    assert available(name, node_class())


@pytest.mark.parametrize(
    ("name", "prefixes", "possible"),
    [
        ("m5.large", 9, True),
        ("m5.large", 10, False),
        ("m5.metal", 1, True),
        ("t2.large", 1, False),
    ],
)
def test_prefixes_are_where_there_is_room_for_them(name: str, prefixes: int, possible: bool) -> None:  # noqa: FBT001
    assert available(name, replace(node_class(), ip_prefix_count=prefixes)) is possible
    assert available(name, node_class())


@pytest.mark.parametrize(
    ("name", "interfaces", "possible"),
    [
        ("m5.large", (NetworkInterface(0, 0), NetworkInterface(0, 2)), True),
        ("m5.large", (NetworkInterface(0, 0), NetworkInterface(0, 3)), False),
        ("m5.large", (NetworkInterface(0, 0), NetworkInterface(1, 1)), False),
        ("m5.large", (NetworkInterface(0, 0), NetworkInterface(0, 1, efa_only=True)), False),
        ("p5.48xlarge", (NetworkInterface(0, 0), NetworkInterface(31, 1, efa_only=True)), True),
        ("p5.48xlarge", (NetworkInterface(0, 0), NetworkInterface(32, 1, efa_only=True)), False),
    ],
)
def test_interfaces_need_their_cards(
    name: str,
    interfaces: tuple[NetworkInterface, ...],
    possible: bool,  # noqa: FBT001
) -> None:
    assert available(name, replace(node_class(), network_interfaces=interfaces)) is possible


def test_interfaces_for_fabric_alone_leave_pods_fewer_addresses_and_are_all_the_fabric_there_is() -> None:
    own = (
        NetworkInterface(0, 0),
        NetworkInterface(0, 1, efa_only=True),
        NetworkInterface(1, 1, efa_only=True),
    )
    plain = instance_type("p5.48xlarge")
    fabric = instance_type("p5.48xlarge", replace(node_class(), network_interfaces=own))

    assert (plain.capacity["pods"], fabric.capacity["pods"]) == (100, 51)
    assert (plain.capacity[EFA], fabric.capacity[EFA]) == (32, 2)
    assert plain.overhead.kube_reserved["memory"] - fabric.overhead.kube_reserved["memory"] == 49 * 11 * 2**20
