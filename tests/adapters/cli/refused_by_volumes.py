"""Pods that go nowhere for what they store, and where."""

from __future__ import annotations

from typing import Any, Final

from tests.adapters.cli.refused_manifests import ZONE, Case, node, pod, pool
from tests.scenarios.manifests import Manifest, need
from treenail.domain.packing.refusal_reasons import Reason


def _volume(zone: str, name: str = "data") -> tuple[Manifest, Manifest]:
    """A volume in one zone, and the claim on it."""
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [need(ZONE, zone)]}]}}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-{name}"},
        "claimRef": {"namespace": "default", "name": name},
        "nodeAffinity": affinity,
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{name}"},
        "spec": spec,
    }
    return volume, _claim(name, volumeName=f"pv-{name}")


def _claim(name: str = "data", phase: str = "Bound", **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "gp3",
            **spec,
        },
        "status": {"phase": phase},
    }


def _storing(*names: str, **spec: Any) -> Manifest:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names or ("data",)]
    return pod(volumes=volumes, **spec)


def _storage_class(name: str = "gp3", mode: str = "WaitForFirstConsumer", **more: Any) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "ebs.csi.aws.com",
        "volumeBindingMode": mode,
        **more,
    }


def _devices(zone: str) -> Manifest:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    allocation = {"devices": {"results": []}, "nodeSelector": {"nodeSelectorTerms": [term]}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu"},
        "status": {"allocation": allocation, "reservedFor": [{"resource": "pods", "name": "x", "uid": "x"}]},
    }


_ONLY_C: Final = [{"matchLabelExpressions": [{"key": ZONE, "values": ["zone-c"]}]}]

VOLUMES: Final = (
    Case(
        "a volume in another zone than the pod wants",
        Reason.VOLUME_TOPOLOGY,
        (pool(), *_volume("zone-b"), _storing(nodeSelector={ZONE: "zone-a"})),
        about=ZONE,
    ),
    Case(
        "a volume in a zone the pool is not in",
        Reason.VOLUME_TOPOLOGY,
        (pool(), *_volume("zone-c"), _storing()),
        about=ZONE,
    ),
    Case(
        "a volume still to be made, in a zone the pool is not in",
        Reason.VOLUME_TOPOLOGY,
        (pool(), _storage_class(allowedTopologies=_ONLY_C), _claim(phase="Pending"), _storing()),
    ),
    Case("a claim that is not there", Reason.VOLUME_CLAIM, (pool(), _storing()), curable=False),
    Case(
        "a claim that lost its volume",
        Reason.VOLUME_CLAIM,
        (pool(), _claim(phase="Lost", volumeName="pv-data"), _storing()),
        curable=False,
    ),
    Case(
        "volumes in two zones",
        Reason.VOLUME_CLAIM,
        (pool(), *_volume("zone-a", "one"), *_volume("zone-b", "two"), _storing("one", "two")),
        curable=False,
    ),
    Case(
        "a node that takes no more volumes",
        Reason.VOLUME_LIMIT,
        (
            node("n1", labels={ZONE: "zone-a"}),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": "n1"},
                "spec": {
                    "drivers": [{"name": "ebs.csi.aws.com", "nodeID": "n1", "allocatable": {"count": 0}}]
                },
            },
            *_volume("zone-a"),
            _storing(),
        ),
        curable=False,
    ),
    Case(
        "a resource claim",
        Reason.RESOURCE_CLAIM,
        (pool(), pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])),
    ),
    Case(
        "devices in a zone the pool is not in",
        Reason.DEVICE_TOPOLOGY,
        (pool(), _devices("zone-c"), pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])),
        about=ZONE,
    ),
)
