from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.adapters.api.builders import node_pool_tree, provisioner_tree, read
from treenail.domain.model import labels
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Budget, ConsolidationPolicy, Disruption, Generation, NodePool
from treenail.domain.model.requirements import ANYTHING, Operator
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint


def pool(template: dict[str, Any] | None = None, **spec: Any) -> NodePool:
    return read(node_pool_tree(template, **spec), NodePool)


def test_a_node_pool_has_the_defaults_of_its_version_and_no_types_by_default() -> None:
    own = pool()

    assert own.requirements == ANYTHING
    assert own.weight == 0
    assert own.generation is Generation.V1
    assert own.disruption == Disruption(
        policy=ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED,
        consolidate_after=timedelta(0),
        expire_after=timedelta(hours=720),
        budgets=(Budget(percent=10),),
    )
    assert own.not_acted_on == ()


def test_every_field_of_a_node_pool_comes_through() -> None:
    tree = node_pool_tree(
        {
            "requirements": [
                {"key": labels.INSTANCE_CPU, "operator": "Gte", "values": ["4"]},
                {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ["spot", "on-demand"]},
            ],
            "taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}],
            "startupTaints": [{"key": "boot", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}],
            "terminationGracePeriod": "1h30m",
        },
        limits={"cpu": "10", "nodes": 3},
        weight=9,
        disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
    )
    tree["spec"]["template"]["metadata"] = {"labels": {"team": "a"}, "annotations": {"example.com/x": "y"}}

    own = read(tree, NodePool)

    assert own.requirements[labels.INSTANCE_CPU].at_least == 4
    assert own.requirements[labels.CAPACITY_TYPE].values == {"spot", "on-demand"}
    assert own.taints == (Taint("team", Effect.NO_SCHEDULE, "a"),)
    assert own.startup_taints == (Taint("boot", Effect.NO_EXECUTE),)
    assert own.termination_grace_period == timedelta(minutes=90)
    assert own.limits == Resources({"cpu": 10_000, "nodes": 3})
    assert own.weight == 9
    assert own.labels == {"team": "a"}
    assert own.annotations == {"example.com/x": "y"}
    assert own.disruption.consolidate_after == timedelta(seconds=30)
    assert own.disruption.policy is ConsolidationPolicy.WHEN_EMPTY


@pytest.mark.parametrize(("written", "cost"), [("0.05", 0.05), ("0", 0.0), ("3", 3.0)])
def test_pools_of_every_generation_may_say_what_their_nodes_cost_beside_price_and_volumes(
    written: str, cost: float
) -> None:
    said = {"name": "default", "annotations": {labels.NODE_OVERHEAD_COST: written}}
    beta = {**node_pool_tree(), "apiVersion": "karpenter.sh/v1beta1"}
    beta["spec"]["template"]["spec"]["nodeClassRef"] = {"name": "default"}

    for tree in (node_pool_tree(), provisioner_tree(), beta):
        own = read({**tree, "metadata": said}, NodePool)
        assert own.node_overhead_cost == cost
        # It is no annotation of the nodes.
        assert own.annotations == {}
        assert read({**tree, "metadata": {"name": "default"}}, NodePool).node_overhead_cost is None


@pytest.mark.parametrize(
    ("written", "expected"),
    [("Never", None), ("0s", timedelta(0)), ("1h30m", timedelta(minutes=90))],
)
def test_consolidate_after_is_how_long_pods_must_have_left_a_node_alone(
    written: str, expected: timedelta | None
) -> None:
    assert pool(disruption={"consolidateAfter": written}).disruption.consolidate_after == expected


@pytest.mark.parametrize("policy", list(ConsolidationPolicy))
def test_the_policy_of_a_node_pool_says_which_nodes_are_consolidated(policy: ConsolidationPolicy) -> None:
    assert pool(disruption={"consolidationPolicy": policy.value}).disruption.policy is policy


