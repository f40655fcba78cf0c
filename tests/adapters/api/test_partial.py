"""Objects of which some fields are wrong: what is made of the others, and what is said of those."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from treenail.adapters.api.items import Item, Items
from treenail.adapters.api.reading import Reading
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.model.nodes import FOREVER, Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import LabelSelector, Phase, Pod

Tree = dict[str, Any]
NOON = "2026-05-01T12:00:00Z"
REF = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
META: Tree = {"name": "odd", "namespace": "default", "uid": "u-1", "resourceVersion": "7"}


def item(kind: Kind, content: Tree, api_version: str = "v1") -> Item:
    tree = {"apiVersion": api_version, "kind": kind.value, "metadata": META, **content}
    return Items(api_version, kind.value, kind, Reading()).read(json.dumps(tree).encode())


def pod(**spec: Any) -> Item:
    meta = {**META, "deletionTimestamp": NOON, "labels": {"app": "web"}}
    containers = [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]
    content = {"containers": containers, "nodeName": "n-1", **spec}
    return item(Kind.POD, {"metadata": meta, "spec": content, "status": {"phase": "Running"}})


def claim(status: Tree | None = None, **spec: Any) -> Item:
    content = {"nodeClassRef": REF, "requirements": [], **spec}
    provider = {"providerID": "aws:///a/i-1", **(status or {})}
    return item(Kind.NODE_CLAIM, {"spec": content, "status": provider}, "karpenter.sh/v1")


def budget(**spec: Any) -> Item:
    return item(Kind.POD_DISRUPTION_BUDGET, {"spec": spec}, "policy/v1")


def part_of(read: Item) -> tuple[Any, str]:
    assert read.aside is not None
    assert read.objects == ()
    return read.aside.partly, read.aside.problem


def test_a_pod_is_known_by_what_can_be_read_of_it() -> None:
    found, problem = part_of(pod(tolerations=[{"operator": "Resembles"}, {"operator": "Exists"}]))

    assert isinstance(found, Pod)
    assert (found.name, found.uid, found.resource_version) == ("odd", "u-1", 7)
    assert (found.node_name, found.phase, found.labels) == ("n-1", Phase.RUNNING, {"app": "web"})
    assert found.deleting_since == datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert found.spec.requests["cpu"] == 2000
    assert len(found.spec.tolerations) == 1
    assert found.unread == problem
    assert problem.startswith('spec.tolerations[0].operator: "Resembles" is not one of')


def test_a_toleration_that_cannot_be_read_is_none_rather_than_one_of_everything() -> None:
    found, _ = part_of(pod(tolerations=[{"key": "a" * 64, "operator": "Exists"}]))

    assert isinstance(found, Pod)
    assert found.spec.tolerations == ()
    assert found.node_name == "n-1"


def test_of_a_pod_of_which_too_much_is_wrong_there_is_where_it_is_and_what_it_asks_for() -> None:
    containers = [{"name": "Not A Label", "resources": {"requests": {"cpu": "2", "memory": "lots"}}}]

    found, problem = part_of(pod(containers=containers))

    assert isinstance(found, Pod)
    assert (found.key, found.node_name, found.phase) == ("default/odd", "n-1", Phase.RUNNING)
    assert dict(found.spec.requests) == {"cpu": 2000, "pods": 1}
    assert problem.startswith("spec.containers[0].name: ")


@pytest.mark.parametrize("spec", [None, [], "text", {"containers": 3}, {"containers": [3]}])
def test_whatever_a_pod_says_it_is_there(spec: Any) -> None:
    found, _ = part_of(item(Kind.POD, {"spec": spec, "status": "none"}))

    assert isinstance(found, Pod)
    assert found.uid == "u-1"
    assert found.unread


def test_a_node_is_known_by_its_machine() -> None:
    taints = [{"key": "a", "effect": "Slow"}, {"key": "b", "effect": "NoSchedule"}]

    found, _ = part_of(item(Kind.NODE, {"spec": {"providerID": "aws:///a/i-1", "taints": taints}}))

    assert isinstance(found, Node)
    assert found.provider_id == "aws:///a/i-1"
    assert [taint.key for taint in found.taints] == ["b"]


def test_what_a_later_release_adds_to_a_claim_or_is_beyond_counting_is_no_matter() -> None:
    status = {"capacity": {"example.com/gpu": "8193Pi", "cpu": "-1"}, "newField": 1}
    times = {"expireAfter": "999999999999h", "terminationGracePeriod": "999999999999h"}
    condition = {"type": "Odd", "status": "True", "lastTransitionTime": "10000-01-01T00:00:00Z", "new": 1}

    read = claim({**status, "conditions": [condition]}, newField={"a": [1]}, **times)

    assert read.aside is None
    [found] = read.objects
    assert isinstance(found, NodeClaim)
    assert found.expire_after == FOREVER
    assert found.termination_grace_period is not None
    assert found.capacity["cpu"] == 0
    assert found.unread == ""
    assert [one.type for one in found.conditions] == ["Odd"]


def test_a_claim_is_known_by_its_instance() -> None:
    found, problem = part_of(claim(requirements=[{"key": "a", "operator": "Resembles"}]))

    assert isinstance(found, NodeClaim)
    assert found.provider_id == "aws:///a/i-1"
    assert problem.startswith("spec.requirements[0].operator: ")


def test_a_budget_whose_selector_is_wrong_selects_all_of_its_namespace() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "Resembles"}]}

    found, _ = part_of(budget(selector=selector, maxUnavailable=1))

    assert isinstance(found, PodDisruptionBudget)
    assert found.selector == LabelSelector()


def test_a_budget_that_is_wrong_elsewhere_holds_whom_it_selects() -> None:
    found, _ = part_of(budget(selector={"matchLabels": {"app": "web"}}, maxUnavailable="lots"))

    assert isinstance(found, PodDisruptionBudget)
    there = Pod(uid="u", name="web-0", labels={"app": "web"}, created_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert found.selects(there)
    assert found.holds(there)


def test_of_other_kinds_there_is_no_part() -> None:
    found, problem = part_of(item(Kind.STORAGE_CLASS, {"provisioner": ""}, "storage.k8s.io/v1"))

    assert found is None
    assert problem == "provisioner: must not be empty"
