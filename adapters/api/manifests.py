"""Manifests: objects as people write them, read from files and made into values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.workloads import (
    Deployment,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
    StorageClass,
)
from treenail.domain.cluster_facts import DaemonSet
from treenail.domain.node_classes import NodeClass
from treenail.domain.node_pools import NodePool
from treenail.domain.nodes import Node, NodeClaim
from treenail.domain.pods import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One object as it was written. `number` counts the objects of its file from 1.

    `content` is its JSON text, or the mapping its YAML stands for. What it does not say is "".
    """

    file: str
    number: int
    api_version: str
    kind: str
    name: str
    namespace: str
    content: bytes | Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """The objects of a set of manifests by kind, each kind in the order of the manifests.

    `warnings` are one line each, about fields that are accepted though not acted on. `set_aside` are
    the errors of objects that were left out, where that was asked for.
    """

    node_pools: tuple[NodePool, ...] = ()
    node_classes: tuple[NodeClass, ...] = ()
    node_claims: tuple[NodeClaim, ...] = ()
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    daemon_sets: tuple[DaemonSet, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    replica_sets: tuple[ReplicaSet, ...] = ()
    stateful_sets: tuple[StatefulSet, ...] = ()
    disruption_budgets: tuple[PodDisruptionBudget, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    volumes: tuple[PersistentVolume, ...] = ()
    volume_claims: tuple[PersistentVolumeClaim, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    warnings: tuple[str, ...] = ()
    set_aside: tuple[ManifestError, ...] = ()
