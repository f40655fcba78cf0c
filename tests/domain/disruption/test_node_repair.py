from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START, at, changed, node, view
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.node_repair import (
    EC2_POLICIES,
    KWOK_POLICIES,
    RepairPolicy,
    UnhealthyNodes,
    diagnose,
)
from treenail.domain.model.nodes import READY, Condition, Node, NodeView, Status

MINUTE = 60.0


def saying(*conditions: Condition) -> Node:
    return replace(node("n-1"), conditions=conditions)


def sick(since: float = 0, kind: str = READY, status: Status = Status.FALSE) -> Condition:
    return Condition(kind, status, "Broken", since=at(since))


@pytest.mark.parametrize(
    ("policies", "condition", "minutes"),
    [
        (EC2_POLICIES, sick(), 30),
        (EC2_POLICIES, sick(status=Status.UNKNOWN), 30),
        (EC2_POLICIES, sick(kind="AcceleratedHardwareReady"), 10),
        (EC2_POLICIES, sick(kind="StorageReady"), 30),
        (EC2_POLICIES, sick(kind="NetworkingReady"), 30),
        (EC2_POLICIES, sick(kind="KernelReady"), 30),
        (EC2_POLICIES, sick(kind="ContainerRuntimeReady"), 30),
        (EC2_POLICIES, sick(status=Status.TRUE), None),
        (EC2_POLICIES, sick(kind="KernelReady", status=Status.UNKNOWN), None),
        (EC2_POLICIES, sick(kind="MemoryPressure"), None),
        (KWOK_POLICIES, sick(), 10),
        (KWOK_POLICIES, sick(kind="KernelReady"), None),
    ],
)
def test_a_condition_is_tolerated_for_its_time(
    policies: tuple[RepairPolicy, ...], condition: Condition, minutes: float | None
) -> None:
    found = diagnose(saying(condition), policies)

    assert (found.due if found else None) == (None if minutes is None else at(minutes * MINUTE))


def test_of_several_conditions_the_one_counts_whose_time_is_over_first() -> None:
    ready, hardware = sick(), sick(since=15 * MINUTE, kind="AcceleratedHardwareReady")

    found = diagnose(saying(ready, hardware), EC2_POLICIES)

    assert found is not None
    assert (found.condition, found.due) == (hardware, at(25 * MINUTE))
    assert found.why == "condition AcceleratedHardwareReady is False (Broken) since 00:15:00Z"


def of_pool(name: str, *conditions: Condition, leaving: bool = False) -> NodeChanged:
    there = view(name, of_claim={"deleting_since": START if leaving else None})
    assert there.node is not None
    own = replace(there.node, conditions=conditions or (Condition(READY, Status.TRUE),))
    return changed(NodeView(claim=there.claim, node=own))


@pytest.mark.parametrize(
    ("nodes", "unhealthy", "allowed"),
    [(1, 1, True), (5, 1, True), (5, 2, False), (6, 2, True), (10, 3, False)],
)
def test_as_long_as_a_fifth_of_the_pool_at_most_is_unhealthy_nodes_are_replaced(
    nodes: int, unhealthy: int, *, allowed: bool
) -> None:
    ward = UnhealthyNodes(EC2_POLICIES)
    for number in range(nodes):
        ward.note(of_pool(f"c{number}", *((sick(),) if number < unhealthy else ())))

    why = ward.too_many("default")

    assert (why is None) is allowed
    if why is not None:
        assert why == f"More than 20% of the nodes of default are unhealthy: {unhealthy} of {nodes}"


def test_who_is_gone_or_recovers_counts_no_longer() -> None:
    ward = UnhealthyNodes(EC2_POLICIES)
    ward.note(of_pool("c1", sick()))
    ward.note(of_pool("c2", sick()))
    assert ward.too_many("default") is not None

    assert ward.note(of_pool("c2")) is None
    assert ward.too_many("default") is None
    ward.note(NodeChanged(name="c1", view=None))

    assert ward.diagnosis("c1") is None
    assert ward.too_many("default") is None


def test_a_node_that_goes_already_is_not_replaced_though_it_counts() -> None:
    ward = UnhealthyNodes(EC2_POLICIES)
    ward.note(of_pool("c1", sick()))

    assert ward.note(of_pool("c2", sick(), leaving=True)) is None
    assert ward.diagnosis("c2") is None
    assert ward.too_many("default") is not None


def test_a_condition_without_a_time_says_nothing() -> None:
    assert diagnose(saying(replace(sick(), since=None)), EC2_POLICIES) is None
