"""The store of one resource: what its list and its watch have told."""

from __future__ import annotations

from typing import Any, Protocol

from treenail.adapters.api.items import Item, Items
from treenail.adapters.kubernetes.documents import read_header
from treenail.adapters.kubernetes.listing import Listing
from treenail.adapters.kubernetes.resources import Resource
from treenail.adapters.kubernetes.watch_store import WatchStore
from treenail.domain.model.errors import PortError


class ResourceStore(Protocol):
    """The objects of one resource. A list may be read while a watch goes on, on another thread."""

    def begin(self) -> Listing[Any]:
        """Note that a list is asked for now, and return what its objects are to be noted in."""
        ...

    def listed(self, listing: Listing[Any], content: bytes) -> None:
        """Note an object of a list; UnavailableError where it does not say which it is."""

    def merge(self, listing: Listing[Any], revision: int) -> bool:
        """Take in a list read to its end. Return whether the store was put back to an older state."""
        ...

    def abandon(self, listing: Listing[Any]) -> None:
        """Note that a list will not be read to its end."""

    def seen(self, content: bytes) -> str:
        """Take in an object that is new or has changed, and return its resource version."""
        ...

    def gone(self, uid: str, revision: int) -> None:
        """Take in that an object was deleted."""

    def reached(self, revision: int) -> None:
        """Take in that nothing else happened up to `revision`."""

    def not_served(self) -> None:
        """Take in that the server knows no such resource (any more)."""

    def withheld(self) -> None:
        """Take in that we may not see the resource."""

    def holds_any(self) -> bool:
        """Return whether any object is known."""
        ...

    def interrupted(self, error: PortError) -> None:
        """Take in that the server does not answer: what is known may be old."""

    def goes_on(self) -> None:
        """Take in that the server tells what is new."""


class WatchedResource:
    """One resource of the store."""

    def __init__(self, resource: Resource, store: WatchStore, items: Items) -> None:
        self._resource = resource
        self._asked = f"GET {resource.path()}"
        self._store = store
        self._items = items

    def begin(self) -> Listing[Item]:
        return self._store.begin(self._resource)

    def listed(self, listing: Listing[Item], content: bytes) -> None:
        """Note an object, which is read only where it is not known as it is: mostly it is.

        One of which nothing is to be told is as if it were not there: old ReplicaSets are many.
        """
        header = read_header(content, self._asked)
        if self._store.holds(self._resource, header.uid, header.version):
            listing.there.add(header.uid)
        elif not (item := self._items.read(content)).idle:
            listing.add(item)

    def merge(self, listing: Listing[Item], revision: int) -> bool:
        return self._store.merge(self._resource, listing, revision)

    def abandon(self, listing: Listing[Item]) -> None:
        self._store.abandon(self._resource, listing)

    def seen(self, content: bytes) -> str:
        item = self._items.read(content)
        self._store.seen(self._resource, item)
        return str(item.version)

    def gone(self, uid: str, revision: int) -> None:
        self._store.gone(self._resource, uid, revision)

    def reached(self, revision: int) -> None:
        self._store.reached(self._resource, revision)

    def not_served(self) -> None:
        self._store.not_served(self._resource)

    def withheld(self) -> None:
        self._store.withheld(self._resource)

    def holds_any(self) -> bool:
        return self._store.holds_any(self._resource)

    def interrupted(self, error: PortError) -> None:
        """Keep all that was read: it counts until something newer is read."""

    def goes_on(self) -> None:
        """Do nothing: new objects are taken in as they come."""
