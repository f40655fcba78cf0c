"""Writes of events, which people read beside the objects they are about."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import sleep
from typing import Final, TypeVar

from cachetools import LRUCache

from treenail.adapters.api.written.events import event_manifest
from treenail.adapters.api.written.parts import Tree, time
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.rate_limit import RateLimit
from treenail.adapters.kubernetes.resources import EVENT, RESOURCES
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.errors import AlreadyExistsError, NotFoundError
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.rate_limits import Limit, TokenBucket
from treenail.domain.model.runtime import Clock

K = TypeVar("K", bound=Hashable)

# Equal events within this time are one that is counted.
_COUNTED_WITHIN: Final = timedelta(minutes=10)
_REMEMBERED: Final = 4096

# About one object: what the official Go client allows, and with it Karpenter and every part of Kubernetes.
_OF_OBJECT: Final = Limit(1 / 300, 25)
# Of one kind of good news, about all objects together: what Karpenter allows for nominations.
_OF_NEWS: Final = Limit(5, 10)

# All together: what is beyond waits, and is counted or dropped where it waits.
_QPS: Final = 50.0
_BURST: Final = 100
_WAIT_SECONDS: Final = 30.0

# What events.k8s.io/v1, which shows the same objects, takes as a note; in bytes.
_LONGEST_MESSAGE: Final = 1024
_CUT: Final = " ..."
_LONGEST_NAME: Final = 253


def new_event(event: ClusterEvent, at: datetime, count: int = 1) -> Tree:
    """Return the v1 Event to create, with its count so far.

    Of core v1, not events.k8s.io/v1: they are two views of one object, but only this one may be counted
    without an instance and an action, which would say nothing here. Its name is made from its time and
    content, so that no other event has it.
    """
    message = _cut(event.message)
    tree = event_manifest(replace(event, message=message), first=at, last=at, count=count)
    digest = tree["metadata"]["name"].rpartition(".")[2]
    text = f"{digest}{event.message}".encode()
    unique = f".{int(at.timestamp() * 1_000_000):x}{hashlib.blake2b(text, digest_size=4).hexdigest()}"
    about = event.about.name[: _LONGEST_NAME - len(unique)].rstrip(".-")
    return {**tree, "metadata": {**tree["metadata"], "name": about + unique}}


def recount(count: int, at: datetime) -> Tree:
    """Return the patch of an event that came again."""
    return {"count": count, "lastTimestamp": time(at)}


def _cut(message: str) -> str:
    if len(message.encode()) <= _LONGEST_MESSAGE:
        return message
    return message.encode()[: _LONGEST_MESSAGE - len(_CUT)].decode(errors="ignore") + _CUT


@dataclass(slots=True)
class _Published:
    """An event that was published: where it is kept, and how often it came."""

    path: str
    count: int
    last_at: datetime


class EventWrites:
    """Publishes events: one request each, unless there were too many.

    `pause` waits so many seconds for the limit of all events.
    """

    def __init__(self, calls: ApiCalls, *, clock: Clock, pause: Callable[[float], None] = sleep) -> None:
        self._calls = calls
        self._clock = clock
        self._all = RateLimit(qps=_QPS, burst=_BURST, clock=clock.monotonic, pause=pause)
        self._published: LRUCache[ClusterEvent, _Published] = LRUCache(_REMEMBERED)
        self._of_object: LRUCache[ObjectRef, TokenBucket] = LRUCache(_REMEMBERED)
        self._of_news: LRUCache[str, TokenBucket] = LRUCache(_REMEMBERED)
        self._lock = threading.Lock()

    def publish(self, event: ClusterEvent, count: int = 1) -> None:
        """Publish an event, or count it. Beyond the limits it is dropped, or counted with the next."""
        now = self._clock.now()
        with self._lock:
            known = self._published.get(event)
            if known is not None and now - known.last_at > _COUNTED_WITHIN:
                known = None
            if known is not None:
                known.count += count
                known.last_at = now
            if not self._permitted(event, again=known is not None):
                return
        self._all.take(within=_WAIT_SECONDS)
        if known is None or not self._recounted(known):
            self._publish(event, count, now)

    def _permitted(self, event: ClusterEvent, *, again: bool) -> bool:
        now = self._clock.monotonic()
        of_object = _bucket(self._of_object, event.about, _OF_OBJECT, now)
        if event.warning or again:
            return of_object.try_take(now)
        of_news = _bucket(self._of_news, event.reason, _OF_NEWS, now)
        return of_news.try_take(now) and of_object.try_take(now)

    def _recounted(self, known: _Published) -> bool:
        """Write how often an event came; False where it is no longer kept."""
        try:
            # Of the server's own kinds; nothing in it is a list, so that any patch would do.
            self._calls.merge(known.path, recount(known.count, known.last_at))
        except NotFoundError:
            return False
        return True

    def _publish(self, event: ClusterEvent, count: int, now: datetime) -> None:
        tree = new_event(replace(event, about=self._identified(event.about)), now, count)
        namespace = tree["metadata"]["namespace"]
        try:
            self._calls.create(EVENT.path(namespace=namespace), tree)
        except AlreadyExistsError:
            return
        path = EVENT.path(tree["metadata"]["name"], namespace)
        with self._lock:
            self._published[event] = _Published(path, count, now)

    def _identified(self, about: ObjectRef) -> ObjectRef:
        """Return the reference with a uid: without one `kubectl describe` does not show the event."""
        resource = RESOURCES.get(about.kind)
        if about.uid or resource is None:
            return about
        try:
            body = self._calls.read(resource.path(about.name, about.namespace or "default"))
        except NotFoundError:
            return about
        return replace(about, uid=Stored.of(resource, body).metadata.uid)


def _bucket(buckets: LRUCache[K, TokenBucket], key: K, limit: Limit, now: float) -> TokenBucket:
    found = buckets.get(key)
    if found is None:
        found = buckets[key] = TokenBucket(limit, now)
    return found
