"""Attached volumes by node, watched while anybody asks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from treenail.adapters.kubernetes.documents import read_header
from treenail.adapters.kubernetes.listing import Listing
from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.resource_store import ResourceStore
from treenail.adapters.kubernetes.resources import VOLUME_ATTACHMENT
from treenail.adapters.kubernetes.watcher import Watcher
from treenail.domain.model.errors import PortError, UnavailableError


class _Source(msgspec.Struct, rename="camel"):
    persistent_volume_name: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str
    source: _Source


class _VolumeAttachment(msgspec.Struct):
    spec: _Spec


_DECODER: Final = msgspec.json.Decoder(_VolumeAttachment)
# How long who asks first waits for an answer, in seconds.
_PATIENCE: Final = 5.0
_ASKED: Final = f"GET {VOLUME_ATTACHMENT.path()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attachment:
    """A volume at a node; `problem` is why that is not to be understood, "" where it is."""

    uid: str
    version: int
    node: str = ""
    volume: str = ""
    problem: str = ""


class _Attachments:
    """All attachments, as one watcher keeps them, which reads no list beside its watch."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._known: dict[str, _Attachment] = {}
        self._read = False
        self._trouble: PortError | None = None

    def at(self, node: str, *, seconds: float) -> frozenset[str]:
        """Return the volumes attached to a node; wait so long for them to be read first.

        Raises:
            UnavailableError: the server does not answer, or what it answers is not to be understood.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._read or self._trouble is not None, seconds)
            if self._trouble is not None or not self._read:
                raise UnavailableError(str(self._trouble or f"{_ASKED}: not answered yet"))
            problem = next((known.problem for known in self._known.values() if known.problem), "")
            if problem:
                raise UnavailableError(f"an attachment of a volume cannot be read: {problem}")
            return frozenset(known.volume for known in self._known.values() if known.node == node)

    # --- for the watcher

    def begin(self) -> Listing[_Attachment]:
        return Listing(since=0)

    def listed(self, listing: Listing[_Attachment], content: bytes) -> None:
        listing.add(_attachment(content))

    def merge(self, listing: Listing[_Attachment], revision: int) -> bool:
        del revision  # nothing was told meanwhile
        with self._changed:
            self._known = {found.uid: found for found in listing.found()}
            self._known_now()
        return False

    def abandon(self, listing: Listing[_Attachment]) -> None:
        """Nothing is kept of it."""

    def seen(self, content: bytes) -> str:
        attachment = _attachment(content)
        with self._changed:
            self._known[attachment.uid] = attachment
        return str(attachment.version)

    def gone(self, uid: str, revision: int) -> None:
        del revision
        with self._changed:
            self._known.pop(uid, None)

    def reached(self, revision: int) -> None:
        """Do nothing: the revision does not matter here."""

    def not_served(self) -> None:
        with self._changed:
            self._known = {}
            self._known_now()

    def withheld(self) -> None:
        self.not_served()

    def holds_any(self) -> bool:
        with self._changed:
            return bool(self._known)

    def interrupted(self, error: PortError) -> None:
        with self._changed:
            self._trouble = error
            self._changed.notify_all()

    def goes_on(self) -> None:
        with self._changed:
            self._trouble = None

    def _known_now(self) -> None:
        self._read, self._trouble = True, None
        self._changed.notify_all()


class VolumeAttachments:
    """Watches attachments only while they are asked for, and for a while after.

    So the server hears as much of us whether one node drains or a hundred. `watch` makes a watcher, and
    `start` has it run on a thread of its own. Any thread may ask.
    """

    def __init__(
        self,
        *,
        pace: Pace,
        watch: Callable[[ResourceStore], Watcher],
        start: Callable[[Callable[[], None]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pace = pace
        self._watch = watch
        self._start = start
        self._clock = clock
        self._lock = threading.Lock()
        self._current: tuple[_Attachments, Watcher] | None = None
        self._asked_at = 0.0
        self._began_at = 0.0

    def at(self, node: str) -> frozenset[str]:
        """Return the persistent volumes attached to a node; none where we may not see them.

        Raises:
            UnavailableError: the server does not answer, or what it answers is not to be understood.
        """
        with self._lock:
            self._asked_at = self._clock()
            attachments, _ = self._current or self._begin()
        return attachments.at(node, seconds=_PATIENCE)

    def stop(self) -> None:
        """Watch no more, until somebody asks again."""
        with self._lock:
            current, self._current = self._current, None
        if current is not None:
            current[1].stop()

    def _begin(self) -> tuple[_Attachments, Watcher]:
        attachments = _Attachments()
        watcher = self._watch(attachments)
        self._current = current = attachments, watcher
        self._began_at = self._asked_at
        self._start(lambda: watcher.run(wanted=lambda: self._wanted(watcher)))
        return current

    def _wanted(self, watcher: Watcher) -> bool:
        """Return whether a watch is to go on; one that is not is forgotten, and the next reads all anew."""
        with self._lock:
            if self._current is None or self._current[1] is not watcher:
                return False
            now = self._clock()
            if now < self._asked_at + self._pace.linger and now < self._began_at + self._pace.relist[0]:
                return True
            self._current = None
            return False


def _attachment(content: bytes) -> _Attachment:
    header = read_header(content, _ASKED)
    try:
        spec = _DECODER.decode(content).spec
    except msgspec.DecodeError as error:
        return _Attachment(uid=header.uid, version=header.version, problem=str(error))
    volume = spec.source.persistent_volume_name or ""
    # One that is within a pod's own description has no name, and nobody waits for it.
    node = spec.node_name if volume else ""
    return _Attachment(uid=header.uid, version=header.version, node=node, volume=volume)
