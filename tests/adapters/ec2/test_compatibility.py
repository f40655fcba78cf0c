from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.node_classes import instance_type, node_class
from treenail.domain.node_classes import ConnectionTracking, NodeClass

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
