"""Objects of the domain as manifests that a real API server takes, as far as tests make them."""

from __future__ import annotations

from tests.real.kubernetes.storage import storage_manifest
from treenail.adapters.api.workloads import ApiObject, ReplicaSet, Replicated, StatefulSet
from treenail.adapters.api.written.nodes import node_manifest
from treenail.adapters.api.written.parts import Tree
from treenail.adapters.api.written.pods import pod_manifest
from treenail.adapters.kubernetes.resources import (
    AWS_NODE_TEMPLATE,
    EC2_NODE_CLASS,
    NODE,
    NODE_POOL,
    POD,
    POD_DISRUPTION_BUDGET,
    PROVISIONER,
    REPLICA_SET,
    STATEFUL_SET,
    Resource,
)
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import Node
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass


def manifest_of(thing: ApiObject) -> tuple[Resource, Tree]:
    """Return where an object is created, and as what, with its status."""
    match thing:
        case Node():
            return NODE, _new(node_manifest(thing))
        case Pod():
            return POD, _pod(thing)
        case NodePool(generation=Generation.V1ALPHA5):
            return PROVISIONER, _provisioner(thing)
        case NodePool():
            return NODE_POOL, _pool(thing)
        case NodeClass() if thing.ref.kind == AWS_NODE_TEMPLATE.kind:
            return AWS_NODE_TEMPLATE, _node_template(thing)
        case NodeClass():
            return EC2_NODE_CLASS, _node_class(thing)
        case PodDisruptionBudget():
            return POD_DISRUPTION_BUDGET, _budget(thing)
        case ReplicaSet():
            return REPLICA_SET, _workload(thing)
        case StatefulSet():
            policy = "Parallel" if thing.parallel else "OrderedReady"
            return STATEFUL_SET, _workload(thing, serviceName=thing.name, podManagementPolicy=policy)
        case Namespace() | PersistentVolume() | PersistentVolumeClaim() | StorageClass() | CSINode():
            return storage_manifest(thing)
        case _:
            raise TypeError(f"no test makes a {type(thing).__name__} on a real API server")


def _new(tree: Tree) -> Tree:
    given = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
    return {**tree, "metadata": {k: v for k, v in tree["metadata"].items() if k not in given}}


def _workload(thing: Replicated, **more: str) -> Tree:
    labels = dict(thing.selector.match_labels)
    pods = {"containers": [{"name": "c", "image": "example.com/app"}]}
    return {
        "metadata": {"name": thing.name, "annotations": dict(thing.annotations)},
        "spec": {
            "replicas": thing.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pods},
            **more,
        },
    }


def _pod(pod: Pod) -> Tree:
    tree = _new(pod_manifest(pod))
    containers = [{"image": "example.com/app", **c} for c in tree["spec"]["containers"]]
    return {**tree, "spec": {**tree["spec"], "containers": containers}}


def _pool(pool: NodePool) -> Tree:
    ref = pool.node_class
    template = {
        "requirements": [],
        "nodeClassRef": {"group": ref.group, "kind": ref.kind, "name": ref.name},
    }
    return {
        "apiVersion": NODE_POOL.api_version,
        "kind": NODE_POOL.kind,
        "metadata": {"name": pool.name},
        "spec": {"template": {"spec": template}, "disruption": {"consolidateAfter": "0s"}},
    }


def _node_class(node_class: NodeClass) -> Tree:
    tagged = [{"tags": {"karpenter.sh/discovery": "demo"}}]
    return {
        "apiVersion": EC2_NODE_CLASS.api_version,
        "kind": EC2_NODE_CLASS.kind,
        "metadata": {"name": node_class.ref.name},
        "spec": {
            "role": "node",
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": tagged,
            "securityGroupSelectorTerms": tagged,
        },
    }


def _provisioner(pool: NodePool) -> Tree:
    return {
        "apiVersion": PROVISIONER.api_version,
        "kind": PROVISIONER.kind,
        "metadata": {"name": pool.name},
        "spec": {"providerRef": {"name": pool.node_class.name}},
    }


def _node_template(node_class: NodeClass) -> Tree:
    tagged = {"karpenter.sh/discovery": "demo"}
    return {
        "apiVersion": AWS_NODE_TEMPLATE.api_version,
        "kind": AWS_NODE_TEMPLATE.kind,
        "metadata": {"name": node_class.ref.name},
        "spec": {"subnetSelector": tagged, "securityGroupSelector": tagged},
    }


def _budget(budget: PodDisruptionBudget) -> Tree:
    assert budget.selector is not None
    assert budget.min_available is not None
    return {
        "apiVersion": POD_DISRUPTION_BUDGET.api_version,
        "kind": POD_DISRUPTION_BUDGET.kind,
        "metadata": {"name": budget.name},
        "spec": {
            "minAvailable": budget.min_available.number,
            "selector": {"matchLabels": dict(budget.selector.match_labels)},
        },
    }
