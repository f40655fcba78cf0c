"""The book of node classes: which to finalize, look up and release, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from treenail.domain.cluster.cluster_facts import says_the_same
from treenail.domain.model import labels
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.nodes import NodeClaim, Status

# The kind for which objects are made that must be deleted with it.
_HELD: Final = "EC2NodeClass"
_MOST_NAMED: Final = 5


class NodeClassBook:
    """The node classes there are, and what was done for each. Mutable."""

    def __init__(self) -> None:
        self._classes: dict[NodeClassRef, NodeClass] = {}
        self._held: dict[str, None] = {}
        self._asked: dict[NodeClassRef, NodeClass] = {}
        self._well: dict[NodeClassRef, bool] = {}
        self._told: dict[str, tuple[str, ...]] = {}

    @property
    def classes(self) -> tuple[NodeClass, ...]:
        """All node classes that are objects of their own, sorted."""
        return tuple(one for one in self._every() if not one.ref.inline)

    def see(self, classes: Iterable[NodeClass]) -> None:
        """Take in which node classes there are."""
        self._classes = {one.ref: one for one in classes}
        uids = {one.uid for one in self._classes.values()}
        for by_uid in (self._held, self._told):
            for uid in [uid for uid in by_uid if uid not in uids]:
                del by_uid[uid]
        for by_ref in (self._asked, self._well):
            for ref in [ref for ref in by_ref if ref not in self._classes]:
                del by_ref[ref]

    def to_hold(self, *, anew: bool) -> tuple[NodeClass, ...]:
        """Return the classes that should not go without us: all `anew`, or those that could, for all we know.

        Who replaces an object takes its finalizers off too, which is not told as a change of it.
        """
        ours = tuple(one for one in self._living() if one.ref.kind == _HELD)
        return tuple(one for one in ours if anew or not (self._ours(one) or one.uid in self._held))

    def held(self, node_class: NodeClass) -> None:
        """Take in that a class does not go without us."""
        self._held[node_class.uid] = None

    def to_ask(self, *, anew: bool) -> tuple[NodeClass, ...]:
        """Return the classes to look up: all if `anew`, else those that changed since they were looked up."""
        due = tuple(one for one in self._living() if anew or not says_the_same(one, self._asked.get(one.ref)))
        self._asked |= {one.ref: one for one in due}
        return due

    def ask_again(self, refs: Iterable[NodeClassRef]) -> None:
        """Take it that classes were not looked up yet."""
        for ref in refs:
            self._asked.pop(ref, None)

    def status_seen(self, node_class: NodeClass, status: NodeClassStatus | None) -> None:
        """Take in the status of a class, None where EC2 did not tell it."""
        self._well[node_class.ref] = status is not None and all(
            c.status is Status.TRUE for c in status.conditions
        )

    @property
    def settled(self) -> bool:
        """True if all classes are held that should be, and all of them are ready."""
        return not self.to_hold(anew=False) and all(self._well.get(one.ref, False) for one in self._living())

    def leaving(self) -> tuple[NodeClass, ...]:
        """Return the classes that are to go, and wait for us."""
        return tuple(one for one in self.classes if one.deleting and self._ours(one))

    def waits_for(self, node_class: NodeClass, claims: tuple[str, ...]) -> bool:
        """Take in whose end a class waits for; return whether that is news."""
        known = self._told.get(node_class.uid)
        self._told[node_class.uid] = claims
        return known is None

    def gone(self, node_class: NodeClass) -> None:
        """Take in that nothing of ours holds a class any more."""
        if self._classes.get(node_class.ref) == node_class:
            del self._classes[node_class.ref]

    def _every(self) -> tuple[NodeClass, ...]:
        return tuple(self._classes[ref] for ref in sorted(self._classes))

    def _living(self) -> tuple[NodeClass, ...]:
        return tuple(one for one in self._every() if not one.deleting)

    def _ours(self, node_class: NodeClass) -> bool:
        return labels.NODE_CLASS_FINALIZER in node_class.finalizers


def users_of(node_class: NodeClass, claims: Iterable[NodeClaim]) -> tuple[str, ...]:
    """Return the names of the claims that use a node class, or that do not say which they use, sorted."""
    return tuple(sorted(c.name for c in claims if c.node_class == node_class.ref or not c.node_class.name))


def about(node_class: NodeClass) -> ObjectRef:
    """Return a node class as events and writes name it."""
    return ObjectRef(kind=node_class.ref.kind, name=node_class.ref.name, uid=node_class.uid)


def waiting_event(node_class: NodeClass, claims: tuple[str, ...]) -> ClusterEvent:
    """Return the event that tells whose end a node class waits for."""
    named = ", ".join(claims[:_MOST_NAMED])
    others = len(claims) - _MOST_NAMED
    more = f" and {others} more" if others > 0 else ""
    message = f"Waiting on NodeClaim termination for {named}{more}"
    return ClusterEvent(about=about(node_class), reason="WaitingOnNodeClaimTermination", message=message)
