"""Manifests of clusters with more nodes than they need: of few types, so that plans are quick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.scenarios.manifests import Manifest, need, text

SMALL, LARGE = "s-4x-amd64-linux", "s-16x-amd64-linux"
ZONE = "test-zone-a"
# What a node of each type has, less what its kubelet keeps, and what it costs beside the usual overhead.
ROOM = {SMALL: ("3900m", "15Gi"), LARGE: ("15900m", "63Gi")}
PRICES = {SMALL: 0.11718, LARGE: 0.46872}
OVERHEAD = 0.02
# Two small nodes leave no room within these for another one.
FULL = {"cpu": "8"}

KWOK_CLASS: Manifest = {
    "apiVersion": "karpenter.kwok.sh/v1alpha1",
    "kind": "KWOKNodeClass",
    "metadata": {"name": "kwok"},
    "spec": {},
}


def pool(name: str = "default", *, limits: Mapping[str, str] | None = None, **disruption: Any) -> Manifest:
    """A pool that gives nodes up a minute after pods came or left, unless `disruption` says otherwise."""
    usual = {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "1m",
        "budgets": [{"nodes": "100%"}],
    }
    template = {
        "requirements": [
            need("karpenter.sh/capacity-type", "on-demand"),
            need("kubernetes.io/arch", "amd64"),
            need("kubernetes.io/os", "linux"),
        ],
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "kwok"},
    }
    spec: Manifest = {"disruption": {**usual, **disruption}, "template": {"spec": template}}
    if limits is not None:
        spec["limits"] = dict(limits)
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def node(name: str, kind: str = SMALL, *, zone: str = ZONE, way: str = "on-demand") -> Manifest:
    cpu, memory = ROOM.get(kind, ROOM[SMALL])
    amounts = {"cpu": cpu, "memory": memory, "pods": "58"}
    labels = {
        "karpenter.sh/nodepool": "default",
        "karpenter.sh/capacity-type": way,
        "node.kubernetes.io/instance-type": kind,
        "topology.kubernetes.io/zone": zone,
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": f"kwok://{name}"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def claim(name: str, node: Manifest, *, ref: Manifest | None = None, **annotations: str) -> Manifest:
    """The NodeClaim of a node, in use since the beginning of 2026."""
    kinds = ("Launched", "Registered", "Initialized")
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"} for kind in kinds
    ]
    own = pool()["spec"]["template"]["spec"]["nodeClassRef"]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": node["metadata"]["labels"], "annotations": annotations},
        "spec": {"requirements": [], "nodeClassRef": ref or own},
        "status": {
            "providerID": node["spec"]["providerID"],
            "nodeName": node["metadata"]["name"],
            "capacity": node["status"]["capacity"],
            "allocatable": node["status"]["allocatable"],
            "conditions": conditions,
        },
    }


def pod(name: str, on: str, cpu: str = "1", **annotations: str) -> Manifest:
    """A pod on a node, or, on none, one that waits."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}, "annotations": annotations},
        "spec": {
            **({"nodeName": on} if on else {}),
            "containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}],
        },
        "status": {"phase": "Running" if on else "Pending"},
    }


def budget(app: str) -> Manifest:
    """A PodDisruptionBudget that lets no pod of an app go now."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app},
        "spec": {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1},
        "status": {"disruptionsAllowed": 0},
    }


def cluster(*more: Manifest, default: Manifest | None = None) -> str:
    """Return the text of a cluster with one pool and its class."""
    return text(default or pool(), KWOK_CLASS, *more)
