"""Lists of all objects of one resource: streamed where the server can, else page by page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.documents import Event, error_in, pages, read_event, read_header
from treenail.adapters.kubernetes.errors import ExpiredError, ForbiddenError
from treenail.adapters.kubernetes.listing import Listing
from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.resource_store import ResourceStore
from treenail.adapters.kubernetes.resources import Resource
from treenail.adapters.kubernetes.stream import Stream
from treenail.domain.model.errors import InvalidError, UnavailableError

# A list whose pages expire again and again is asked for in one piece.
_MOST_EXPIRED_LISTS: Final = 3
_STREAMED: Final = {
    "watch": "1",
    "allowWatchBookmarks": "true",
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    # For who takes it for a watch, and never comes to an end.
    "timeoutSeconds": "600",
}


class Attended:
    """The stream that a thread waits for, so that another can end the wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: Stream | None = None
        self._closed = False

    def attend(self, stream: Stream) -> None:
        """Note what is waited for from now on."""
        with self._lock:
            self._stream = stream
            if self._closed:
                stream.close()

    def interrupt(self) -> None:
        """End the wait for what is waited for now."""
        with self._lock:
            if self._stream is not None:
                self._stream.close()

    def close(self) -> None:
        """End the wait, and each that is begun after this."""
        with self._lock:
            self._closed = True
        self.interrupt()


class _NotStreamedError(Exception):
    """The server does not say all there is in a stream."""


class Lister:
    """Reads all there is into what is kept, one object or one page at a time. For one thread.

    A streamed list (WatchList) costs the server little memory. Where the server refuses it, or takes it for a
    watch, pages are asked for, until the next list but one; where it fails, once.
    """

    def __init__(
        self, resource: Resource, *, connection: Connection, kept: ResourceStore, pace: Pace
    ) -> None:
        self._path = resource.path()
        self._asked = f"GET {self._path}"
        self._connection = connection
        self._kept = kept
        self._pace = pace
        self._attended = Attended()
        self._stream_failed = False
        self._pages_until = 0.0
        self._expired_lists = 0

    def stop(self) -> None:
        """End the reading, from another thread, and each that is begun after this."""
        self._attended.close()

    def read(self) -> tuple[str, bool]:
        """Read all; return the revision of the list, and whether the store was restored to an older state.

        Raises:
            PortError: it could not be read to its end. Then nothing of it is taken in.
        """
        failed, self._stream_failed = self._stream_failed, False
        if not failed and time.monotonic() >= self._pages_until:
            try:
                return self._read(self._stream)
            except (InvalidError, ForbiddenError, _NotStreamedError):
                self._pages_until = time.monotonic() + self._pace.relist[1]
            except UnavailableError:
                # It may be the stream that something on the way does not let through.
                self._stream_failed = True
                raise
        try:
            read = self._read(self._pages)
        except ExpiredError:
            self._expired_lists += 1
            raise
        self._expired_lists = 0
        return read

    def _read(self, how: Callable[[Listing[Any]], str]) -> tuple[str, bool]:
        listing = self._kept.begin()
        try:
            version = how(listing)
            if not version.isdecimal():
                raise UnavailableError(f"{self._asked}: the list has no resource version")
            return version, self._kept.merge(listing, int(version))
        finally:
            self._kept.abandon(listing)

    def _pages(self, listing: Listing[Any]) -> str:
        query = {} if self._expired_lists >= _MOST_EXPIRED_LISTS else {"limit": str(self._pace.page)}
        version = ""
        for page in pages(self._get, query, self._asked):
            for raw in page.items or ():
                self._kept.listed(listing, bytes(raw))
            version = page.metadata.resource_version
        return version

    def _get(self, query: Mapping[str, str]) -> bytes:
        with self._connection.stream(
            self._path, query=query, idle_timeout=self._pace.list_idle, opening=self._attended.attend
        ) as stream:
            return stream.read()

    def _stream(self, listing: Listing[Any]) -> str:
        with self._connection.stream(
            self._path, query=_STREAMED, idle_timeout=self._pace.list_idle, opening=self._attended.attend
        ) as stream:
            for line in stream:
                version = self._take(read_event(line, self._asked), listing) if line.strip() else ""
                if version:
                    # The rest of the answer is not read, so the connection cannot be reused.
                    stream.close()
                    return version
        raise UnavailableError(f"{self._asked}: the list ended early")

    def _take(self, event: Event, listing: Listing[Any]) -> str:
        """Note an object; return the revision of the list where the event says that there was all."""
        match event.type:
            case "ADDED":
                self._kept.listed(listing, bytes(event.object))
                return ""
            case "BOOKMARK":
                header = read_header(event.object, self._asked)
                if header.ends_list:
                    return header.resource_version
            case "ERROR":
                raise error_in(event, self._asked)
        # An older server takes it for a watch and goes on for ever.
        raise _NotStreamedError
