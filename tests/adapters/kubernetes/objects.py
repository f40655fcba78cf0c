"""Objects as the API server writes them."""

from __future__ import annotations

import json

from tests.adapters.kubernetes.scripted import Tree
from treenail.adapters.api.items import Item
from treenail.adapters.api.reading import Reading
from treenail.adapters.kubernetes.items import items_of
from treenail.adapters.kubernetes.resources import Resource


def item(resource: Resource, tree: Tree) -> Item:
    """The object as the watches read it."""
    return items_of(resource, Reading()).read(json.dumps(tree).encode())


def meta(name: str, version: int, *, namespace: str = "", uid: str = "", **more: object) -> Tree:
    tree: Tree = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version), **more}
    return {**tree, "namespace": namespace} if namespace else tree


def pod(name: str, version: int, *, uid: str = "", cpu: str = "1", **labels: str) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, version, namespace="default", uid=uid, labels=labels),
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
    }


def node(name: str, version: int, **labels: str) -> Tree:
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(name, version, labels=labels)}


def volume(name: str, version: int, *, zone: str = "a") -> Tree:
    expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": meta(name, version),
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}},
    }


def node_pool(name: str, version: int, *, weight: int = 1) -> Tree:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": meta(name, version, uid=f"uid-pool-{name}"),
        "spec": {
            "weight": weight,
            "template": {"spec": {"nodeClassRef": ref, "requirements": []}},
        },
    }


def node_claim(name: str, version: int) -> Tree:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": meta(name, version),
        "spec": {"nodeClassRef": ref, "requirements": []},
    }


def machine(name: str, version: int) -> Tree:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Machine",
        "metadata": meta(name, version),
        "spec": {"machineTemplateRef": {"name": "default"}},
    }


def provisioner(name: str, version: int, *, provider: bool = False, weight: int = 1) -> Tree:
    within: Tree = {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}}
    spec: Tree = {"provider": within} if provider else {"providerRef": {"name": "default"}}
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": meta(name, version, uid=f"uid-provisioner-{name}"),
        "spec": {"weight": weight, **spec},
    }
