"""The garbage collector: objects go with their owners."""

from __future__ import annotations

from dataclasses import replace

from treenail.adapters.api.workloads import ApiObject, Job, ReplicaSet
from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.control_plane import ControlPlane, DelayedWork
from treenail.adapters.fake.cluster.objects import NAMESPACED, Address, Change, address_of, owners_of
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod


class GarbageCollector:
    """Deletes what no owner is left of; and what an owner deleted in the foreground waits for."""

    def __init__(self, plane: ControlPlane) -> None:
        self._store = plane.store
        self._owned: dict[str, dict[Address, None]] = {}
        self._ownerless = DelayedWork[str](plane, plane.settings.collect, self._collect)
        self._emptied = DelayedWork[str](plane, plane.settings.collect, self._empty)
        self._waiting = DelayedWork[str](plane, plane.settings.collect, self._clear_way)
        plane.store.listen(self._changed)

    def _changed(self, change: Change) -> None:
        before = owners_of(change.before) if change.before else ()
        after = owners_of(change.after) if change.after else ()
        if before is not after and before != after:
            for owner in before:
                self._disown(owner.uid, change.address)
            for owner in after:
                self._owned.setdefault(owner.uid, {})[change.address] = None
                if not self._store.knows(owner.uid):
                    self._ownerless.add(owner.uid)
        if change.after is None:
            self._gone(change)
        elif self._store.foreground(change.after):
            self._waiting.add(change.after.uid)

    def _gone(self, change: Change) -> None:
        gone = change.before
        if gone is None or self._store.knows(gone.uid):
            return
        if change.kind == "Namespace":
            self._emptied.add(change.address[1])
        if gone.uid in self._owned:
            self._ownerless.add(gone.uid)
        for owner in owners_of(gone):
            thing = self._store.by_uid(owner.uid)
            if thing is not None and self._store.foreground(thing):
                self._waiting.add(owner.uid)

    def _disown(self, uid: str, address: Address) -> None:
        owned = self._owned.get(uid, {})
        owned.pop(address, None)
        if not owned:
            self._owned.pop(uid, None)

    def _dependents(self, uid: str) -> list[ApiObject]:
        found = (self._store.find(address) for address in tuple(self._owned.get(uid, ())))
        return [thing for thing in found if thing is not None]

    def _collect(self, uid: str) -> None:
        """Delete the dependents of an owner that is gone, but those that have another."""
        if self._store.knows(uid):
            return
        for thing in self._dependents(uid):
            if any(self._store.knows(owner.uid) for owner in owners_of(thing)):
                self._store.put(_without_owner(thing, uid))
            else:
                self._delete(thing, foreground=False)

    def _empty(self, namespace: str) -> None:
        """Delete what a deleted namespace held."""
        if self._store.find(("Namespace", namespace)) is not None:
            return
        for kind in NAMESPACED:
            for thing in tuple(self._store.of_kind(kind)):
                if address_of(thing)[1].startswith(f"{namespace}/"):
                    self._delete(thing, foreground=False)

    def _clear_way(self, uid: str) -> None:
        """Delete what an owner waits for; let the owner go when nothing of it is left."""
        owner = self._store.by_uid(uid)
        if owner is None or not self._store.foreground(owner):
            return
        blocking = [
            thing
            for thing in self._dependents(uid)
            if any(o.uid == uid and o.block_deletion for o in owners_of(thing))
        ]
        for thing in blocking:
            if not self._store.deleting(thing):
                self._delete(thing, foreground=thing.uid in self._owned)
        if not blocking:
            self._store.release(owner)

    def _delete(self, thing: ApiObject, *, foreground: bool) -> None:
        if isinstance(thing, Pod):
            pods.delete(self._store, thing, thing.spec.grace_seconds)
        else:
            self._store.delete(address_of(thing), foreground=foreground)


def _without_owner(thing: ApiObject, uid: str) -> ApiObject:
    if isinstance(thing, Pod | Node | NodeClaim | ReplicaSet | Job):
        return replace(thing, owners=tuple(o for o in thing.owners if o.uid != uid))
    return thing
