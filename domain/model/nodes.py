"""Nodes, the claims they were bought for, and the two seen as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeVar

from treenail.domain.model import labels
from treenail.domain.model.node_classes import Kubelet, NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.pods import Owner
from treenail.domain.model.requirements import ANYTHING, Requirements
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.model.taints import DISRUPTED, GOES_LATER, Taint, is_ephemeral


class Status(StrEnum):
    """The status of a condition: true, false, or unknown."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """A status condition of an object."""

    type: str
    status: Status
    reason: str = ""
    message: str = ""
    since: datetime | None = None


ThingT = TypeVar("ThingT", "NodeClaim", "Node")

# How long a claim lives that never expires.
FOREVER: Final = timedelta.max

LAUNCHED = "Launched"
REGISTERED = "Registered"
INITIALIZED = "Initialized"
READY = "Ready"
CONSISTENT = "ConsistentStateFound"
DRAINED = "Drained"
VOLUMES_DETACHED = "VolumesDetached"
INSTANCE_TERMINATING = "InstanceTerminating"
DISRUPTION_REASON = "DisruptionReason"
DRIFTED = "Drifted"
CONSOLIDATABLE = "Consolidatable"


def condition_of(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """Return the condition of type `kind`, if it is there."""
    for condition in conditions:
        if condition.type == kind:
            return condition
    return None


def holds(conditions: tuple[Condition, ...], kind: str) -> bool:
    """Return whether the condition of type `kind` is True."""
    found = condition_of(conditions, kind)
    return found is not None and found.status is Status.TRUE


_POOL_KINDS: Final = frozenset(generation.pool_kind for generation in Generation)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClaim:
    """A claim on a node to be: a NodeClaim, or the Machine of the old API, at one revision.

    `labels` come to be the node's. `instance_types` is the launch's choice, cheapest first, read from
    the requirements. `capacity` and `allocatable` are known from the launch on. `expire_after` is how long
    it may live, or `FOREVER`; None is as its pool says. At `last_pod_event_at` a pod last came or left.
    Only Machines may have a `kubelet` of their own. `unread` says what of it could not be
    read, "" where all could.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    generation: Generation = Generation.V1
    pool: str
    node_class: NodeClassRef
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    requirements: Requirements = ANYTHING
    instance_types: tuple[str, ...] = ()
    requests: Resources = NOTHING
    termination_grace_period: timedelta | None = None
    expire_after: timedelta | None = None
    created_at: datetime
    deleting_since: datetime | None = None
    provider_id: str = ""
    node_name: str = ""
    image_id: str = ""
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    conditions: tuple[Condition, ...] = ()
    last_pod_event_at: datetime | None = None
    kubelet: Kubelet | None = None
    unread: str = ""

    @property
    def launched(self) -> bool:
        """True if the claim has its instance."""
        return bool(self.provider_id)

    @property
    def registered(self) -> bool:
        """True if the claim says that its node has joined the cluster."""
        return holds(self.conditions, REGISTERED)

    @property
    def initialized(self) -> bool:
        """True if the claim says that its node was ready and complete once: it stays so."""
        return holds(self.conditions, INITIALIZED)

    def since(self, kind: str) -> datetime:
        """Return since when the claim has borne a condition, as that says; else when the claim was made."""
        shown = condition_of(self.conditions, kind)
        return shown.since if shown is not None and shown.since is not None else self.created_at

    @property
    def drift(self) -> str | None:
        """The reason why the node drifted, as its claim says; None where the claim says nothing of drift."""
        shown = condition_of(self.conditions, DRIFTED)
        return shown.reason if shown is not None and shown.status is Status.TRUE else None

    @property
    def stands_alone(self) -> bool:
        """True if somebody made it without a pool, and it says all of its node itself."""
        return not self.pool and not any(owner.kind in _POOL_KINDS for owner in self.owners)

    @property
    def drivers(self) -> tuple[str, ...]:
        """The drivers of devices that the node was bought for, sorted."""
        said = self.annotations.get(labels.REQUESTED_DRIVERS, "")
        return tuple(sorted({name.strip() for name in said.split(",")} - {""}))

    @property
    def instance_id(self) -> str:
        """The id of the instance, such as "i-0abc"; "" before it is launched."""
        return self.provider_id.rpartition("/")[2]

    @property
    def instance_type(self) -> str:
        """The type of the instance, such as "m5.large"; "" while no label tells it."""
        return self.labels.get(labels.INSTANCE_TYPE, "")

    @property
    def zone(self) -> str:
        """The availability zone of the instance; "" while no label tells it."""
        return self.labels.get(labels.ZONE, "")

    @property
    def capacity_type(self) -> str:
        """The capacity type: "spot", "on-demand" or "reserved"; "" while no label tells it."""
        return self.labels.get(labels.CAPACITY_TYPE, "")

    @property
    def leaving(self) -> bool:
        """True if the claim is being deleted."""
        return self.deleting_since is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Kubernetes node at one revision. `unread` says what of it could not be read, "" where all could.

    `taint_times` are the `timeAdded` of its taints that have one, as the API server writes them: pods may
    tolerate a taint for so long from then on.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    taint_times: Mapping[Taint, str] = field(default_factory=dict)
    unschedulable: bool = False
    provider_id: str = ""
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    conditions: tuple[Condition, ...] = ()
    created_at: datetime
    deleting_since: datetime | None = None
    unread: str = ""

    @property
    def ready(self) -> bool:
        """True if its kubelet says that the node is ready."""
        return holds(self.conditions, READY)

    @property
    def lasting_taints(self) -> tuple[Taint, ...]:
        """The taints less ours that only asks the scheduler to use the node last: it keeps no pod off."""
        return (
            self.taints if GOES_LATER not in self.taints else tuple(t for t in self.taints if t != GOES_LATER)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node and its claim as one thing: one of them may be missing, not both.

    `rivals` are the names of other nodes that name this machine; `abandoned` are those of them that are
    deleted and held by our finalizer. `claimants` are the names of other claims to this machine. Where one of
    them has it, that is the `holder`, and this claim has neither machine nor node; `kept_node` is a node that
    would be deleted with this claim, as it does not name the holder yet.

    `lacking_drivers` are drivers of devices that it was bought for and that have published none.

    As in Karpenter the claim speaks for labels and taints until the node is registered, and for resources
    until it is initialized.
    """

    claim: NodeClaim | None = None
    node: Node | None = None
    rivals: tuple[str, ...] = ()
    abandoned: tuple[str, ...] = ()
    claimants: tuple[str, ...] = ()
    holder: str = ""
    kept_node: str = ""
    lacking_drivers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A name no other view has: the claim's, where there is one."""
        if self.claim is not None:
            return self.claim.name
        assert self.node is not None  # noqa: S101
        return self.node.name

    @property
    def node_name(self) -> str:
        """The name of the node; "" where there is a claim alone."""
        return self.node.name if self.node is not None else ""

    def updated(self, thing: object) -> NodeView:
        """Return this view with `thing` in it, where that is a later revision of its claim or its node."""
        match thing:
            case NodeClaim() if self.claim is not None and _later(thing, self.claim):
                return replace(self, claim=_dated_alike(thing, self.claim))
            case Node() if self.node is not None and _later(thing, self.node):
                return replace(self, node=_dated_alike(thing, self.node))
            case _:
                return self

    @property
    def pool(self) -> str:
        """The pool of the claim; "" where it has none, or there is a node alone."""
        return self.claim.pool if self.claim is not None else ""

    @property
    def unread(self) -> str:
        """The fields of the node or claim that could not be read, for which it is left alone; "" of none."""
        node = self.node.unread if self.node is not None else ""
        claim = self.claim.unread if self.claim is not None else ""
        return node or claim

    @property
    def launched(self) -> bool:
        """True if there is a machine: a claim that is only written has none, nor one that another holds."""
        return self.claim is None or (self.claim.launched and not self.holder)

    @property
    def registered(self) -> bool:
        """True if the node has joined the cluster; of a node without a claim always."""
        return self.claim is None or (self.claim.registered and self.node is not None)

    @property
    def initialized(self) -> bool:
        """True if the node is there and was ready and complete once; without a claim always."""
        return self.claim is None or (self.claim.initialized and self.node is not None)

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the node: those of the claim until it is registered."""
        if self.node is not None and (self.claim is None or self.claim.registered):
            return self.node.labels
        return self.claim.labels if self.claim is not None else {}

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints there will be once the node is ready: startup and ephemeral ones are left out.

        So is the one that is only for the scheduler: we know ourselves which nodes go later.
        """
        if self.node is not None and (self.claim is None or self.claim.registered):
            there = self.node.lasting_taints
        else:
            there = self.claim.taints if self.claim is not None else ()
        if self.claim is None or self.initialized:
            return there
        startup = self.claim.startup_taints
        return tuple(t for t in there if not is_ephemeral(t) and not any(t.same_mark(s) for s in startup))

    @property
    def allocatable(self) -> Resources:
        """The resources that pods can use: those of the claim until the node is initialized."""
        return self._known("allocatable")

    @property
    def capacity(self) -> Resources:
        """The resources of the node: those of the claim until the node is initialized."""
        return self._known("capacity")

    @property
    def promised_room(self) -> Resources:
        """The room that pods were promised places in; before it is in use, a node may have less or more."""
        there = self.allocatable
        return there if self.claim is None or self.initialized else there.largest(self.claim.allocatable)

    def _known(self, which: str) -> Resources:
        of_node: Resources = getattr(self.node, which) if self.node is not None else NOTHING
        if self.claim is None or self.initialized:
            return of_node
        of_claim: Resources = getattr(self.claim, which)
        return Resources({**of_claim, **{name: amount for name, amount in of_node.items() if amount}})

    @property
    def ending(self) -> bool:
        """True if the node goes for good, so that its pods need other places."""
        deleted = self.node is not None and self.node.deleting_since is not None
        return deleted or (self.claim is not None and self.claim.leaving)

    @property
    def leaving(self) -> bool:
        """True if the node is on its way out, or cordoned, so that no pod should be sent to it."""
        cordoned = self.node is not None and (self.node.unschedulable or DISRUPTED in self.node.taints)
        return cordoned or self.ending


def _dated_alike(thing: ThingT, known: ThingT) -> ThingT:
    """Return `thing` with the dates that it was known by of what has not happened anew since."""
    known_conditions = {condition.type: condition for condition in known.conditions}
    conditions = tuple(
        replace(one, since=was.since)
        if (was := known_conditions.get(one.type)) is not None and was.status is one.status
        else one
        for one in thing.conditions
    )
    deleting = thing.deleting_since and (known.deleting_since or thing.deleting_since)
    alike = replace(thing, created_at=known.created_at, deleting_since=deleting, conditions=conditions)
    return thing if alike == thing else alike


def _later(thing: NodeClaim | Node, known: NodeClaim | Node) -> bool:
    return thing.uid == known.uid and thing.resource_version > known.resource_version


MACHINE_NOT_JOINED: Final = "MachineNotJoined"


def awaited(node: Node) -> bool:
    """Return whether a node was made early and no kubelet has spoken for it yet."""
    if labels.MADE_EARLY not in node.annotations:
        return False
    ready = condition_of(node.conditions, READY)
    return ready is None or ready.status is Status.UNKNOWN or ready.reason == MACHINE_NOT_JOINED
