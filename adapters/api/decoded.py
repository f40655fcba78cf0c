"""A set of manifests as values, by kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, TypeVar, Unpack

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.workloads import (
    ApiObject,
    ConfigMap,
    Deployment,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
)
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

K = TypeVar("K")


class _Others(TypedDict, total=False):
    warnings: tuple[str, ...]
    set_aside: tuple[ManifestError, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """The objects of a set of manifests by kind, each kind in the order of the manifests.

    `warnings` are one line each, about fields that are accepted though not acted on. `set_aside` are
    the errors of objects that were left out, where that was asked for.
    """

    namespaces: tuple[Namespace, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    volume_claims: tuple[PersistentVolumeClaim, ...] = ()
    csi_nodes: tuple[CSINode, ...] = ()
    node_classes: tuple[NodeClass, ...] = ()
    node_pools: tuple[NodePool, ...] = ()
    node_claims: tuple[NodeClaim, ...] = ()
    nodes: tuple[Node, ...] = ()
    daemon_sets: tuple[DaemonSet, ...] = ()
    disruption_budgets: tuple[PodDisruptionBudget, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    replica_sets: tuple[ReplicaSet, ...] = ()
    stateful_sets: tuple[StatefulSet, ...] = ()
    pods: tuple[Pod, ...] = ()
    config_maps: tuple[ConfigMap, ...] = ()
    warnings: tuple[str, ...] = ()
    set_aside: tuple[ManifestError, ...] = ()

    @classmethod
    def of(cls, objects: Sequence[ApiObject], **others: Unpack[_Others]) -> Decoded:
        """Sort `objects` by kind."""
        return cls(
            namespaces=_only(Namespace, objects),
            priority_classes=_only(PriorityClass, objects),
            storage_classes=_only(StorageClass, objects),
            volumes=_only(PersistentVolume, objects),
            volume_claims=_only(PersistentVolumeClaim, objects),
            csi_nodes=_only(CSINode, objects),
            node_classes=_only(NodeClass, objects),
            node_pools=_only(NodePool, objects),
            node_claims=_only(NodeClaim, objects),
            nodes=_only(Node, objects),
            daemon_sets=_only(DaemonSet, objects),
            disruption_budgets=_only(PodDisruptionBudget, objects),
            deployments=_only(Deployment, objects),
            replica_sets=_only(ReplicaSet, objects),
            stateful_sets=_only(StatefulSet, objects),
            pods=_only(Pod, objects),
            config_maps=_only(ConfigMap, objects),
            **others,
        )

    def objects(self) -> tuple[ApiObject, ...]:
        """Return all objects, kind after kind: what others refer to comes before them.

        ConfigMaps are left out: nothing in a cluster acts on them.
        """
        return (
            *self.namespaces,
            *self.priority_classes,
            *self.storage_classes,
            *self.volumes,
            *self.volume_claims,
            *self.csi_nodes,
            *self.node_classes,
            *self.node_pools,
            *self.node_claims,
            *self.nodes,
            *self.daemon_sets,
            *self.disruption_budgets,
            *self.deployments,
            *self.replica_sets,
            *self.stateful_sets,
            *self.pods,
        )


def _only(kind: type[K], objects: Sequence[ApiObject]) -> tuple[K, ...]:
    return tuple(one for one in objects if isinstance(one, kind))
