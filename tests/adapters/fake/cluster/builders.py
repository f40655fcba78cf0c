from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.adapters.fake.cluster.rig import Rig
from tests.agenda import START
from treenail.adapters.api.workloads import Deployment, StatefulSet
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import LabelSelector, Pod, PodSpec
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Taint

CLASS = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")


def a_spec(cpu: str = "1", memory: str = "1Gi", **fields: Any) -> PodSpec:
    return PodSpec(requests=Resources.parse({"cpu": cpu, "memory": memory, "pods": 1}), **fields)


def a_pod(name: str, *, spec: PodSpec | None = None, scheduler: str = "", **fields: Any) -> Pod:
    spec = spec or a_spec()
    if scheduler:
        spec = replace(spec, scheduler_name=scheduler)
    return Pod(uid="", name=name, spec=spec, created_at=START, **fields)


def a_node(name: str, *, cpu: str = "4", **fields: Any) -> Node:
    size = Resources.parse({"cpu": cpu, "memory": "16Gi", "pods": 58})
    return Node(name=name, capacity=size, allocatable=size, created_at=START, **fields)


def a_pool(name: str, **fields: Any) -> NodePool:
    return NodePool(name=name, node_class=CLASS, **fields)


def a_class(name: str = "default", **fields: Any) -> NodeClass:
    return NodeClass(ref=NodeClassRef(CLASS.group, CLASS.kind, name), **fields)


def a_claim(name: str, **fields: Any) -> NodeClaim:
    return NodeClaim(name=name, pool="default", node_class=CLASS, created_at=START, **fields)


def a_deployment(name: str, replicas: int, *, spec: PodSpec | None = None, **fields: Any) -> Deployment:
    template = PodTemplate(labels={"app": name}, spec=spec or a_spec())
    selector = LabelSelector(match_labels=(("app", name),))
    return Deployment(name=name, replicas=replicas, selector=selector, template=template, **fields)


def a_stateful_set(name: str, replicas: int, *, spec: PodSpec | None = None, **fields: Any) -> StatefulSet:
    template = PodTemplate(labels={"app": name}, spec=spec or a_spec())
    selector = LabelSelector(match_labels=(("app", name),))
    return StatefulSet(name=name, replicas=replicas, selector=selector, template=template, **fields)


def a_daemon_set(name: str, cpu: str = "100m", **fields: Any) -> DaemonSet:
    return DaemonSet(uid="", name=name, spec=a_spec(cpu=cpu, memory="10Mi", **fields))


def join(
    rig: Rig,
    name: str,
    *,
    cpu: str = "4",
    labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    **fields: Any,
) -> None:
    size = Resources.parse({"cpu": cpu, "memory": "16Gi", "pods": 58})
    rig.cluster.join(
        node_name=name,
        provider_id=provider_id(name),
        labels=labels or {},
        taints=taints,
        capacity=size,
        allocatable=size,
        **fields,
    )


def provider_id(node: str) -> str:
    return f"aws:///us-east-1a/i-{node}"
