"""Standby: keeps the messages of an actor that is made later, when provisioning comes back."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import RLock
from typing import Generic, TypeAlias, TypeVar

from treenail.domain.cluster.batch_window import NodesToReplace, PodBecamePending, PodLeft, UrgentWork
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.disruption.disruption import CandidateChanged, NodeEmptied, PoolChanged
from treenail.domain.disruption.surveys import InstancesSurveyed
from treenail.domain.model.node_class_status import NodeClassStatusSeen
from treenail.domain.model.runtime import Ref

M = TypeVar("M")

# What a message is about, and whether that is over: of each thing the last message is kept.
Topic: TypeAlias = "tuple[Hashable, bool] | None"


class Standby(Generic[M]):
    """A Ref to an actor that is made later. Threads may share it.

    Until `leads_to` it keeps the last message about each thing, in the order in which things were first told
    of; then it hands them on, and passes everything on.
    """

    def __init__(self, topic: Callable[[M], Topic]) -> None:
        self._topic = topic
        self._lock = RLock()
        self._kept: dict[Hashable, M] = {}
        self._to: Ref[M] | None = None

    def tell(self, message: M, /) -> None:
        """Keep `message`, or pass it on."""
        with self._lock:
            if self._to is not None:
                self._to.tell(message)
                return
            about = self._topic(message)
            if about is None:
                return
            thing, over = about
            if over:
                self._kept.pop(thing, None)
            else:
                self._kept[thing] = message

    def leads_to(self, to: Ref[M]) -> None:
        """Hand on what was kept, and pass everything on to `to` from now on."""
        with self._lock:
            for message in self._kept.values():
                to.tell(message)
            self._kept.clear()
            self._to = to


def of_batcher(message: object) -> Topic:
    """Return what a message to the batcher is about."""
    match message:
        case PodBecamePending(uid=uid):
            return ("pod", uid), False
        case PodLeft(uid=uid):
            return ("pod", uid), True
        case NodesToReplace(names=names):
            return ("nodes", names), False
        case UrgentWork():
            return "urgent", False
        case _:
            return None


def of_nodes(message: object) -> Topic:
    """Return the topic of a message to an actor that follows nodes. Plans and shortages are not kept."""
    return (message.name, message.view is None) if isinstance(message, NodeChanged) else None


def of_disruptor(message: object) -> Topic:
    """Return what a message to a disruptor is about. Who was refused may be proposed again."""
    match message:
        case NodeEmptied(name=name, since=since):
            return ("empty", name), since is None
        case CandidateChanged(name=name, claim=claim):
            return ("candidate", name), claim is None
        case PoolChanged() | NodeClassStatusSeen() | InstancesSurveyed():
            return type(message).__name__, False
        case _:
            return None


def of_sizer(message: object) -> Topic:
    """Return the topic of a message to the sizer of pools. Failures from before it was made are dropped."""
    match message:
        case NodeChanged(name=name, view=view):
            return ("node", name), view is None
        case PoolsSeen():
            return "pools", False
        case NodeClassStatusSeen(node_class=node_class):
            return ("class", node_class.ref), False
        case _:
            return None
