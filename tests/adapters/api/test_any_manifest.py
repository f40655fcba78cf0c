from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.adapters.api.builders import (
    deployment_tree,
    node_class_tree,
    node_pool_tree,
    pod_tree,
    provisioner_tree,
)
from treenail.adapters.api.manifests import ManifestError, decode_all, parse_manifests

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SELECTOR = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
IN = {"key": "karpenter.k8s.aws/instance-cpu", "operator": "In", "values": ["4"]}
ABOVE = {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["4"]}
TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}
META = {
    "name": "x",
    "namespace": "n",
    "labels": {"a": "b"},
    "annotations": {"a": "b"},
    "creationTimestamp": "2026-05-01T12:00:00Z",
    "resourceVersion": "1",
    "ownerReferences": [{"apiVersion": "v1", "kind": "DaemonSet", "name": "d", "uid": "u"}],
}
RICH_POD = pod_tree(
    containers=[
        {
            "name": "c",
            "resources": {"requests": {"cpu": "1", "memory": 5}, "limits": {"cpu": 2.5}},
            "ports": [{"containerPort": 80, "hostPort": 80}],
        }
    ],
    initContainers=[{"name": "i", "restartPolicy": "Always", "resources": {"limits": {"cpu": "1"}}}],
    resources={"requests": {"cpu": 9}},
    overhead={"cpu": "1m"},
    nodeSelector={"a": "b"},
    tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    affinity={
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [IN]}, {"matchFields": [IN]}]}
        },
        "podAntiAffinity": {REQUIRED: [{"topologyKey": "z", "labelSelector": SELECTOR, "namespaces": ["a"]}]},
    },
    topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR}
    ],
    volumes=[
        {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "w", "ephemeral": {"volumeClaimTemplate": {}}},
    ],
)
TREES: list[dict[str, Any]] = [
    {
        **RICH_POD,
        "metadata": META,
        "status": {"phase": "Running", "conditions": [{"type": "a", "status": "True"}]},
    },
    deployment_tree(replicas=3),
    {**deployment_tree(), "kind": "StatefulSet"},
    provisioner_tree(
        requirements=[IN, ABOVE],
        taints=[TAINT],
        labels={"a": "b"},
        limits={"resources": {"cpu": 1}},
        ttlSecondsAfterEmpty=30,
        weight=3,
        kubeletConfiguration={
            "maxPods": 5,
            "evictionHard": {"memory.available": "5%"},
            "kubeReserved": {"cpu": 1},
        },
    ),
    node_pool_tree(
        {"requirements": [IN | {"minValues": 1}, ABOVE], "taints": [TAINT], "expireAfter": "720h"},
        disruption={
            "consolidateAfter": "30s",
            "budgets": [{"nodes": "5%", "schedule": "@daily", "duration": "8h"}],
        },
        limits={"cpu": "1"},
    ),
    node_class_tree(
        amiSelectorTerms=[{"alias": "al2023@latest"}],
        tags={"a": "b"},
        blockDeviceMappings=[{"deviceName": "a", "ebs": {"volumeSize": "5Gi"}}],
        kubelet={
            "evictionSoft": {"memory.available": "5%"},
            "evictionSoftGracePeriod": {"memory.available": "1m"},
        },
    ),
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": META,
        "spec": {"taints": [TAINT]},
        "status": {"capacity": {"cpu": 1}, "conditions": [{"type": "Ready", "status": "True"}]},
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": META,
        "spec": {"capacity": {"storage": "1Gi"}},
    },
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": META,
        "spec": {"minAvailable": "50%"},
    },
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**40), 10**40)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["", "-1", "1e9", "1e999", "9" * 30, "Never", "100%", "\n", "a/b/c", "1h", "٣", "-0", "0x10"]
    )
)
anything = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.text(max_size=5), below, max_size=2),
)


def places(tree: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below: list[tuple[str | int, Any]] = []
    if isinstance(tree, dict):
        below = list(tree.items())
    elif isinstance(tree, list):
        below = list(enumerate(tree))
    return [path, *(found for key, value in below for found in places(value, (*path, key)))]


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A good object with one thing in it replaced, renamed or repeated."""
    tree: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(TREES)))
    path = draw(st.sampled_from(places(tree)[1:]))
    holder: Any = tree
    for key in path[:-1]:
        holder = holder[key]
    last: Any = path[-1]
    if isinstance(holder, list) and draw(st.booleans()):
        holder.append(holder[last])
    elif isinstance(holder, dict) and draw(st.integers(0, 3)) == 0:
        holder[draw(st.text(max_size=5))] = holder.pop(last)
    else:
        holder[last] = draw(anything)
    return tree


def refusal(data: bytes) -> str:
    """The line that refuses `data`, empty where it is read; anything else that is raised is a fault."""
    try:
        decode_all(parse_manifests(data, "x.yaml"), node_classes_optional=True)
    except ManifestError as error:
        return str(error)
    return ""


@given(damaged())
@example({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": 10**400}})
def test_whatever_an_object_says_it_is_read_or_refused_in_one_line(tree: dict[str, Any]) -> None:
    for data in (json.dumps(tree), yaml.dump(tree, Dumper=yaml.CSafeDumper)):
        line = refusal(data.encode())
        assert len(line.splitlines()) <= 1
        assert not line.endswith(":")


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: str(tree["kind"]))
def test_the_objects_that_are_damaged_are_good_before(tree: dict[str, Any]) -> None:
    assert refusal(json.dumps(tree).encode()) == ""


@given(st.binary(max_size=60) | st.text("{}[]:-&*!|>'\"%@`#, \nabc1", max_size=60).map(str.encode))
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_line(data: bytes) -> None:
    assert len(refusal(data).splitlines()) <= 1
