from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.adapters.api.builders import problem_of, read
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.domain.model import labels
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import FOREVER, INITIALIZED, LAUNCHED, Condition, NodeClaim, Status
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TYPES = {"key": labels.INSTANCE_TYPE, "operator": "In", "values": ["m5.large", "c5.large"]}


def claim_tree(**spec: Any) -> dict[str, Any]:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "c-1", "labels": {labels.NODEPOOL: "pool"}},
        "spec": {"requirements": [TYPES], "nodeClassRef": ref, **spec},
    }


def machine_tree(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Machine",
        "metadata": {"name": "m-1", "labels": {labels.PROVISIONER: "default"}},
        "spec": {"requirements": [TYPES], "machineTemplateRef": {"name": "default"}, **spec},
    }


def test_a_claim_tells_its_pool_its_types_in_order_and_what_it_was_made_for() -> None:
    tree = claim_tree(
        resources={"requests": {"cpu": "1155m", "pods": 5}},
        taints=[{"key": "team", "effect": "NoSchedule"}],
        terminationGracePeriod="1h",
    )
    tree["status"] = {
        "providerID": "aws:///a/i-1",
        "nodeName": "n-1",
        "imageID": "ami-1",
        "capacity": {"cpu": 2},
        "allocatable": {"cpu": "1930m"},
        "lastPodEventTime": "2026-05-01T12:00:00Z",
        "conditions": [
            {
                "type": "Launched",
                "status": "True",
                "reason": "Launched",
                "lastTransitionTime": "2026-05-01T12:00:00Z",
                "observedGeneration": 1,
            }
        ],
    }

    claim = read(tree, NodeClaim)

    assert (claim.name, claim.pool, claim.generation) == ("c-1", "pool", Generation.V1)
    assert claim.instance_types == ("m5.large", "c5.large")
    assert claim.requests == Resources({"cpu": 1155, "pods": 5})
    assert claim.taints == (Taint("team", Effect.NO_SCHEDULE),)
    assert claim.termination_grace_period == timedelta(hours=1)
    assert (claim.instance_id, claim.node_name, claim.image_id) == ("i-1", "n-1", "ami-1")
    assert claim.allocatable == Resources({"cpu": 1930})
    assert claim.conditions == (Condition(LAUNCHED, Status.TRUE, "Launched", since=NOON),)
    assert claim.last_pod_event_at == NOON


def test_a_machine_is_the_claim_of_a_provisioner() -> None:
    tree = machine_tree()
    tree["status"] = {
        "conditions": [
            {"type": "MachineInitialized", "status": "False", "reason": "NodeNotReady", "severity": "Error"},
            {"type": "Ready", "status": "Unknown"},
        ]
    }

    claim = read(tree, NodeClaim)

    assert (claim.pool, claim.generation) == ("default", Generation.V1ALPHA5)
    assert claim.node_class == NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default")
    assert claim.conditions == (
        Condition(INITIALIZED, Status.FALSE, "NodeNotReady"),
        Condition("Ready", Status.UNKNOWN),
    )


def test_a_machine_without_template_is_of_the_provider_within_its_provisioner() -> None:
    tree = machine_tree()
    del tree["spec"]["machineTemplateRef"]

    assert read(tree, NodeClaim).node_class == NodeClassRef("karpenter.sh", "Provisioner", "default")


def test_claims_may_ask_for_what_pools_may_not() -> None:
    requirements = [
        {"key": labels.NODEPOOL, "operator": "In", "values": ["pool"]},
        {"key": labels.INSTANCE_CPU, "operator": "Gte", "values": ["-3"]},
    ]

    claim = read(claim_tree(requirements=requirements), NodeClaim)

    assert claim.requirements[labels.NODEPOOL].single == "pool"
    assert claim.requirements[labels.INSTANCE_CPU].at_least == -3
    assert claim.instance_types == ()


def test_a_claim_that_an_api_server_took_before_these_rules_is_read() -> None:
    requirements: list[dict[str, Any]] = [
        {"key": labels.PROVISIONER, "operator": "DoesNotExist"},
        {"key": "karpenter.k8s.aws/of-a-newer-version", "operator": "In", "values": ["a"]},
        {"key": "team", "operator": "In", "values": ["a"], "minValues": 2},
    ]
    tree = claim_tree(requirements=requirements)
    assert "is restricted" in problem_of(tree)

    tree["metadata"]["uid"] = "u-1"

    assert list(read(tree, NodeClaim).requirements) == [one["key"] for one in requirements]


def test_types_that_are_excluded_are_not_the_choice() -> None:
    excluded = {"key": labels.INSTANCE_TYPE, "operator": "NotIn", "values": ["m5.large"]}

    assert read(claim_tree(requirements=[excluded]), NodeClaim).instance_types == ()
    both = read(claim_tree(requirements=[TYPES, excluded]), NodeClaim)
    assert both.instance_types == ("c5.large",)
    assert both.requirements[labels.INSTANCE_TYPE].operator is Operator.IN


@pytest.mark.parametrize(
    ("said", "means"),
    [({}, None), ({"expireAfter": "720h"}, timedelta(days=30)), ({"expireAfter": "Never"}, FOREVER)],
)
def test_a_claim_says_how_long_it_may_live_or_leaves_it_to_its_pool(
    said: dict[str, Any], means: timedelta | None
) -> None:
    assert read(claim_tree(**said), NodeClaim).expire_after == means


def test_what_a_claim_says_that_its_pool_says_too_is_warned_of() -> None:
    manifests = parse_manifests(repr(machine_tree(kubelet={"maxPods": 5})).encode(), "x.yaml")

    (warning,) = decode_all(manifests).warnings

    assert warning.endswith(": spec.kubelet: is accepted, but not acted on yet")


def test_a_claim_with_a_bound_that_is_none_is_refused() -> None:
    bad = {"key": labels.INSTANCE_CPU, "operator": "Gt", "values": ["1", "2"]}

    assert problem_of(claim_tree(requirements=[bad])) == (
        'NodeClaim c-1: spec.requirements[0].values: Gt needs exactly one whole number, not ["1", "2"]'
    )
