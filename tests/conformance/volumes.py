"""Volumes of the cases in a line each: claims, volumes, storage classes, and what of them pods use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tests.conformance.objects import key_of, needs
from tests.scenarios.manifests import Manifest

DRIVER: Final = "fake.csi.provider"
_BOUND: Final = "pv.kubernetes.io/bind-completed"
_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_ONE_GIB: Final = {"requests": {"storage": "1Gi"}}


def storage_class(
    name: str = "fast",
    *zones: str,
    topologies: Sequence[dict[str, list[str]]] = (),
    driver: str = DRIVER,
    waits: bool = True,
    default: bool = False,
) -> Manifest:
    """Return a class whose volumes may be made in zones, or where one of the topologies holds."""
    allowed = [{"zone": list(zones)}] if zones else list(topologies)
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": {_DEFAULT: "true"} if default else {}},
        "provisioner": driver,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": key_of(key), "values": v} for key, v in one.items()]}
            for one in allowed
        ],
    }


def volume(
    name: str, *either: Sequence[str], source: dict[str, Any] | None = None, of: str = "fast"
) -> Manifest:
    """Return a volume that nodes reach which meet one of these terms, all if there is none."""
    terms = [{"matchExpressions": needs(*one)} for one in either]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": of,
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            **(source or {"csi": {"driver": DRIVER, "volumeHandle": name}}),
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}),
        },
    }


def claim(
    name: str = "data",
    *,
    of: str | None = "fast",
    bound_to: str = "",
    completed: bool = True,
    phase: str = "",
) -> Manifest:
    """Return a claim of a storage class, bound to a volume or not."""
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": _ONE_GIB}
    if of is not None:
        spec["storageClassName"] = of
    if bound_to:
        spec["volumeName"] = bound_to
    there = phase or ("Bound" if bound_to and completed else "Pending")
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {_BOUND: "yes"} if bound_to and completed else {},
        },
        "spec": spec,
        "status": {"phase": there},
    }


def uses(*names: str) -> dict[str, Any]:
    """Return what a pod says of the claims that it uses."""
    return {
        "volumes": [
            {"name": f"volume-{n}", "persistentVolumeClaim": {"claimName": name}}
            for n, name in enumerate(names)
        ]
    }


def ephemeral(of: str | None = "fast", name: str = "tmp") -> dict[str, Any]:
    """Return what a pod says of a volume that is made for it."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": _ONE_GIB}
    named = spec if of is None else {**spec, "storageClassName": of}
    return {"volumes": [{"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": named}}}]}


def csi_node(name: str, driver: str, count: int) -> Manifest:
    """Return how many volumes of a driver a node takes."""
    drivers = [{"name": driver, "nodeID": "node", "allocatable": {"count": count}}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }
