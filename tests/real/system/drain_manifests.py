"""The objects that a table of drains needs, each marked with the number of its case."""

from __future__ import annotations

from typing import Any, Final

from tests.real.lab.lab import Lab
from tests.real.system.drain_cases import POOLS, Given

DRIVER: Final = "ebs.csi.aws.com"
CASE: Final = "case"


def node_class(lab: Lab) -> dict[str, Any]:
    """Return the class of all nodes."""
    tags = {"tags": {"karpenter.sh/discovery": lab.cluster}}
    spec = {
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "instanceProfile": lab.estate["instance_profile"],
        "subnetSelectorTerms": [tags],
        "securityGroupSelectorTerms": [tags],
    }
    return _object("karpenter.k8s.aws/v1", "EC2NodeClass", "default", spec=spec)


def node_pools() -> list[dict[str, Any]]:
    """Return the pools of the cases. A node of theirs is for the pods of one case."""
    return [_node_pool(name, seconds) for name, seconds in POOLS.items()]


def _node_pool(name: str, grace: int | None) -> dict[str, Any]:
    template: dict[str, Any] = {
        "expireAfter": "Never",
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        "requirements": [
            {"key": "karpenter.k8s.aws/instance-size", "operator": "In", "values": ["large"]},
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
            {"key": CASE, "operator": "Exists"},
        ],
    }
    if grace is not None:
        template["terminationGracePeriod"] = f"{grace}s"
    disruption = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}
    return _object(
        "karpenter.sh/v1", "NodePool", name, spec={"disruption": disruption, "template": {"spec": template}}
    )


def seed(number: int, pool: str) -> dict[str, Any]:
    """Return the pod that a case's node is bought for."""
    meta, spec = _pod(Given(grace=0), number, pool)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"seed-{number:02}", **meta},
        "spec": spec,
    }


def pod(name: str, given: Given, number: int, pool: str, node: dict[str, Any]) -> dict[str, Any]:
    """Return a pod of a case, or what makes it; `node` is the one it is to run on."""
    meta, spec = _pod(given, number, pool)
    name = f"{name}-{number:02}"
    if given.volume:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{number:02}"}}]
    if given.owner in ("DaemonSet", "Deployment"):
        mark = {"matchLabels": {CASE: _mark(number), "name": name}}
        meta["labels"]["name"] = name
        template = {"metadata": meta, "spec": spec}
        return _object("apps/v1", given.owner, name, spec={"selector": mark, "template": template})
    if given.owner == "Node":
        spec["nodeName"] = node["metadata"]["name"]
        owner = {"apiVersion": "v1", "kind": "Node", **{k: node["metadata"][k] for k in ("name", "uid")}}
        meta["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}, "spec": spec}


def _pod(given: Given, number: int, pool: str) -> tuple[dict[str, Any], dict[str, Any]]:
    annotations = dict(given.annotations)
    if given.slow:
        annotations["test.treenail.sh/stop-after"] = f"{given.grace}s"
    if not given.ready:
        annotations["test.treenail.sh/silent"] = ""
    meta = {"labels": {CASE: _mark(number), **given.labels}, "annotations": annotations}
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": given.grace,
        "nodeSelector": {CASE: _mark(number), "karpenter.sh/nodepool": pool},
        "containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "10m"}}}],
    }
    if given.priority:
        spec["priorityClassName"] = given.priority
    if given.tolerant:
        spec["tolerations"] = [{"operator": "Exists"}]
    return meta, spec


def budget(number: int, index: int, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a budget for the pods of a case with label app=web."""
    chosen = {"selector": {"matchLabels": {"app": "web", CASE: _mark(number)}}}
    return _object("policy/v1", "PodDisruptionBudget", f"web-{number:02}-{index}", spec={**spec, **chosen})


def volume(number: int, node: str) -> list[dict[str, Any]]:
    """Return the volume of a case, claimed and attached to a node."""
    name, claim = f"pv-{number:02}", f"data-{number:02}"
    modes, size = ["ReadWriteOnce"], {"storage": "1Gi"}
    held = {
        "capacity": size,
        "accessModes": modes,
        "csi": {"driver": DRIVER, "volumeHandle": f"vol-{number}"},
    }
    wanted = {
        "accessModes": modes,
        "storageClassName": "",
        "volumeName": name,
        "resources": {"requests": size},
    }
    attached = {"attacher": DRIVER, "nodeName": node, "source": {"persistentVolumeName": name}}
    by = {"claimRef": {"namespace": "default", "name": claim}}
    return [
        _object("v1", "PersistentVolume", name, spec={**held, **by}),
        _object("v1", "PersistentVolumeClaim", claim, spec=wanted),
        _object("storage.k8s.io/v1", "VolumeAttachment", f"csi-{number:02}", spec=attached),
    ]


def _object(api_version: str, kind: str, name: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **parts}


def _mark(number: int) -> str:
    return f"c{number:02}"
