"""The reader of the API server: everything that is watched, and a few queries."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from treenail.adapters.api.items import Item
from treenail.adapters.api.reading import Reading
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.documents import pages
from treenail.adapters.kubernetes.errors import ExpiredError, ForbiddenError
from treenail.adapters.kubernetes.fact_publisher import FactPublisher
from treenail.adapters.kubernetes.items import items_of
from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.periodic_relister import PeriodicRelister
from treenail.adapters.kubernetes.resource_store import ResourceStore, WatchedResource
from treenail.adapters.kubernetes.resources import (
    CAPACITY_BUFFER,
    DISPENSABLE,
    JOB,
    MACHINE,
    NODE,
    NODE_CLAIM,
    VOLUME_ATTACHMENT,
    WATCHED,
    Resource,
)
from treenail.adapters.kubernetes.volume_attachments import VolumeAttachments
from treenail.adapters.kubernetes.watch_store import WatchStore
from treenail.adapters.kubernetes.watcher import Watcher
from treenail.domain.cluster.cluster_facts import ClusterFact
from treenail.domain.model.errors import InvalidError, NotFoundError, UnavailableError
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.runtime import Log, Ref

T = TypeVar("T", Node, NodeClaim)

_CLAIMS: Final = (NODE_CLAIM, MACHINE)
_OLDER_NODE_CLAIM: Final = replace(NODE_CLAIM, api_version="karpenter.sh/v1beta1")


@dataclass(frozen=True, slots=True)
class _Watch:
    """The running watch of everything: its store and threads. It runs whether or not there is a listener."""

    store: WatchStore
    relister: PeriodicRelister
    watchers: tuple[Watcher, ...]
    threads: tuple[threading.Thread, ...]


class KubernetesReader:
    """The `ClusterReader` of a real cluster: a thread for each resource, and one that tells.

    `congested` tells that the listener has enough to do; `failed` gets unexpected exceptions,
    `forbidden` of each list that is refused us without which nothing is told. It is asked for again: whoever
    runs the cluster may allow it meanwhile. `uniform` is the dice. All are called from all threads.
    What is `watched` is told of in that order.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        congested: Callable[[], bool],
        failed: Callable[[BaseException], None],
        log: Log,
        uniform: Callable[[float, float], float] = random.uniform,
        pace: Pace | None = None,
        forbidden: Callable[[ForbiddenError], None] = lambda _: None,
        watched: Sequence[Resource] = WATCHED,
    ) -> None:
        self._connection = connection
        self._congested = congested
        self._failed = failed
        self._log = log
        self._uniform = uniform
        self._pace = pace or Pace()
        self._forbidden = forbidden
        self._watched = tuple(watched)
        self._watching: _Watch | None = None
        self._telling: tuple[FactPublisher, threading.Thread] | None = None
        self._attachments = VolumeAttachments(
            pace=self._pace,
            watch=self._watch_attachments,
            start=self._begin_drain,
        )
        # Watches the attachments while something drains.
        self._drain: threading.Thread | None = None

    # --- watching

    def warm(self) -> None:
        """Read and watch everything from now on, so that a later listener gets it at once."""
        self._warmed()

    def _warmed(self) -> _Watch:
        if self._watching is None:
            self._watching = self._watch()
            for thread in self._watching.threads:
                thread.start()
        return self._watching

    @property
    def known(self) -> bool:
        """True if all there is was read once."""
        watching = self._watching
        if watching is None:
            return False
        with watching.store.wake:
            return watching.store.complete

    def feed(self, to: Ref[ClusterFact]) -> None:
        """From now on tell `to`, all there is first.

        Raises:
            RuntimeError: somebody is told already.
        """
        if self._telling is not None:
            raise RuntimeError("the cluster is watched already: stop that watch first")
        store = self._warmed().store
        publisher = FactPublisher(
            store, to, pace=self._pace, uniform=self._uniform, congested=self._congested
        )
        thread = self._thread("tell", publisher.run)
        self._telling = publisher, thread
        thread.start()

    def stop(self) -> None:
        """Publish no more facts, and read none. `feed` may be called again after it."""
        self._attachments.stop()
        threads = [self._drain] if self._drain is not None else []
        watching, self._watching = self._watching, None
        telling, self._telling = self._telling, None
        if telling is not None:
            telling[0].stop()
            threads.append(telling[1])
        if watching is not None:
            watching.relister.stop()
            for watcher in watching.watchers:
                watcher.stop()
            threads += watching.threads
        until = time.monotonic() + self._pace.stop
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _watch(self) -> _Watch:
        store = WatchStore(self._watched)
        watched = self._watched
        reading = Reading(templates=CAPACITY_BUFFER in watched, for_pods_only=JOB not in watched)
        relister = PeriodicRelister()
        watchers: list[Watcher] = []

        def answered() -> None:
            for watcher in watchers:
                watcher.server_answers()

        watchers += (
            self._watcher(
                resource, WatchedResource(resource, store, items_of(resource, reading)), relister, answered
            )
            for resource in self._watched
        )
        threads = [self._thread("relist", relister.run)]
        threads += [self._thread(r.plural, w.run) for r, w in zip(self._watched, watchers, strict=True)]
        return _Watch(store, relister, tuple(watchers), tuple(threads))

    def _begin_drain(self, run: Callable[[], None]) -> None:
        thread = self._thread("drain", run)
        thread.start()
        self._drain = thread

    def _watcher(
        self,
        resource: Resource,
        kept: ResourceStore,
        relister: PeriodicRelister,
        answered: Callable[[], None],
    ) -> Watcher:
        return Watcher(
            resource,
            connection=self._connection,
            kept=kept,
            dispensable=resource in DISPENSABLE,
            relister=relister,
            pace=self._pace,
            uniform=self._uniform,
            log=self._log,
            answered=answered,
            forbidden=self._forbidden,
        )

    def _watch_attachments(self, kept: ResourceStore) -> Watcher:
        """Return a watcher for as long as somebody asks, which is seen at the end of each watch."""
        return Watcher(
            VOLUME_ATTACHMENT,
            connection=self._connection,
            kept=kept,
            dispensable=True,
            # It is not kept for long enough.
            relister=PeriodicRelister(),
            pace=replace(self._pace, watch=(self._pace.linger / 2, self._pace.linger)),
            uniform=self._uniform,
            log=self._log,
            answered=lambda: None,
            forbidden=lambda _: None,
        )

    def _thread(self, name: str, run: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                run()
            except BaseException as error:  # noqa: BLE001 - a defect ends the process, whichever it is
                self._failed(error)

        return threading.Thread(target=guarded, name=f"kubernetes-{name}", daemon=True)

    # --- asking

    def get_claim(self, name: str) -> NodeClaim:
        """Return a claim as it is now, of whichever generation.

        Raises:
            InvalidError: it is there, but cannot be understood.
        """
        try:
            return self._get_claim(NODE_CLAIM, name)
        except NotFoundError as error:
            try:
                return self._get_claim(MACHINE, name)
            except NotFoundError:
                raise error from None

    def list_claims(self) -> tuple[NodeClaim, ...]:
        """Return all claims there are now, by name.

        Of a claim that cannot be understood, the readable parts are returned, so that its instance is not
        taken for garbage.

        Raises:
            UnavailableError: neither kind of claim is served, or NodeClaims only in an older version.
                That says nothing of what was claimed.
        """
        listed = [(resource, self._all(resource)) for resource in _CLAIMS]
        if all(items is None for _, items in listed):
            # No definitions, or the wrong cluster: "none" would make all instances garbage.
            kinds = " and ".join(resource.plural for resource in _CLAIMS)
            raise UnavailableError(f"{kinds} are not served: are the definitions of deploy/crds applied?")
        if dict(listed)[NODE_CLAIM] is None and self._served(_OLDER_NODE_CLAIM):
            # Definitions of Karpenter 0.3x were applied over ours: the claims are there all the same.
            raise UnavailableError(
                f"{NODE_CLAIM} are not served as {NODE_CLAIM.api_version}: apply deploy/crds"
            )
        found = [claim for _, items in listed for item in items or () for claim in _only(NodeClaim, item)]
        return tuple(sorted(found, key=lambda c: c.name))

    def list_nodes(self) -> tuple[Node, ...]:
        """Return all nodes by name, each with the fields that can be read."""
        found = [node for item in self._all(NODE) or () for node in _only(Node, item)]
        return tuple(sorted(found, key=lambda n: n.name))

    def attached_volumes(self, node: str) -> frozenset[str]:
        """Return the persistent volumes attached to a node now; none where we may not see them."""
        return self._attachments.at(node)

    def _get_claim(self, resource: Resource, name: str) -> NodeClaim:
        body = self._connection.request("GET", resource.path(name))
        item = items_of(resource, Reading()).read(body)
        if item.aside is not None:
            raise InvalidError(f"{item.aside.about}: {item.aside.problem}")
        [claim] = _only(NodeClaim, item)
        return claim

    def _all(self, resource: Resource) -> list[Item] | None:
        """Return all there are; None where the resource is not served."""
        items = items_of(resource, Reading())
        try:
            return [items.read(content) for page in self._pages(resource) for content in page]
        except NotFoundError:
            return None

    def _served(self, resource: Resource) -> bool:
        try:
            next(self._pages(resource))
        except NotFoundError:
            return False
        return True

    def _pages(self, resource: Resource) -> Iterator[list[bytes]]:
        """Yield the objects of a list as they are written, page by page."""
        path = resource.path()
        limit = {"limit": str(self._pace.page)}
        try:
            for page in pages(lambda q: self._connection.request("GET", path, query=q), limit, f"GET {path}"):
                yield [bytes(raw) for raw in page.items or ()]
        except ExpiredError as error:
            raise UnavailableError(str(error)) from None


def _only(kind: type[T], item: Item) -> list[T]:
    return [thing for thing in item.known if isinstance(thing, kind)]