def test_pools_of_every_generation_may_say_when_a_consolidation_must_have_paid_back() -> None:
    said = {"name": "default", "annotations": {labels.PAYBACK: "1h30m"}}
    beta = {**node_pool_tree(), "apiVersion": "karpenter.sh/v1beta1"}
    beta["spec"]["template"]["spec"]["nodeClassRef"] = {"name": "default"}

    for tree in (node_pool_tree(), provisioner_tree(), beta):
        own = read({**tree, "metadata": said}, NodePool)
        assert own.payback == timedelta(minutes=90)
        # It is no annotation of the nodes.
        assert own.annotations == {}
        assert read({**tree, "metadata": {"name": "default"}}, NodePool).payback is None


def test_pools_of_every_generation_may_say_by_how_much_a_return_to_a_heavier_pool_may_cost_more() -> None:
    said = {"name": "default", "annotations": {labels.RETURN: "20%"}}
    for tree in (node_pool_tree(), provisioner_tree()):
        assert read({**tree, "metadata": said}, NodePool).return_premium == 0.2
        assert read({**tree, "metadata": {"name": "default"}}, NodePool).return_premium is None


def test_nodes_expire_unless_they_never_should() -> None:
    never, later = pool({"expireAfter": "Never"}), pool({"expireAfter": "360h"})

    assert (never.disruption.expire_after, never.not_acted_on) == (None, ())
    assert (later.disruption.expire_after, later.not_acted_on) == (timedelta(hours=360), ())


@pytest.mark.parametrize("policy", ConsolidationPolicy)
def test_every_consolidation_policy_is_acted_on(policy: ConsolidationPolicy) -> None:
    own = pool(disruption={"consolidationPolicy": policy.value, "consolidateAfter": "1m"})

    assert (own.disruption.policy, own.not_acted_on) == (policy, ())


def test_budgets_come_through() -> None:
    own = pool(
        disruption={
            "budgets": [
                {"nodes": "3", "reasons": ["Empty", "Drifted"]},
                {"nodes": "100%"},
                {"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h"},
            ]
        }
    )

    assert own.disruption.budgets == (
        Budget(nodes=3, reasons=("Drifted", "Empty")),
        Budget(percent=100),
        Budget(nodes=0, schedule="0 9 * * 1-5", duration=timedelta(hours=8)),
    )
    assert own.not_acted_on == ()


def test_static_pools_are_listed_as_not_acted_on() -> None:
    own = pool(
        {
            "requirements": [
                {"key": labels.INSTANCE_FAMILY, "operator": "Exists", "minValues": 5},
            ]
        },
        replicas=3,
    )

    assert own.requirements[labels.INSTANCE_FAMILY].min_values == 5
    assert own.requirements[labels.INSTANCE_FAMILY].operator is Operator.EXISTS
    assert own.not_acted_on == ("spec.replicas",)


def test_a_reference_to_a_class_of_kwok_is_fine() -> None:
    ref = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}

    assert pool({"nodeClassRef": ref}).node_class == NodeClassRef(
        "karpenter.kwok.sh", "KWOKNodeClass", "default"
    )


def test_what_the_api_server_adds_is_no_unknown_field() -> None:
    tree = node_pool_tree()
    tree["metadata"] |= {
        "uid": "u-1",
        "resourceVersion": "42",
        "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "kubectl"}],
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
    }
    tree["status"] = {"nodes": 3, "conditions": [{"type": "Ready", "status": "True"}]}

    own = read(tree, NodePool)

    assert (own.uid, own.resource_version, own.deleting) == ("u-1", 42, True)


def test_null_is_as_good_as_not_there() -> None:
    tree = node_pool_tree({"taints": None, "expireAfter": None}, limits=None, disruption=None, weight=None)
    tree["metadata"] |= {"labels": None, "creationTimestamp": None}

    assert read(tree, NodePool) == pool()
