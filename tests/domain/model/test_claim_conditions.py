"""What a claim says of how far it has come, in Karpenter's words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import claim_of, node_of, resources, view
from treenail.domain.model.claim_conditions import after_initialization, after_launch, after_registration
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.node_shape import shape_condition, shape_problems
from treenail.domain.model.nodes import Condition
from treenail.domain.model.taints import NOT_READY, Effect, Taint

BOOT = Taint("boot", Effect.NO_SCHEDULE, "yes")


def written(conditions: Iterable[Condition]) -> list[tuple[str, str, str, str]]:
    return [(c.type, c.status.value, c.reason, c.message) for c in conditions]


def test_a_launched_claim_waits_for_its_node() -> None:
    missing = ("Unknown", "NodeNotFound", "Node not registered with cluster")

    assert written(after_launch(claim_of(view()))) == [
        ("Launched", "True", "Launched", ""),
        ("Registered", *missing),
        ("Initialized", *missing),
        ("Ready", "Unknown", "ReconcilingDependents", "Registered=Unknown, Initialized=Unknown"),
    ]


@pytest.mark.parametrize(
    ("of_node", "of_claim", "reason", "message"),
    [
        ({"conditions": ()}, {}, "NodeNotReady", "Node status is NotReady"),
        (
            {"taints": (BOOT,)},
            {"startup_taints": (BOOT,)},
            "StartupTaintsExist",
            'StartupTaint "boot=yes:NoSchedule" still exists',
        ),
        (
            {"taints": (NOT_READY,)},
            {},
            "KnownEphemeralTaintsExist",
            'KnownEphemeralTaint "node.kubernetes.io/not-ready:NoSchedule" still exists',
        ),
        (
            {},
            {"requests": resources(cpu=1, **{"nvidia.com/gpu": 1})},
            "ResourceNotRegistered",
            'Resource "nvidia.com/gpu" was requested but not registered',
        ),
        ({}, {}, "AwaitingReconciliation", "object is awaiting reconciliation"),
    ],
)
def test_a_registered_claim_says_what_keeps_its_node_from_use(
    of_node: dict[str, Any], of_claim: dict[str, Any], reason: str, message: str
) -> None:
    there = view(of_node=of_node, of_claim=of_claim)

    assert written(after_registration(claim_of(there), node_of(there))) == [
        ("Registered", "True", "Registered", ""),
        ("Initialized", "Unknown", reason, message),
        ("Ready", "Unknown", "ReconcilingDependents", "Initialized=Unknown"),
    ]


def test_a_claim_in_use_is_ready() -> None:
    assert written(after_initialization(claim_of(view()))) == [
        ("Initialized", "True", "Initialized", ""),
        ("Ready", "True", "Ready", ""),
    ]


def test_a_machine_waits_in_the_words_of_the_old_api() -> None:
    machine = replace(claim_of(view()), generation=Generation.V1ALPHA5)

    *_, ready = after_launch(machine)
    assert ready.message == "MachineRegistered=Unknown, MachineInitialized=Unknown"


@pytest.mark.parametrize(
    ("found", "problems"),
    [
        ({"cpu": 4}, []),
        ({"cpu": "3600m"}, []),
        ({"cpu": "3500m"}, ["expected 4 of resource cpu, but found 3500m (87.5% of expected)"]),
        ({}, ["expected 4 of resource cpu, but found 0 (0.0% of expected)"]),
    ],
)
def test_a_node_may_have_a_tenth_less_than_its_claim_says(found: dict[str, Any], problems: list[str]) -> None:
    there = view(
        of_node={"capacity": resources(**found)},
        of_claim={"requests": resources(cpu=1, memory="1Gi"), "capacity": resources(cpu=4)},
    )

    assert list(shape_problems(there)) == problems
    condition = shape_condition(there)
    assert condition is not None
    assert condition.status.value == ("False" if problems else "True")


def test_what_nobody_asked_for_may_be_missing() -> None:
    there = view(of_node={"capacity": resources(pods=10)}, of_claim={"requests": resources(pods=1)})

    assert not shape_problems(there)


def test_machines_say_nothing_of_their_shape() -> None:
    assert shape_condition(view(of_claim={"generation": Generation.V1ALPHA5})) is None
