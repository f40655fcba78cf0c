"""Storage and namespaces as manifests that a real API server takes, as far as tests make them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from treenail.adapters.api.written.parts import Tree, said
from treenail.adapters.kubernetes.resources import (
    CSI_NODE,
    NAMESPACE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    Resource,
)
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.pods import Expression
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

_Stored: TypeAlias = Namespace | PersistentVolume | PersistentVolumeClaim | StorageClass | CSINode


def storage_manifest(thing: _Stored) -> tuple[Resource, Tree]:
    """Return where an object is created, and as what."""
    match thing:
        case Namespace():
            return NAMESPACE, _named(NAMESPACE, thing.name, labels=dict(thing.labels))
        case PersistentVolume():
            return PERSISTENT_VOLUME, _named(PERSISTENT_VOLUME, thing.name) | {"spec": _volume(thing)}
        case PersistentVolumeClaim():
            named = _named(PERSISTENT_VOLUME_CLAIM, thing.name, annotations=dict(thing.annotations))
            return PERSISTENT_VOLUME_CLAIM, named | {"spec": _claim(thing)}
        case StorageClass():
            return STORAGE_CLASS, _named(STORAGE_CLASS, thing.name) | _class(thing)
        case CSINode():
            drivers = [
                {"name": name, "nodeID": thing.name, "allocatable": {"count": most}}
                for name, most in thing.limits.items()
            ]
            return CSI_NODE, _named(CSI_NODE, thing.name) | {"spec": {"drivers": drivers}}


def _named(resource: Resource, name: str, **more: object) -> Tree:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": said(name=name, **more),
    }


def _volume(volume: PersistentVolume) -> Tree:
    namespace, _, name = volume.claim.partition("/")
    terms = [{"matchExpressions": [_expression(e) for e in term]} for term in volume.node_affinity]
    return {
        "capacity": {"storage": str(volume.capacity)},
        "accessModes": list(volume.access_modes),
        "storageClassName": volume.storage_class,
        "claimRef": {"namespace": namespace, "name": name},
        "csi": {"driver": volume.driver, "volumeHandle": volume.handle},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }


def _claim(claim: PersistentVolumeClaim) -> Tree:
    return {
        "storageClassName": claim.storage_class,
        "volumeName": claim.volume_name,
        "accessModes": list(claim.access_modes),
        "resources": {"requests": {"storage": str(claim.requested)}},
    }


def _class(storage_class: StorageClass) -> Tree:
    return {
        "provisioner": storage_class.provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if storage_class.waits_for_pod else "Immediate",
        "allowedTopologies": [
            {"matchLabelExpressions": list(_topology(term))} for term in storage_class.allowed_topologies
        ],
    }


def _topology(term: Iterable[Expression]) -> Iterable[Tree]:
    return ({"key": e.key, "values": list(e.values)} for e in term)


def _expression(expression: Expression) -> Tree:
    return {
        "key": expression.key,
        "operator": expression.operator.value,
        "values": list(expression.values),
    }
