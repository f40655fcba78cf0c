"""What an API server accepts, however odd: it is read, and means no more than it says."""

from __future__ import annotations

from typing import Any

import pytest

from treenail.adapters.api.amounts import MOST_OF_ONE
from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.reading import Reading
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import Resources

Tree = dict[str, Any]


def read(kind: str, content: Tree, api_version: str = "v1") -> Any:
    tree = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "odd"}, **content}
    return kind_of(api_version, kind).read(tree, Reading()).objects[0]


def pod(status: Tree | None = None, **spec: Any) -> Pod:
    containers = spec.pop("containers", [{"name": "c"}])
    found = read("Pod", {"spec": {"containers": containers, **spec}, "status": status or {}})
    assert isinstance(found, Pod)
    return found


def node(**status: Any) -> Node:
    found = read("Node", {"status": status})
    assert isinstance(found, Node)
    return found


def needs(*terms: Tree) -> Tree:
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)},
        }
    }


def term(key: str, operator: str, *values: str) -> Tree:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def suits(one: Pod, **labels: str) -> bool:
    there = Requirements.from_labels(labels)
    return any(there.compatible(wanted) for wanted in one.spec.alternatives())


def test_a_negative_grace_period_is_a_second_as_it_is_to_an_api_server() -> None:
    assert pod(terminationGracePeriodSeconds=-1).spec.grace_seconds == 1


@pytest.mark.parametrize("seconds", [2**31, 2**40, 2**63 - 1])
def test_a_grace_period_longer_than_a_life_is_as_long_as_we_count(seconds: int) -> None:
    assert pod(terminationGracePeriodSeconds=seconds).spec.grace_seconds == 2**31 - 1


@pytest.mark.parametrize("quantity", ["8193Pi", "9Ei", "123456789012345678901234567890", "1e999"])
def test_an_amount_that_nothing_holds_is_the_most_there_is(quantity: str) -> None:
    containers = [{"name": "c", "resources": {"limits": {"memory": quantity}}}]

    assert pod(containers=containers).spec.requests["memory"] == MOST_OF_ONE
    assert node(capacity={"example.com/gpu": quantity}).capacity["example.com/gpu"] == MOST_OF_ONE


def test_a_node_that_has_less_than_nothing_has_nothing() -> None:
    assert node(allocatable={"cpu": "-1", "memory": "1Gi"}).allocatable == Resources(
        {"cpu": 0, "memory": 2**30}
    )


def test_values_that_no_label_has_are_those_of_no_node() -> None:
    assert not suits(pod(affinity=needs(term("team", "In", "not a value!"))), team="a")
    assert suits(pod(affinity=needs(term("team", "In", "not a value!", "a"))), team="a")
    assert suits(pod(affinity=needs(term("team", "NotIn", "not a value!"))), team="a")
    assert suits(pod(affinity=needs(term("team", "NotIn", "not a value!"))))


def test_a_bound_that_is_no_number_and_a_term_without_demands_suit_no_node() -> None:
    assert not suits(pod(affinity=needs(term("size", "Gt", "big"))), size="3")
    assert not suits(pod(affinity=needs({})), size="3")
    assert suits(pod(affinity=needs({}, term("size", "Gt", "big"), term("size", "Gt", "2"))), size="3")


def test_a_preference_of_nothing_is_none() -> None:
    preferred = [{"weight": 1, "preference": term("team", "In", "not a value!")}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}

    assert pod(affinity=affinity).spec.node_affinity.preferred == ()


@pytest.mark.parametrize("status", ["unknown", "", "Degraded"])
def test_a_condition_with_a_status_of_its_own_says_nothing(status: str) -> None:
    condition = {"type": "Ready", "status": status}

    assert node(conditions=[condition]).conditions == ()
    assert not pod({"conditions": [condition, {"type": "PodScheduled", "status": status}]}).ready


def test_a_phase_that_is_not_known_is_that_of_a_pod_that_may_run() -> None:
    assert pod({"phase": "Paused"}).phase is Phase.RUNNING
