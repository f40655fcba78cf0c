"""The object store: each object at its revision, and the guarantees of the API server."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeAlias, TypeVar, cast

from treenail.adapters.api.diagnosis import meant
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.fake.cluster.objects import (
    KIND_OF,
    KINDS,
    Address,
    Change,
    address_of,
    deletion_marked,
    finalizers_of,
    spoken,
)
from treenail.adapters.fake.luck import uuid
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.model.errors import AlreadyExistsError, ConflictError, InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Clock

T = TypeVar("T", bound=ApiObject)
Listener: TypeAlias = Callable[[Change], None]

# Of the names there are, when one is not.
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """An object that is there but that no client understands. `key` is what its watch calls it."""

    uid: str
    kind: Kind
    key: str
    about: ObjectRef
    problem: str
    resource_version: int


class Store:
    """Objects by address. Every write gets the next revision and is told to the listeners, in order.

    Listeners may write. Their writes are told after all have heard of the change before.
    """

    def __init__(self, *, clock: Clock, dice: random.Random) -> None:
        self.revision = 0
        self.broken: dict[Address, Broken] = {}
        # The kinds of which clients may not see all objects.
        self.unreadable: frozenset[Kind] = frozenset()
        self._clock = clock
        self._dice = dice
        self._objects: dict[str, dict[str, ApiObject]] = {kind: {} for kind in KINDS}
        self._addresses: dict[str, Address] = {}
        # Owners that are of no kind kept here, and are there.
        self._outside: dict[str, None] = {}
        self._foreground: dict[str, None] = {}
        self._listeners: dict[str, list[Listener]] = {kind: [] for kind in KINDS}
        self._untold: deque[Change] = deque()
        self._telling = False

    # --- reading

    def now(self) -> datetime:
        """Return the time of day."""
        return self._clock.now()

    def find(self, address: Address) -> ApiObject | None:
        """Return the object kept at `address`, if there is one."""
        return self._objects[address[0]].get(address[1])

    def get(self, of: type[T], address: Address) -> T:
        """Return the object kept at `address`.

        Raises:
            NotFoundError: there is none.
        """
        found = self.find(address)
        if not isinstance(found, of):
            raise NotFoundError(f"{spoken(address)} is not there")
        return found

    def there(self, address: Address) -> ApiObject:
        """Return an object of any kind; NotFoundError where there is none."""
        found = self.find(address)
        if found is None:
            raise NotFoundError(f"{spoken(address)} is not there")
        return found

    def check_named(self, address: Address) -> None:
        """Check that an object is there, or is set aside; NotFoundError names the nearest one of its kind."""
        if self.find(address) is None and address not in self.broken:
            namespace, _, name = address[1].rpartition("/")
            there = (key.rpartition("/") for key in self._objects[address[0]])
            others = sorted(other for within, _, other in there if within == namespace)
            some = f": there are {', '.join(others[:_MOST_NAMED])}" if others else ""
            raise NotFoundError(f"{spoken(address)} is not there{meant(name, others) or some}")

    def by_uid(self, uid: str) -> ApiObject | None:
        """Return the object of this uid, if it is there."""
        address = self._addresses.get(uid)
        return None if address is None else self.find(address)

    def knows(self, uid: str) -> bool:
        """Return whether there is an object of this uid, understood or not."""
        return uid in self._addresses or uid in self._outside

    def know_outside(self, uids: Iterable[str]) -> None:
        """Take objects of these uids, of which nothing else is known, for there for good."""
        self._outside.update(dict.fromkeys(uids))

    def all(self, of: type[T]) -> tuple[T, ...]:
        """Return all objects of a kind, in the order they were made."""
        return cast("tuple[T, ...]", tuple(self._objects[KIND_OF[of]].values()))

    def of_kind(self, kind: str) -> Iterable[ApiObject]:
        """Return all objects of a kind, in the order they were made."""
        return self._objects[kind].values()

    def deleting(self, thing: ApiObject) -> bool:
        """Return whether `thing` is on its way out."""
        return deletion_marked(thing) or thing.uid in self._foreground

    def foreground(self, thing: ApiObject) -> bool:
        """Return whether `thing` waits for its dependents to go first."""
        return thing.uid in self._foreground

    # --- writing

    def add(self, thing: T, *, since: datetime | None = None) -> T:
        """Keep a new object, with a uid, a time (now, or `since`) and a revision of our own.

        Raises:
            AlreadyExistsError: its name is taken.
            InvalidError: it brings a uid that is taken.
        """
        address = address_of(thing)
        if self.find(address) is not None:
            raise AlreadyExistsError(f"{spoken(address)} is there already")
        broken = self.mend(address)
        uid = thing.uid or (broken.uid if broken else "") or uuid(self._dice)
        if self._addresses.get(uid, address) != address:
            raise InvalidError(f"{spoken(address)}: uid {uid} is another object's")
        self.revision += 1
        given: dict[str, Any] = {"uid": uid, "resource_version": self.revision}
        if isinstance(thing, Pod | Node | NodeClaim):
            given["created_at"] = since or self._clock.now()
        stored = replace(thing, **given)
        self._addresses[uid] = address
        self._objects[address[0]][address[1]] = stored
        self._tell(Change(address, None, stored, self.revision))
        return stored

    def put(self, thing: T) -> T:
        """Store `thing` in place of its former state. If it is being deleted without finalizers, it goes."""
        address = address_of(thing)
        before = self._objects[address[0]][address[1]]
        self.revision += 1
        stored = replace(thing, resource_version=self.revision)
        if (
            isinstance(stored, Node | NodeClaim | NodeClass)
            and deletion_marked(stored)
            and self._may_go(stored)
        ):
            self._drop(address, before)
            return stored
        self._objects[address[0]][address[1]] = stored
        self._tell(Change(address, before, stored, self.revision))
        return stored

    def remove(self, address: Address) -> None:
        """Let an object go at once."""
        before = self._objects[address[0]].get(address[1])
        if before is not None:
            self.revision += 1
            self._drop(address, before)

    def delete(self, address: Address, *, foreground: bool = False) -> None:
        """Mark an object as deleting, or let it go where nothing holds it. A pod is not deleted so.

        `foreground`: it waits for those it owns.
        """
        thing = self._objects[address[0]][address[1]]
        if foreground and thing.uid not in self._foreground:
            self._foreground[thing.uid] = None
        elif deletion_marked(thing):
            return
        if self._may_go(thing):
            self.remove(address)
        else:
            self.put(_marked(thing, self._clock.now()))

    def release(self, thing: ApiObject) -> None:
        """End the wait of an object for those it owned."""
        self._foreground.pop(thing.uid, None)
        if self._may_go(thing):
            self.remove(address_of(thing))

    def set_aside(
        self, address: Address, kind: Kind, about: ObjectRef, problem: str, key: str = ""
    ) -> Broken:
        """Note that no client can understand the object at `address`. The cluster itself goes on with it."""
        known = self.find(address) or self.broken.get(address)
        uid = known.uid if known else about.uid or uuid(self._dice)
        self._addresses[uid] = address
        self.revision += 1
        broken = self.broken[address] = Broken(
            uid=uid,
            kind=kind,
            key=key or (uid if kind in (Kind.POD, Kind.DAEMON_SET) else address[1]),
            about=about,
            problem=problem,
            resource_version=self.revision,
        )
        return broken

    def mend(self, address: Address) -> Broken | None:
        """Note that the object at `address` can be understood, or is gone; return what was noted of it."""
        broken = self.broken.pop(address, None)
        if broken is not None and self.find(address) is None:
            self._addresses.pop(broken.uid, None)
        return broken

    def _may_go(self, thing: ApiObject) -> bool:
        return not finalizers_of(thing) and thing.uid not in self._foreground

    def _drop(self, address: Address, before: ApiObject) -> None:
        self._objects[address[0]].pop(address[1])
        self.broken.pop(address, None)
        self._addresses.pop(before.uid, None)
        self._foreground.pop(before.uid, None)
        self._tell(Change(address, before, None, self.revision))

    # --- telling

    def listen(self, listener: Listener, *kinds: str) -> None:
        """Call `listener` with every change of these kinds from now on; of all kinds where none is given."""
        for kind in kinds or KINDS:
            self._listeners[kind].append(listener)

    def _tell(self, change: Change) -> None:
        self._untold.append(change)
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                told = self._untold.popleft()
                for listener in self._listeners[told.address[0]]:
                    listener(told)
        finally:
            self._telling = False


def check_version(thing: ApiObject, version: int | None) -> None:
    """Make sure that an object is at the revision a writer takes it to be.

    Raises:
        ConflictError: it is not.
    """
    if version is not None and thing.resource_version != version:
        raise ConflictError(
            f"{spoken(address_of(thing))} is at {thing.resource_version} by now, not at {version}"
        )


def check_uid(thing: ApiObject, uid: str) -> None:
    """Make sure that an object is the one a writer means.

    Raises:
        ConflictError: it is another of its name.
    """
    if thing.uid != uid:
        raise ConflictError(f"{spoken(address_of(thing))} has uid {thing.uid}, not {uid}")


def _marked(thing: ApiObject, now: datetime) -> ApiObject:
    match thing:
        case Node() | NodeClaim():
            return replace(thing, deleting_since=thing.deleting_since or now)
        case NodePool() | NodeClass():
            return replace(thing, deleting=True)
        case _:
            return thing
