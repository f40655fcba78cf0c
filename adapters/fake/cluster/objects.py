"""Types of the cluster's objects, and their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from treenail.adapters.api.diagnosis import meant
from treenail.adapters.api.workloads import (
    ApiObject,
    CronJob,
    Deployment,
    Job,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
)
from treenail.domain.cluster.cluster_facts import OF_BUFFERS, DaemonSet, Kind
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
from treenail.domain.model.pods import Owner, Pod
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

# The kind, and the name among those of the kind: NAMESPACE/NAME for what has a namespace, KIND/NAME for
# node classes, which are of several kinds.
Address: TypeAlias = tuple[str, str]

# Kinds that refer to others come after them.
KIND_OF: Final[Mapping[type, str]] = {
    kind: "PodTemplate" if kind is StoredPodTemplate else kind.__name__
    for kind in (
        StoredPodTemplate,
        Namespace,
        PriorityClass,
        LimitRange,
        ResourceQuota,
        StorageClass,
        PersistentVolume,
        PersistentVolumeClaim,
        CSINode,
        DeviceClass,
        ResourceClaimTemplate,
        ResourceSlice,
        DeviceTaintRule,
        ResourceClaim,
        NodeClass,
        NodeOverlay,
        NodePool,
        DaemonSet,
        NodeClaim,
        Node,
        PodDisruptionBudget,
        Deployment,
        ReplicaSet,
        StatefulSet,
        CapacityBuffer,
        CronJob,
        Job,
        Pod,
    )
}
KINDS: Final = tuple(KIND_OF.values())
NAMESPACED: Final = (
    "Deployment",
    "DaemonSet",
    "StatefulSet",
    "ReplicaSet",
    "CronJob",
    "Job",
    "Pod",
    "PodDisruptionBudget",
    "PersistentVolumeClaim",
    "CapacityBuffer",
    "PodTemplate",
    "ResourceClaim",
    "LimitRange",
    "ResourceQuota",
    "ResourceClaimTemplate",
)
_RANKS: Final = {kind: number for number, kind in enumerate(KIND_OF)}
# The watched kinds, in the order of a list: referenced kinds come before those that refer to them.
WATCHED: Final = (
    Kind.NODE_OVERLAY,
    Kind.NODE_POOL,
    Kind.NODE_CLASS,
    Kind.DAEMON_SET,
    Kind.NAMESPACE,
    Kind.RESOURCE_QUOTA,
    Kind.STORAGE_CLASS,
    Kind.PERSISTENT_VOLUME,
    Kind.PERSISTENT_VOLUME_CLAIM,
    Kind.CSI_NODE,
    Kind.DEVICE_CLASS,
    Kind.RESOURCE_CLAIM_TEMPLATE,
    Kind.DEVICE_TAINT_RULE,
    Kind.RESOURCE_SLICE,
    Kind.RESOURCE_CLAIM,
    Kind.POD_DISRUPTION_BUDGET,
    Kind.REPLICA_SET,
    Kind.JOB,
    Kind.STATEFUL_SET,
    *OF_BUFFERS,
    Kind.NODE_CLAIM,
    Kind.NODE,
    Kind.POD,
)
_SYNONYMS: Final = {"provisioner": "NodePool", "machine": "NodeClaim", **{k.lower(): k for k in KINDS}}
_OF_NODE_CLASSES: Final = ("AWSNodeTemplate", "EC2NodeClass", "KWOKNodeClass", "NodeClass")


@dataclass(frozen=True, slots=True)
class Change:
    """One write to the store. `before` is None for what is new, `after` for what is gone."""

    address: Address
    before: ApiObject | None
    after: ApiObject | None
    revision: int

    @property
    def kind(self) -> str:
        """The kind of the object that was written."""
        return self.address[0]


def address_of(thing: ApiObject) -> Address:
    """Return where `thing` is kept."""
    kind = KIND_OF[type(thing)]
    if kind in NAMESPACED:
        return kind, f"{thing.namespace}/{thing.name}"  # type: ignore[union-attr]
    return kind, str(thing.ref) if isinstance(thing, NodeClass) else thing.name


def rank(thing: ApiObject) -> int:
    """Return a sort key by which referenced objects come before those that refer to them."""
    return _RANKS[type(thing)]


def address(kind: str, name: str, namespace: str = "default") -> Address:
    """Return where the object is kept that a person calls so. Kinds of any generation, in any case.

    A kind that is not known is taken for one of node classes.
    """
    known = _SYNONYMS.get(kind.lower())
    if known is None:
        return "NodeClass", f"{kind}/{name}"
    return known, f"{namespace or 'default'}/{name}" if known in NAMESPACED else name


def check_kind(kind: str) -> None:
    """Check that there is a kind of this name, in any case.

    Raises:
        ValueError: there is none; the nearest is named.
    """
    known = {*KINDS, *_OF_NODE_CLASSES, "Machine", "Provisioner"}
    if kind.lower() not in {one.lower() for one in known}:
        there = f": there are {', '.join(sorted(known))}"
        raise ValueError(f"there is no kind {kind!r}{meant(kind, known) or there}")


def spoken(of: Address) -> str:
    """Write an address as people do: `Pod default/web-0`."""
    return " ".join(of)


def owners_of(thing: ApiObject) -> tuple[Owner, ...]:
    """Return the owner references of an object."""
    if isinstance(thing, Pod | Node | NodeClaim | ReplicaSet | Job):
        return thing.owners
    return ()


def finalizers_of(thing: ApiObject) -> tuple[str, ...]:
    """Return what must be done before an object may go."""
    return thing.finalizers if isinstance(thing, Node | NodeClaim | NodeClass) else ()


def deletion_marked(thing: ApiObject) -> bool:
    """Return whether an object says of itself that it is being deleted."""
    match thing:
        case Pod() | Node() | NodeClaim() | Namespace():
            return thing.deleting_since is not None
        case NodePool() | NodeClass() | PersistentVolume() | PersistentVolumeClaim() | CapacityBuffer():
            return thing.deleting
        case ResourceClaim():
            return thing.deleting
        case _:
            return False
