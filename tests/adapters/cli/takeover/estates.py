"""Manifests of a cluster that Karpenter runs."""

from __future__ import annotations

from typing import Any

Tree = dict[str, Any]
TAGGED = "compatibility.karpenter.k8s.aws/cluster-name-tagged"


def deployment(
    *, replicas: int = 2, image: str = "public.ecr.aws/karpenter/controller:1.14.0@sha256:0", **container: Any
) -> Tree:
    name = "treenail" if "treenail" in image else "karpenter"
    env = [{"name": "KARPENTER_SERVICE", "value": name}, {"name": "CLUSTER_NAME", "value": "demo"}]
    env += [{"name": name, "value": value} for name, value in container.pop("env", {}).items()]
    controller = {"name": "controller", "image": image, "env": env, **container}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [controller]}}},
    }


def lease(holder: str) -> Tree:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "karpenter-leader-election", "namespace": "kube-system"},
        "spec": {"holderIdentity": holder, "renewTime": "2026-11-23T07:00:00Z"},
    }


def webhook(kind: str, group: str) -> Tree:
    """An admission webhook as the chart of Karpenter 0.37 installs it."""
    rule = {"apiGroups": [group], "apiVersions": ["v1beta1"], "operations": ["CREATE"], "resources": ["*"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": f"hook.{group}"},
        "webhooks": [{"name": f"hook.{group}", "failurePolicy": "Fail", "rules": [rule]}],
    }


def pool(*, stamped: str = "v3", **spec: Any) -> Tree:
    requirement = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default", "annotations": stamps(stamped)},
        "spec": {
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
            "template": {"spec": {"requirements": [requirement], "nodeClassRef": reference}},
            **spec,
        },
    }


def node_class(*, stamped: str = "v5") -> Tree:
    terms = [{"tags": {"karpenter.sh/discovery": "demo"}}]
    key = "karpenter.k8s.aws/ec2nodeclass-hash"
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default", "annotations": {key: "1", f"{key}-version": stamped}},
        "spec": {
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": terms,
            "securityGroupSelectorTerms": terms,
            "role": "node",
        },
    }


def stamps(version: str) -> Tree:
    key = "karpenter.sh/nodepool-hash"
    return {key: "1", f"{key}-version": version}


def claim(
    name: str = "default-1", *, stamped: str = "v3", conditions: tuple[Tree, ...] = (), **metadata: Any
) -> Tree:
    labels = {"karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "spot"}
    status: Tree = {"providerID": f"aws:///us-east-1a/i-{name}", "conditions": list(conditions)}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "uid": name,
            "creationTimestamp": "2026-11-22T07:00:00Z",
            "labels": labels,
            "annotations": {**stamps(stamped), TAGGED: "true"},
            "finalizers": ["karpenter.sh/termination"],
            **metadata,
        },
        "spec": {
            "requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}],
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        },
        "status": status,
    }


def condition(kind: str, status: str, reason: str) -> Tree:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "",
        "lastTransitionTime": "2026-11-22T07:00:00Z",
    }


def node(name: str = "default-1", *, finalizers: tuple[str, ...] = ("karpenter.sh/termination",)) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"ip-{name}",
            "labels": {"karpenter.sh/nodepool": "default"},
            "finalizers": list(finalizers),
        },
        "spec": {"providerID": f"aws:///us-east-1a/i-{name}"},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "29"}},
    }


def definition(
    kind: str, plural: str, *, versions: tuple[str, ...], stored: tuple[str, ...], path: str = ""
) -> Tree:
    group = "karpenter.k8s.aws" if kind == "EC2NodeClass" else "karpenter.sh"
    client = {"service": {"name": "x", "namespace": "x", "path": path}}
    webhook = {"strategy": "Webhook", "webhook": {"clientConfig": client}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": one, "served": True} for one in versions],
            "conversion": webhook if path else {"strategy": "None"},
        },
        "status": {"storedVersions": list(stored)},
    }
