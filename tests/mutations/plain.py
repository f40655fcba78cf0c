"""The plain objects that are changed, as people and kubelets write them."""

from __future__ import annotations

from typing import Any, Final

from tests.mutations.table import Tree

EBS: Final = "ebs.csi.aws.com"
CLAIM_CLASS: Final = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
# The path of all objects of a kind.
PATHS: Final = {
    "Pod": "/api/v1/namespaces/default/pods",
    "Node": "/api/v1/nodes",
    "NodeClaim": "/apis/karpenter.sh/v1/nodeclaims",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/namespaces/default/persistentvolumeclaims",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "DaemonSet": "/apis/apps/v1/namespaces/default/daemonsets",
}
_VERSIONS: Final = {
    "NodeClaim": "karpenter.sh/v1",
    "PodDisruptionBudget": "policy/v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "DaemonSet": "apps/v1",
}


def plain(kind: str, name: str, app: str) -> Tree:
    """Return an object of a kind; those that are about pods are about those of an app."""
    version = _VERSIONS.get(kind, "v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **_content(kind, app)}


def _content(kind: str, app: str) -> Tree:
    match kind:
        case "Pod":
            return {"spec": _pod(app)}
        case "Node":
            return {"spec": {}, "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}}
        case "NodeClaim":
            return {"spec": {"nodeClassRef": CLAIM_CLASS, "requirements": []}}
        case "PodDisruptionBudget":
            return {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": app}}}}
        case "DaemonSet":
            labels = {"app": f"{app}-agent"}
            spec = {
                "containers": [{"name": "main", "image": "agent"}],
                "tolerations": [{"operator": "Exists"}],
            }
            template = {"metadata": {"labels": labels}, "spec": spec}
            return {"spec": {"selector": {"matchLabels": labels}, "template": template}}
        case _:
            return _storage(kind, app)


def _pod(app: str) -> Tree:
    requests = {"cpu": "1", "memory": "1Gi"}
    return {"containers": [{"name": "main", "image": app, "resources": {"requests": requests}}]}


def _storage(kind: str, app: str) -> Tree:
    modes, size = ["ReadWriteOnce"], {"storage": "1Gi"}
    found: dict[str, Any] = {
        "PersistentVolume": {
            "spec": {
                "capacity": size,
                "accessModes": modes,
                "storageClassName": app,
                "csi": {"driver": EBS, "volumeHandle": f"vol-{app}"},
            }
        },
        "PersistentVolumeClaim": {
            "spec": {"accessModes": modes, "resources": {"requests": size}, "storageClassName": app}
        },
        "StorageClass": {"provisioner": EBS, "volumeBindingMode": "WaitForFirstConsumer"},
        "CSINode": {"spec": {"drivers": [{"name": EBS, "nodeID": "n", "topologyKeys": []}]}},
    }
    return dict(found[kind])
