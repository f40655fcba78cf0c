"""Facts that the watches of the API server tell, and the kinds of objects they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import attrgetter
from typing import Final, TypeAlias, get_args

from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.devices import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaimTemplate,
    ResourceSlice,
)
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_overlays import NodeOverlay
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pod_templates import StoredPodTemplate
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass


class Kind(StrEnum):
    """The kinds of objects the domain knows, of whichever API generation."""

    POD = "Pod"
    NODE = "Node"
    NODE_CLAIM = "NodeClaim"
    NODE_POOL = "NodePool"
    NODE_CLASS = "NodeClass"
    NODE_OVERLAY = "NodeOverlay"
    DAEMON_SET = "DaemonSet"
    NAMESPACE = "Namespace"
    RESOURCE_QUOTA = "ResourceQuota"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    PERSISTENT_VOLUME = "PersistentVolume"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    POD_DISRUPTION_BUDGET = "PodDisruptionBudget"
    REPLICA_SET = "ReplicaSet"
    JOB = "Job"
    STATEFUL_SET = "StatefulSet"
    DEPLOYMENT = "Deployment"
    CAPACITY_BUFFER = "CapacityBuffer"
    POD_TEMPLATE = "PodTemplate"
    RESOURCE_CLAIM = "ResourceClaim"
    DEVICE_CLASS = "DeviceClass"
    RESOURCE_CLAIM_TEMPLATE = "ResourceClaimTemplate"
    RESOURCE_SLICE = "ResourceSlice"
    DEVICE_TAINT_RULE = "DeviceTaintRule"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSet:
    """A DaemonSet: pods that every node they fit will run. The template is that of its pods."""

    uid: str
    name: str
    namespace: str = "default"
    resource_version: int = 0
    template_labels: Mapping[str, str] = field(default_factory=dict)
    template_annotations: Mapping[str, str] = field(default_factory=dict)
    spec: PodSpec


DeviceObject: TypeAlias = DeviceClass | ResourceClaimTemplate | ResourceSlice | DeviceTaintRule
StorageObject: TypeAlias = (
    PersistentVolumeClaim | PersistentVolume | StorageClass | CSINode | ResourceClaim | DeviceObject
)
ClusterObject: TypeAlias = (
    Pod
    | Node
    | NodeClaim
    | NodePool
    | NodeClass
    | NodeOverlay
    | DaemonSet
    | Namespace
    | ResourceQuota
    | StorageObject
    | PodDisruptionBudget
    | Workload
    | CapacityBuffer
    | StoredPodTemplate
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSeen:
    """An object as it is at its resource version."""

    object: ClusterObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectGone:
    """An object is no longer there. `key` is what `key_of` gives for it."""

    kind: Kind
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSetAside:
    """An object is there that could not be understood; `problem` names the field and what is wrong.

    `partly` is what could be read of it, where that says enough: it takes the object's place.
    """

    kind: Kind
    key: str
    resource_version: int
    about: ObjectRef
    problem: str
    partly: ClusterObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resynced:
    """All objects there are, at one revision: what is neither among them nor set aside is gone.

    `unreadable` are kinds that we may not see: of those nothing is known.
    """

    revision: int
    objects: tuple[ClusterObject, ...]
    set_aside: tuple[ObjectSetAside, ...] = ()
    unreadable: frozenset[Kind] = frozenset()


ClusterFact: TypeAlias = ObjectSeen | ObjectGone | ObjectSetAside | Resynced


def key_of(thing: ClusterObject) -> str:
    """Return what names an object among those of its kind: its uid where its name may be made again."""
    match thing:
        case Pod() | DaemonSet() | Workload():
            return thing.uid
        case NodeClass():
            return f"{thing.ref.kind}/{thing.ref.name}"
        case PersistentVolumeClaim() | PodDisruptionBudget() | CapacityBuffer() | StoredPodTemplate():
            return thing.key
        case ResourceClaim() | ResourceClaimTemplate() | DeviceTaintRule() | ResourceQuota():
            return thing.key
        case _:
            return thing.name


def says_the_same(thing: ClusterObject, known: ClusterObject | None) -> bool:
    """Return whether nothing that we look at has changed since `known` but the revision."""
    if type(thing) is not type(known):
        return False
    content = _CONTENT[type(thing)]
    return bool(content(thing) == content(known))


# What reads the fields of an object that are compared, but for its revision. Each change of a pod is compared
# with what was known of it twice, and a copy with the other's revision takes six times as long.
_CONTENT: Final[Mapping[type, Callable[[object], object]]] = {
    of: attrgetter(*(one.name for one in fields(of) if one.compare and one.name != "resource_version"))
    for of in get_args(ClusterObject)
}
_KINDS: Final[Mapping[type, Kind]] = {
    Pod: Kind.POD,
    Node: Kind.NODE,
    NodeClaim: Kind.NODE_CLAIM,
    NodePool: Kind.NODE_POOL,
    NodeClass: Kind.NODE_CLASS,
    NodeOverlay: Kind.NODE_OVERLAY,
    DaemonSet: Kind.DAEMON_SET,
    Namespace: Kind.NAMESPACE,
    ResourceQuota: Kind.RESOURCE_QUOTA,
    PersistentVolumeClaim: Kind.PERSISTENT_VOLUME_CLAIM,
    PersistentVolume: Kind.PERSISTENT_VOLUME,
    StorageClass: Kind.STORAGE_CLASS,
    CSINode: Kind.CSI_NODE,
    PodDisruptionBudget: Kind.POD_DISRUPTION_BUDGET,
    CapacityBuffer: Kind.CAPACITY_BUFFER,
    StoredPodTemplate: Kind.POD_TEMPLATE,
    ResourceClaim: Kind.RESOURCE_CLAIM,
    DeviceClass: Kind.DEVICE_CLASS,
    ResourceClaimTemplate: Kind.RESOURCE_CLAIM_TEMPLATE,
    ResourceSlice: Kind.RESOURCE_SLICE,
    DeviceTaintRule: Kind.DEVICE_TAINT_RULE,
}
WORKLOADS: Final = (Kind.REPLICA_SET, Kind.JOB, Kind.STATEFUL_SET)
# What is told of only where capacity buffers are followed.
OF_BUFFERS: Final = (Kind.CAPACITY_BUFFER, Kind.POD_TEMPLATE, Kind.DEPLOYMENT)


def kind_of(thing: ClusterObject) -> Kind:
    """Return the kind of an object."""
    return Kind(thing.kind) if isinstance(thing, Workload) else _KINDS[type(thing)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsSeen:
    """The pools, node classes and node overlays there are, as they were last understood.

    `left_alone` are the names of the pools whose nodes others look after.
    """

    pools: tuple[NodePool, ...]
    node_classes: tuple[NodeClass, ...]
    overlays: tuple[NodeOverlay, ...] = ()
    left_alone: tuple[str, ...] = ()
