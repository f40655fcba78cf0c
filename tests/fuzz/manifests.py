"""Manifests of scenarios, as plain mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Manifest: TypeAlias = dict[str, Any]

ARCH: Final = "kubernetes.io/arch"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
CPU: Final = "karpenter.kwok.sh/instance-cpu"
FAMILY: Final = "karpenter.kwok.sh/instance-family"
GENERATION: Final = "example.com/generation"
HOSTNAME: Final = "kubernetes.io/hostname"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
OS: Final = "kubernetes.io/os"
POOL: Final = "karpenter.sh/nodepool"
RACK: Final = "example.com/rack"
SHARD: Final = "example.com/shard"
TEAM: Final = "team"
ZONE: Final = "topology.kubernetes.io/zone"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
NODE_CLASS: Final = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}


def need(key: str, operator: str, *values: object) -> Manifest:
    """Return one line of a selector or of a pool's requirements."""
    written: Manifest = {"key": key, "operator": operator}
    if values:
        written["values"] = [str(value) for value in values]
    return written


def node_pool(
    name: str, requirements: Sequence[Manifest], labels: Mapping[str, str], **spec: object
) -> Manifest:
    template = {
        "metadata": {"labels": dict(labels)},
        "spec": {"requirements": list(requirements), "nodeClassRef": NODE_CLASS},
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def container(requests: Mapping[str, str], **more: object) -> Manifest:
    return {"name": "c", "image": "pause", "resources": {"requests": dict(requests)}, **more}


def pod(name: str, labels: Mapping[str, str], spec: Manifest, *, namespace: str = "default") -> Manifest:
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def bound_pod(
    name: str, labels: Mapping[str, str], spec: Manifest, *, node: str, namespace: str = "default"
) -> Manifest:
    written = pod(name, labels, {"nodeName": node, **spec}, namespace=namespace)
    return {**written, "status": {"phase": "Running"}}


def node(
    name: str, labels: Mapping[str, str], allocatable: Mapping[str, str], taints: Sequence[Manifest] = ()
) -> Manifest:
    written: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "status": {"allocatable": dict(allocatable), "capacity": dict(allocatable)},
    }
    if taints:
        written["spec"] = {"taints": list(taints)}
    return written


def daemon_set(name: str, labels: Mapping[str, str], spec: Manifest) -> Manifest:
    template = {"metadata": {"labels": dict(labels)}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": dict(labels)}, "template": template},
    }
