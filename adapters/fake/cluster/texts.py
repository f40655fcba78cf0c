"""Objects given to clients as JSON text, read by the decoder for the real API server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar, cast

import msgspec

from treenail.adapters.api.items import Item, Items
from treenail.adapters.api.reading import Reading
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.api.written.parts import Tree
from treenail.domain.cluster.cluster_facts import ClusterFact, ClusterObject, ObjectSeen, kind_of

T = TypeVar("T", bound=ApiObject)
# How an object is written for clients; None where they are told of it as it is.
Writer: TypeAlias = Callable[[ApiObject], Tree | None]


class Texts:
    """The objects as clients understand them. Those that `writer` writes are read again from that text.

    The cluster itself goes on with the objects as they are.
    """

    def __init__(self) -> None:
        self.writer: Writer | None = None
        self._reading = Reading()
        self._items: dict[tuple[str, str], Items] = {}

    def fact(self, thing: ClusterObject) -> ClusterFact:
        """Return what the watch tells of an object."""
        item = self._read(cast("ApiObject", thing))
        if item is None:
            return ObjectSeen(object=thing)
        return item.aside if item.aside is not None else ObjectSeen(object=item.objects[0])

    def known(self, thing: T) -> T:
        """Return what a client that asks for an object makes of it."""
        item = self._read(thing)
        return cast("T", item.known[0]) if item is not None and item.known else thing

    def _read(self, thing: ApiObject) -> Item | None:
        tree = self.writer(thing) if self.writer is not None else None
        if tree is None:
            return None
        named = tree["apiVersion"], tree["kind"]
        if named not in self._items:
            self._items[named] = Items(*named, kind_of(cast("ClusterObject", thing)), self._reading)
        return self._items[named].read(msgspec.json.encode(tree))
