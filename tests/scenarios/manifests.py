"""Manifests for tests of the whole system: as dictionaries, and as the text that is applied."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]

# Few types, so that tests are quick: those of c5 and m5 on amd64.
FEW_TYPES = ("c5", "m5")
# The annotations of pods that nobody may disrupt.
KEPT = {"karpenter.sh/do-not-disrupt": "true"}
# Volumes are made where the first pod goes that uses them.
WAITING_CLASS: Manifest = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "ebs.csi.aws.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def text(*manifests: Manifest) -> str:
    """Return manifests as one YAML file: JSON is YAML too."""
    return "\n---\n".join(json.dumps(manifest) for manifest in manifests)


def need(key: str, *values: str, operator: str = "In") -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


def node_class(name: str = "default") -> Manifest:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": name},
        "spec": {
            "role": "node",
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": [{"tags": {"discovery": "demo"}}],
            "securityGroupSelectorTerms": [{"tags": {"discovery": "demo"}}],
        },
    }


def node_pool(
    name: str = "default",
    *,
    families: Sequence[str] = FEW_TYPES,
    capacity_types: Sequence[str] = ("spot",),
    weight: int | None = None,
    limits: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    labels: Mapping[str, str] | None = None,
    consolidate_after: str = "30s",
) -> Manifest:
    spec: Manifest = {
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": consolidate_after},
        "template": {
            "metadata": {"labels": dict(labels or {})},
            "spec": {
                "requirements": [
                    need("karpenter.sh/capacity-type", *capacity_types),
                    need("karpenter.k8s.aws/instance-family", *families),
                    need("kubernetes.io/arch", "amd64"),
                ],
                "taints": [dict(taint) for taint in taints],
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            },
        },
    }
    if weight is not None:
        spec["weight"] = weight
    if limits is not None:
        spec["limits"] = dict(limits)
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def deployment(
    name: str = "web",
    replicas: int = 3,
    *,
    cpu: str = "1",
    memory: str = "1Gi",
    grace_seconds: int = 0,
    node_selector: Mapping[str, str] | None = None,
    tolerations: Sequence[Mapping[str, str]] = (),
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    pod: Manifest = {
        "terminationGracePeriodSeconds": grace_seconds,
        "nodeSelector": dict(node_selector or {}),
        "tolerations": [dict(toleration) for toleration in tolerations],
        "containers": [
            {"name": "app", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
        ],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": dict(annotations or {})},
                "spec": pod,
            },
        },
    }


def with_claims(manifest: Manifest) -> Manifest:
    """Return a Deployment as a StatefulSet whose pods have a volume each."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "fast",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return changed({**manifest, "kind": "StatefulSet"}, "spec.volumeClaimTemplates", [claim])


def node_overlay(name: str = "own", *requirements: Mapping[str, object], **spec: Any) -> Manifest:
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": {"requirements": list(requirements), **spec},
    }


def changed(manifest: Manifest, path: str, value: object) -> Manifest:
    """Return a copy in which the field at `path` ("spec.taints.0.effect") says `value`."""
    copy: Manifest = json.loads(json.dumps(manifest))
    *way, last = path.split(".")
    at: Any = copy
    for step in way:
        at = at[int(step) if isinstance(at, list) else step]
    at[int(last) if isinstance(at, list) else last] = value
    return copy
