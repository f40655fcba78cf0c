"""What the watches of the API server tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from treenail.domain.events import ObjectRef
from treenail.domain.node_classes import NodeClass
from treenail.domain.node_pools import NodePool
from treenail.domain.nodes import Node, NodeClaim
from treenail.domain.pods import Pod, PodSpec


class Kind(StrEnum):
    """The kinds of objects the domain knows, of whichever API generation."""

    POD = "Pod"
    NODE = "Node"
    NODE_CLAIM = "NodeClaim"
    NODE_POOL = "NodePool"
    NODE_CLASS = "NodeClass"
    DAEMON_SET = "DaemonSet"


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


ClusterObject: TypeAlias = Pod | Node | NodeClaim | NodePool | NodeClass | DaemonSet


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSeen:
    """An object is there, as it stands at its resource version."""

    object: ClusterObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectGone:
    """An object is no longer there. `key` is what `key_of` gives for it."""

    kind: Kind
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSetAside:
    """An object is there that could not be understood; `problem` names the field and what is wrong."""

    kind: Kind
    key: str
    resource_version: int
    about: ObjectRef
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resynced:
    """All objects there are, at one revision: what is neither among them nor set aside is gone."""

    revision: int
    objects: tuple[ClusterObject, ...]
    set_aside: tuple[ObjectSetAside, ...] = ()


ClusterFact: TypeAlias = ObjectSeen | ObjectGone | ObjectSetAside | Resynced


def key_of(thing: ClusterObject) -> str:
    """Return what names an object among those of its kind: a pod's uid, else its name."""
    match thing:
        case Pod() | DaemonSet():
            return thing.uid
        case NodeClass():
            return f"{thing.ref.kind}/{thing.ref.name}"
        case _:
            return thing.name


def says_the_same(thing: ClusterObject, known: ClusterObject | None) -> bool:
    """Tell whether nothing that we look at has changed since `known` but the revision."""
    return known is not None and replace(thing, resource_version=known.resource_version) == known


def kind_of(thing: ClusterObject) -> Kind:
    """Return the kind of an object."""
    match thing:
        case Pod():
            return Kind.POD
        case Node():
            return Kind.NODE
        case NodeClaim():
            return Kind.NODE_CLAIM
        case NodePool():
            return Kind.NODE_POOL
        case NodeClass():
            return Kind.NODE_CLASS
        case DaemonSet():
            return Kind.DAEMON_SET
