"""A set of manifests as values, by kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypedDict, Unpack

from treenail.adapters.api.account import Account, ClusterSnapshot
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.workloads import (
    ApiObject,
    ConfigMap,
    CronJob,
    Deployment,
    Job,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
)
from treenail.domain.cluster.cluster_facts import DaemonSet, Kind
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.devices import DeviceClass, DeviceTaintRule, ResourceClaimTemplate, ResourceSlice
from treenail.domain.model.limit_ranges import LimitRange
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_overlays import NodeOverlay
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pod_templates import StoredPodTemplate
from treenail.domain.model.pods import Pod
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass


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
    limit_ranges: tuple[LimitRange, ...] = ()
    resource_quotas: tuple[ResourceQuota, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    volume_claims: tuple[PersistentVolumeClaim, ...] = ()
    csi_nodes: tuple[CSINode, ...] = ()
    resource_claims: tuple[ResourceClaim, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
    resource_claim_templates: tuple[ResourceClaimTemplate, ...] = ()
    device_taint_rules: tuple[DeviceTaintRule, ...] = ()
    resource_slices: tuple[ResourceSlice, ...] = ()
    node_classes: tuple[NodeClass, ...] = ()
    node_overlays: tuple[NodeOverlay, ...] = ()
    node_pools: tuple[NodePool, ...] = ()
    node_claims: tuple[NodeClaim, ...] = ()
    nodes: tuple[Node, ...] = ()
    daemon_sets: tuple[DaemonSet, ...] = ()
    disruption_budgets: tuple[PodDisruptionBudget, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    replica_sets: tuple[ReplicaSet, ...] = ()
    stateful_sets: tuple[StatefulSet, ...] = ()
    pod_templates: tuple[StoredPodTemplate, ...] = ()
    capacity_buffers: tuple[CapacityBuffer, ...] = ()
    jobs: tuple[Job, ...] = ()
    cron_jobs: tuple[CronJob, ...] = ()
    pods: tuple[Pod, ...] = ()
    config_maps: tuple[ConfigMap, ...] = ()
    accounts: tuple[Account, ...] = ()
    snapshots: tuple[ClusterSnapshot, ...] = ()
    warnings: tuple[str, ...] = ()
    set_aside: tuple[ManifestError, ...] = ()

    @classmethod
    def of(cls, objects: Iterable[ApiObject], **others: Unpack[_Others]) -> Decoded:
        """Sort `objects` by kind."""
        by_kind: dict[type[ApiObject], list[Any]] = {kind: [] for kind in _FIELDS}
        for one in objects:
            by_kind[type(one)].append(one)
        return cls(**{field: tuple(by_kind[kind]) for kind, field in _FIELDS.items()}, **others)

    def objects(self) -> tuple[ApiObject, ...]:
        """Return all objects, kind after kind: referenced objects come before those that refer to them.

        ConfigMaps, on which nothing in a cluster acts, and kinds that are not of a cluster are left out.
        """
        in_cluster = (field for kind, field in _FIELDS.items() if kind not in _NOT_IN_CLUSTER)
        return tuple(one for field in in_cluster for one in getattr(self, field))

    @property
    def unreadable(self) -> frozenset[Kind]:
        """The kinds that a snapshot could not read: of those nothing is known."""
        return frozenset(kind for one in self.snapshots for kind in one.unreadable())


# The field of each kind; referenced kinds come before those that refer to them.
_FIELDS: Final[Mapping[type[ApiObject], str]] = {
    Namespace: "namespaces",
    PriorityClass: "priority_classes",
    LimitRange: "limit_ranges",
    ResourceQuota: "resource_quotas",
    StorageClass: "storage_classes",
    PersistentVolume: "volumes",
    PersistentVolumeClaim: "volume_claims",
    CSINode: "csi_nodes",
    DeviceClass: "device_classes",
    ResourceClaimTemplate: "resource_claim_templates",
    DeviceTaintRule: "device_taint_rules",
    ResourceSlice: "resource_slices",
    ResourceClaim: "resource_claims",
    NodeClass: "node_classes",
    NodeOverlay: "node_overlays",
    NodePool: "node_pools",
    NodeClaim: "node_claims",
    Node: "nodes",
    DaemonSet: "daemon_sets",
    PodDisruptionBudget: "disruption_budgets",
    Deployment: "deployments",
    ReplicaSet: "replica_sets",
    StatefulSet: "stateful_sets",
    StoredPodTemplate: "pod_templates",
    CapacityBuffer: "capacity_buffers",
    Job: "jobs",
    CronJob: "cron_jobs",
    Pod: "pods",
    ConfigMap: "config_maps",
    Account: "accounts",
    ClusterSnapshot: "snapshots",
}
_NOT_IN_CLUSTER: Final = (ConfigMap, Account, ClusterSnapshot)
