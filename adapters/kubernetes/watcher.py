"""One resource, listed and then watched, for as long as anybody wants to know."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from treenail.adapters.api.reading import Reading
from treenail.adapters.kubernetes.backoff import Backoff
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.documents import (
    Event,
    error_in,
    read_event,
    read_header,
    read_page,
)
from treenail.adapters.kubernetes.errors import (
    ExpiredError,
    ForbiddenError,
    OverloadedError,
    ThrottledError,
)
from treenail.adapters.kubernetes.items import Item, Items
from treenail.adapters.kubernetes.ledger import Ledger
from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.resources import DISPENSABLE, Resource
from treenail.adapters.kubernetes.stream import Stream
from treenail.domain.model.errors import NotFoundError, PortError, UnavailableError

# A list whose pages expire again and again is asked for in one piece.
_MOST_EXPIRED_LISTS: Final = 3
# A server may for a moment not know what it serves.
_MISSED_BEFORE_GONE: Final = 2
# A watch that ends sooner, having told nothing, is not all right.
_SHORT_WATCH: Final = 1.0


class Log(Protocol):
    """Writes a log line."""

    def __call__(self, message: str, /, **fields: object) -> None: ...


class Watcher:
    """Keeps the ledger's shelf of one resource up to date. `run` is for a thread of its own.

    `answered` hears when the server answers this one again that had no answer for a while: the others may
    be waiting for that, and `server_answers` is for them. `forbidden` hears that we may not list, each time
    that this keeps all from being told.
    """

    def __init__(  # noqa: PLR0913 (who hears what is set by name)
        self,
        resource: Resource,
        *,
        connection: Connection,
        ledger: Ledger,
        reading: Reading,
        pace: Pace,
        uniform: Callable[[float, float], float],
        log: Log,
        answered: Callable[[], None],
        forbidden: Callable[[ForbiddenError], None],
    ) -> None:
        self._resource = resource
        self._path = resource.path()
        self._asked = f"GET {self._path}"
        self._connection = connection
        self._ledger = ledger
        self._items = Items(resource, reading)
        self._pace = pace
        self._uniform = uniform
        self._log = log
        self._answered = answered
        self._forbidden = forbidden
        self._backoff = Backoff(first=pace.first_pause, longest=pace.longest_pause, uniform=uniform)
        self._stopped = threading.Event()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._stream: Stream | None = None
        # Where to go on from; "" where all is to be listed.
        self._version = ""
        self._relist_at = 0.0
        self._missed = 0
        self._expired_lists = 0
        self._troubled = False
        # Whether there was no answer last time, and when pauses may be short again though all is not well.
        self._unanswered = False
        self._anew_at = 0.0

    def run(self) -> None:
        """List and watch until stopped."""
        while not self._stopped.is_set():
            pause = self._turn()
            if pause and self._wake.wait(pause):
                self._wake.clear()

    def stop(self) -> None:
        """End `run`, from another thread; it is waiting for the server, most of the time."""
        self._stopped.set()
        self._wake.set()
        with self._lock:
            if self._stream is not None:
                self._stream.close()

    def server_answers(self) -> None:
        """Try at once, where this one waits for the server. Another thread tells it."""
        if self._unanswered and self._begins_anew():
            self._wake.set()

    def _turn(self) -> float:
        """List if that is due, and watch until the watch is over. Return how long to wait after that."""
        try:
            if not self._version or time.monotonic() >= self._relist_at:
                self._list()
            return self._watch()
        except NotFoundError as error:
            return self._miss(error)
        except ExpiredError as error:
            self._version = ""
            self._heard_from_server()
            return self._trouble(error)
        except ForbiddenError as error:
            if not self._version:
                if self._resource in DISPENSABLE:
                    return self._go_without(error)
                self._forbidden(error)
            self._unanswered = True
            return self._trouble(error)
        except (OverloadedError, ThrottledError) as error:
            self._unanswered = error.retry_after is None
            return self._trouble(error, error.retry_after)
        except PortError as error:
            self._unanswered = True
            return self._trouble(error)

    # --- how it goes

    def _heard_from_server(self) -> None:
        if self._unanswered:
            self._unanswered = False
            self._begins_anew()
            self._answered()

    def _begins_anew(self) -> bool:
        """Let the pauses be short again, where they were not just before: the troubles may not be over."""
        with self._lock:
            now = time.monotonic()
            if now < self._anew_at:
                return False
            self._anew_at = now + self._pace.longest_pause
            self._backoff.reset()
            return True

    def _well(self) -> None:
        self._backoff.reset()
        self._missed = 0
        if self._troubled:
            self._troubled = False
            self._log("watch goes on", logger="kubernetes", resource=str(self._resource))

    def _trouble(self, error: PortError, at_least: float | None = None) -> float:
        if self._stopped.is_set():
            return 0.0
        pause = self._backoff.pause(at_least)
        if not self._troubled:
            self._troubled = True
            self._log(
                "watch interrupted",
                logger="kubernetes",
                level="warning",
                resource=str(self._resource),
                error=str(error),
                retry_seconds=round(pause, 3),
            )
        return pause

    def _miss(self, error: NotFoundError) -> float:
        """The server knows no such resource: if that is so twice in a row, its objects are gone."""
        self._version = ""
        self._missed += 1
        if self._missed < _MISSED_BEFORE_GONE and self._ledger.holds_any(self._resource):
            return self._trouble(error)
        self._ledger.not_served(self._resource)
        return self._uniform(*self._pace.look_again)

    def _go_without(self, error: ForbiddenError) -> float:
        """We may not see these objects: say so once, let the others begin, and look again now and then."""
        self._heard_from_server()
        self._ledger.withheld(self._resource)
        if not self._troubled:
            self._troubled = True
            self._log(
                "not allowed to read",
                logger="kubernetes",
                level="warning",
                resource=str(self._resource),
                error=str(error),
            )
        return self._uniform(*self._pace.look_again)

    # --- listing

    def _list(self) -> None:
        try:
            version, items = self._pages()
        except ExpiredError:
            self._expired_lists += 1
            raise
        self._expired_lists = 0
        self._missed = 0
        self._heard_from_server()
        self._version = version
        self._relist_at = time.monotonic() + self._uniform(*self._pace.relist)
        self._ledger.listed(self._resource, items, int(version))

    def _pages(self) -> tuple[str, list[Item]]:
        """Return all objects, as of one resource version."""
        query = {} if self._expired_lists >= _MOST_EXPIRED_LISTS else {"limit": str(self._pace.page)}
        items: list[Item] = []
        while True:
            page = read_page(self._get(query), self._asked)
            items.extend(self._items.read(bytes(raw)) for raw in page.items or ())
            if not page.metadata.rest:
                break
            query = {**query, "continue": page.metadata.rest}
        if not page.metadata.resource_version.isdecimal():
            raise UnavailableError(f"{self._asked}: the list has no resource version")
        return page.metadata.resource_version, items

    def _get(self, query: dict[str, str]) -> bytes:
        with self._connection.stream(
            self._path, query=query, idle_timeout=self._pace.list_idle, opening=self._attend
        ) as stream:
            return stream.read()

    def _attend(self, stream: Stream) -> None:
        """Note what this thread waits for, so that `stop` can end it."""
        with self._lock:
            self._stream = stream
            if self._stopped.is_set():
                stream.close()

    # --- watching

    def _watch(self) -> float:
        seconds = self._uniform(*self._pace.watch)
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(max(1, round(seconds))),
        }
        with self._connection.stream(
            self._path, query=query, idle_timeout=self._pace.idle, opening=self._attend
        ) as stream:
            self._heard_from_server()
            since = time.monotonic()
            try:
                heard = self._read(stream)
            finally:
                # However it ends, for so long it went well.
                long = time.monotonic() - since >= _SHORT_WATCH
                if long:
                    self._well()
        if heard or long:
            return 0.0
        return self._trouble(UnavailableError(f"{self._asked}: the watch ended at once"))

    def _read(self, stream: Stream) -> bool:
        """Take what a watch tells, to its end; tell whether there was anything."""
        heard = False
        for line in stream:
            if not line.strip():
                continue
            self._take(read_event(line, self._asked))
            if not heard:
                heard = True
                self._well()
            if self._stopped.is_set():
                break
        return heard

    def _take(self, event: Event) -> None:
        match event.type:
            case "ADDED" | "MODIFIED":
                item = self._items.read(bytes(event.object))
                self._ledger.seen(self._resource, item)
                self._version = str(item.version)
            case "DELETED":
                header = read_header(event.object, self._asked)
                self._ledger.gone(self._resource, header.uid, header.version)
                self._version = header.resource_version
            case "BOOKMARK":
                header = read_header(event.object, self._asked)
                self._ledger.reached(self._resource, header.version)
                self._version = header.resource_version
            case "ERROR":
                raise error_in(event, self._asked)
            case _:
                raise UnavailableError(f"{self._asked}: {event.type!r} is no type of an event")
