"""The watch store: objects read of every resource, and the facts still to be passed on."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, TypeAlias

from treenail.adapters.api.items import Item
from treenail.adapters.kubernetes.items import KINDS, hidden
from treenail.adapters.kubernetes.listing import Listing
from treenail.adapters.kubernetes.resources import NODE_POOL, PROVISIONER, Resource
from treenail.domain.cluster.cluster_facts import (
    ClusterFact,
    ClusterObject,
    Kind,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    Resynced,
    key_of,
    kind_of,
    says_the_same,
)

# Whose revisions are preconditions of writes: of those even a change is told that says nothing new.
_WRITTEN_TO: Final = frozenset({Kind.NODE, Kind.NODE_CLAIM})

_Key: TypeAlias = tuple[Kind, str]


@dataclass(slots=True)
class _Objects:
    """The objects of one resource by uid, as of a revision. `withheld` are they where we may not see them.

    `asked` and `missed` are counts of answers about any resource: of the last one about this, and of the
    first that said that it is not served, 0 where it is.
    """

    items: dict[str, Item] = field(default_factory=dict)
    revision: int = 0
    # The revision of the list that was taken in last, and the lists that are being read now.
    listed: int = 0
    listings: list[Listing[Item]] = field(default_factory=list)
    read: bool = False
    served: bool = False
    withheld: bool = False
    asked: int = 0
    missed: int = 0


@dataclass(slots=True)
class _Pending:
    """A fact to be published. `news` is the first one about an object."""

    fact: ClusterFact
    news: bool


class WatchStore:
    """Takes in what the watches read, and gives out the facts of it in order. Safe for many threads.

    Of an object only the last fact is kept to be told, at the place of the first, so that what waits is
    never more than there are objects. `wake` is notified when something is to be told.
    """

    def __init__(self, resources: Sequence[Resource]) -> None:
        self.wake = threading.Condition()
        self._resources = {resource: _Objects() for resource in resources}
        self._pending: dict[tuple[str, Kind, str], _Pending] = {}
        # Provisioners that are called as a NodePool is, by uid, as they are when that is not there.
        self._hidden: dict[str, Item] = {}
        self._started = False
        self._renewed = False
        self._answers = 0

    # --- what the watches read

    def begin(self, resource: Resource) -> Listing[Item]:
        """Note that all objects of a resource are asked for now, and return what they are to be noted in."""
        with self.wake:
            known = self._resources[resource]
            listing = Listing[Item](since=known.revision)
            known.listings.append(listing)
            return listing

    def holds(self, resource: Resource, uid: str, version: int) -> bool:
        """Return whether an object is known in just this version."""
        with self.wake:
            known = self._resources[resource].items.get(uid)
            return known is not None and known.version == version

    def abandon(self, resource: Resource, listing: Listing[Item]) -> None:
        """Note that a list will not be read to its end."""
        with self.wake:
            listings = self._resources[resource].listings
            if listing in listings:
                listings.remove(listing)

    def merge(self, resource: Resource, listing: Listing[Item], revision: int) -> bool:
        """Take in a list that was read to its end: what is not in it is gone.

        What a watch told that is newer stays. But a list older than what was known when it was asked for
        tells that the store was put back to an older state: then the list is right. Return whether it was.
        """
        with self.wake:
            known = self._resources[resource]
            if listing not in known.listings:
                return False  # the store was put back while it was read
            known.listings.remove(listing)
            put_back = listing.is_put_back(revision)
            if put_back:
                known.listings.clear()
            for uid in listing.lost(known.items, revision):
                self._lose(resource, uid)
            for item in listing.found():
                self._see(resource, item, anew=put_back)
            known.listed = revision
            known.revision = revision if put_back else max(known.revision, revision)
            known.read, known.served = True, True
            self._renewed |= known.withheld
            known.withheld = False
            known.missed = 0
            self._answered(resource)
            self.wake.notify_all()
            return put_back

    def listed(self, resource: Resource, items: Iterable[Item], revision: int) -> None:
        """Take in all objects of a resource at once: what is not among them is gone."""
        listing = self.begin(resource)
        for item in items:
            listing.add(item)
        self.merge(resource, listing, revision)

    def seen(self, resource: Resource, item: Item) -> None:
        """Take in an object that is new or has changed."""
        with self.wake:
            known = self._resources[resource]
            if item.version > known.listed:  # else the list knows better
                self._see(resource, item)
            known.revision = max(known.revision, item.version)
            self.wake.notify_all()

    def gone(self, resource: Resource, uid: str, revision: int) -> None:
        """Take in that an object was deleted."""
        with self.wake:
            known = self._resources[resource]
            self._lose(resource, uid)
            for listing in known.listings:
                listing.gone.add(uid)
            known.revision = max(known.revision, revision)
            self.wake.notify_all()

    def reached(self, resource: Resource, revision: int) -> None:
        """Take in that nothing else happened up to `revision`."""
        with self.wake:
            known = self._resources[resource]
            known.revision = max(known.revision, revision)

    def not_served(self, resource: Resource) -> None:
        """Take in that the server knows no such resource (any more).

        Its objects may be there in another version, which is looked for now and then: until one is read, or
        none was found, they stay.
        """
        with self.wake:
            known = self._resources[resource]
            known.missed = known.missed or self._answers + 1
            self._answered(resource)

    def withheld(self, resource: Resource) -> None:
        """Take in that we may not see a resource. What was read before stays, while it is served."""
        with self.wake:
            known = self._resources[resource]
            if not (known.served or known.withheld):
                self._renewed |= known.read  # that it was not served was told
                known.read = known.withheld = True
                known.missed = 0
                self._answered(resource)
                self.wake.notify_all()

    def _answered(self, resource: Resource) -> None:
        """Take in that the server was asked for a resource, and drop versions of it that are not served."""
        self._answers += 1
        self._resources[resource].asked = self._answers
        versions = [one for one in self._resources if str(one) == str(resource)]
        for one in versions:
            known = self._resources[one]
            others = [self._resources[other] for other in versions if other is not one]
            elsewhere = any(other.served and not other.missed for other in others)
            nowhere = all(other.asked > known.missed for other in others)
            told = known.read and not (known.served or known.withheld)
            # A list that is being read may say that it is served again.
            if known.missed and not (told or known.listings) and (elsewhere or nowhere or not known.items):
                self._drop(one)

    def _drop(self, resource: Resource) -> None:
        """Take in that none of a resource is there, as it is not served."""
        known = self._resources[resource]
        for uid in tuple(known.items):
            self._lose(resource, uid)
        self._resources[resource] = _Objects(read=True, asked=known.asked, missed=known.missed)
        self._renewed |= known.withheld
        self.wake.notify_all()

    def holds_any(self, resource: Resource) -> bool:
        """Return whether any object of a resource is known."""
        with self.wake:
            return bool(self._resources[resource].items)

    # --- facts to publish

    @property
    def complete(self) -> bool:
        """Return whether every resource was read once. Hold `wake`."""
        return all(known.read for known in self._resources.values())

    @property
    def renewed(self) -> bool:
        """Return whether a resource can be seen by now that could not be. Hold `wake`."""
        return self._renewed

    @property
    def waiting(self) -> int:
        """The number of facts to be sent. Hold `wake`."""
        return len(self._pending)

    def take(self, most: int) -> tuple[ClusterFact, ...]:
        """Return the next facts to tell, at most so many."""
        with self.wake:
            keys = list(islice(self._pending, most))
            return tuple(self._pending.pop(key).fact for key in keys)

    def resynced(self) -> Resynced:
        """Return all there is, in place of everything that was still to be told.

        Its revision is that which every resource was read up to: of what is newer a list that came before
        another cannot know.
        """
        with self.wake:
            self._started = True
            self._renewed = False
            self._pending.clear()
            resources = [known for known in self._resources.values() if known.served]
            items = [item for known in resources for item in known.items.values()]
            return Resynced(
                revision=min((known.revision for known in resources), default=0),
                objects=tuple(_to_list(items)),
                set_aside=tuple(item.aside for item in items if item.aside is not None),
                unreadable=frozenset(
                    KINDS[resource] for resource, known in self._resources.items() if known.withheld
                ),
            )

    # --- one object

    def _see(self, resource: Resource, item: Item, *, anew: bool = False) -> None:
        """Take in an object, unless it is known as new or newer; `anew` tells that older may be right too."""
        known = self._resources[resource]
        old = known.items.get(item.uid)
        if old is not None and item.version <= old.version and not anew:
            return
        if resource is PROVISIONER and any(p.name == item.name for p in self._items(NODE_POOL)):
            self._hide(item)
            return
        if resource is NODE_POOL and old is None:
            for other in [p for p in self._items(PROVISIONER) if p.name == item.name]:
                self._hide(other)
        self._learn(known, item)

    def _learn(self, known: _Objects, item: Item) -> None:
        old = known.items.get(item.uid)
        if item.aside is not None:
            known.items[item.uid] = replace(item, objects=old.objects if old is not None else ())
            if old is None or old.aside is None or not _says_the_same(item.aside, old.aside):
                self._put(item.uid, item.aside.kind, item.aside.key, item.aside, news=old is None)
            return
        before, told = _by_key(old), _keys(old)
        there = {key: self._newer(thing, before.get(key), old) for key, thing in _by_key(item).items()}
        known.items[item.uid] = replace(item, objects=tuple(there.values()))
        for kind, key in [key for key in before if key not in there]:
            self._tell_gone(item.uid, kind, key)
        for at, thing in there.items():
            if before.get(at) is not thing:
                self._put(item.uid, *at, ObjectSeen(object=thing), news=at not in told)

    def _newer(self, thing: ClusterObject, known: ClusterObject | None, old: Item | None) -> ClusterObject:
        """Return `known` where `thing` says nothing that anybody would want to be told."""
        mended = old is not None and old.aside is not None
        if known is None or mended or kind_of(thing) in _WRITTEN_TO or not says_the_same(thing, known):
            return thing
        return known

    def _lose(self, resource: Resource, uid: str) -> None:
        old = self._resources[resource].items.pop(uid, None)
        self._hidden.pop(uid, None)
        if old is None:
            return
        for kind, key in _keys(old):
            self._tell_gone(uid, kind, key)
        if resource is NODE_POOL:
            for other in [p for p in self._hidden.values() if p.name == old.name]:
                self._lose(PROVISIONER, other.uid)
                self._learn(self._resources[PROVISIONER], other)

    def _tell_gone(self, uid: str, kind: Kind, key: str) -> None:
        self._put(uid, kind, key, ObjectGone(kind=kind, key=key), news=False)

    # --- two pools of one name

    def _items(self, resource: Resource) -> Iterable[Item]:
        return self._resources[resource].items.values() if resource in self._resources else ()

    def _hide(self, item: Item) -> None:
        """Set a Provisioner aside that has the name of a NodePool: the owner of a claim would be unclear.

        A node class within it stays, for the claims that there are.
        """
        self._lose(PROVISIONER, item.uid)
        self._hidden[item.uid] = item
        shown = hidden(item)
        self._resources[PROVISIONER].items[item.uid] = shown
        for thing in shown.objects:
            self._put(item.uid, *_key(thing), ObjectSeen(object=thing), news=True)
        if shown.aside is not None:
            self._put(item.uid, shown.aside.kind, shown.aside.key, shown.aside, news=True)

    def _put(self, uid: str, kind: Kind, key: str, fact: ClusterFact, *, news: bool) -> None:
        if not self._started:
            return
        at = (uid, kind, key)
        waiting = self._pending.get(at)
        if waiting is None:
            self._pending[at] = _Pending(fact, news)
        elif waiting.news and isinstance(fact, ObjectGone):
            # Nobody was told that it was there.
            del self._pending[at]
        else:
            waiting.fact = fact


def _says_the_same(aside: ObjectSetAside, before: ObjectSetAside) -> bool:
    """Return whether it was published already that an object is set aside."""
    if aside.problem != before.problem or aside.kind in _WRITTEN_TO:
        return False
    return aside.partly is None or says_the_same(aside.partly, before.partly)


def _key(thing: ClusterObject) -> _Key:
    return kind_of(thing), key_of(thing)


def _by_key(item: Item | None) -> dict[_Key, ClusterObject]:
    return {_key(thing): thing for thing in item.objects} if item is not None else {}


def _keys(item: Item | None) -> dict[_Key, None]:
    """Return under which keys an object was told of."""
    keys: dict[_Key, None] = dict.fromkeys(_by_key(item))
    if item is not None and item.aside is not None:
        keys[item.aside.kind, item.aside.key] = None
    return keys


def _to_list(items: Collection[Item]) -> Iterator[ClusterObject]:
    """Yield the objects of a full list: of those set aside, only the ones without an error."""
    for item in items:
        aside = item.aside
        for thing in item.objects:
            if aside is None or _key(thing) != (aside.kind, aside.key):
                yield thing
