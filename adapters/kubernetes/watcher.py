"""The watcher of one resource: lists it, then watches it, until it is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.documents import Event, error_in, read_event, read_header
from treenail.adapters.kubernetes.errors import (
    ExpiredError,
    ForbiddenError,
    OverloadedError,
    ThrottledError,
)
from treenail.adapters.kubernetes.lister import Attended, Lister
from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.periodic_relister import PeriodicRelister
from treenail.adapters.kubernetes.resource_store import ResourceStore
from treenail.adapters.kubernetes.resources import Resource
from treenail.adapters.kubernetes.stream import Stream
from treenail.domain.model.backoff import Backoff, Retries
from treenail.domain.model.errors import NotFoundError, PortError, UnavailableError
from treenail.domain.model.runtime import Log

# A server may for a moment not know what it serves.
_MISSED_BEFORE_GONE: Final = 2
# A watch that ends sooner, having told nothing, is not all right.
_SHORT_WATCH: Final = 1.0


class Watcher:
    """Keeps what is known of one resource up to date. `run` is for a thread of its own, `relist` for another.

    `answered` hears when the server answers this one again that had no answer for a while: the others may
    be waiting for that, and `server_answers` is for them. `forbidden` hears that we may not list, each time
    that this keeps all from being told: what is `dispensable` is done without.
    """

    def __init__(  # noqa: PLR0913 (who hears what is set by name)
        self,
        resource: Resource,
        *,
        connection: Connection,
        kept: ResourceStore,
        dispensable: bool,
        relister: PeriodicRelister,
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
        self._kept = kept
        self._dispensable = dispensable
        self._relister = relister
        self._pace = pace
        self._uniform = uniform
        self._log = log
        self._answered = answered
        self._forbidden = forbidden
        self._retries = Retries(Backoff(first=pace.first_pause, longest=pace.longest_pause), uniform)
        relist = Backoff(first=pace.look_again[0], longest=pace.relist[0])
        self._relist_retries = Retries(relist, uniform)
        withheld = Backoff(first=pace.withheld[0], longest=pace.withheld[1])
        self._withheld_retries = Retries(withheld, uniform)
        # One list is read on the thread of the watch, which cannot go on without it, the other beside it.
        self._first, self._beside = (
            Lister(resource, connection=connection, kept=kept, pace=pace) for _ in range(2)
        )
        self._stopped = threading.Event()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._attended = Attended()
        # Where to go on from; "" where all is to be listed.
        self._version = ""
        self._put_back = False
        self._missed = 0
        self._troubled = False
        # Whether there was no answer last time, and when pauses may be short again though all is not well.
        self._unanswered = False
        self._anew_at = 0.0

    def run(self, *, wanted: Callable[[], bool] = lambda: True) -> None:
        """List and watch until stopped, or, where a watch is over, not `wanted` any more."""
        while not self._stopped.is_set():
            pause = self._turn()
            if not wanted():
                return
            if pause and self._wake.wait(pause):
                self._wake.clear()

    def stop(self) -> None:
        """End `run`, from another thread; it is waiting for the server, most of the time."""
        self._stopped.set()
        self._wake.set()
        for waiting in (self._first, self._beside):
            waiting.stop()
        self._attended.close()

    def relist(self) -> float:
        """Read all there is while the watch goes on. Return how long to wait before the next time."""
        try:
            _, put_back = self._beside.read()
        except NotFoundError:
            # The watch finds that out too, and sees to it.
            return self._uniform(*self._pace.relist)
        except PortError as error:
            if not self._stopped.is_set():
                self._warn("full list failed", error)
            return self._relist_retries.failed()
        self._relist_retries.succeeded()
        if put_back:
            # The watch asks for what is newer than all there is.
            self._put_back = True
            self._attended.interrupt()
        return self._uniform(*self._pace.relist)

    def server_answers(self) -> None:
        """Try at once, where this one waits for the server. Another thread tells it."""
        if self._unanswered and self._begins_anew():
            self._wake.set()

    def _turn(self) -> float:
        """List if that is due, and watch until the watch is over. Return how long to wait after that."""
        try:
            if self._put_back:
                self._put_back, self._version = False, ""
            if not self._version:
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
                if self._dispensable:
                    return self._go_without(error)
                self._forbidden(error)
            elif self._dispensable:
                # We may list but not watch: then all is listed now and then.
                self._version = ""
                return self._retries.failed()
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
            self._retries.succeeded()
            return True

    def _well(self) -> None:
        self._retries.succeeded()
        self._missed = 0
        if self._troubled:
            self._troubled = False
            self._log("watch goes on", logger="kubernetes", resource=str(self._resource))

    def _trouble(self, error: PortError, at_least: float | None = None) -> float:
        if self._stopped.is_set():
            return 0.0
        self._kept.interrupted(error)
        pause = self._retries.failed(at_least)
        if not self._troubled:
            self._troubled = True
            self._warn("watch interrupted", error, retry_seconds=round(pause, 3))
        return pause

    def _warn(self, message: str, error: PortError, **more: float) -> None:
        resource = str(self._resource)
        self._log(message, logger="kubernetes", level="warning", resource=resource, error=str(error), **more)

    def _miss(self, error: NotFoundError) -> float:
        """The server knows no such resource: if that is so twice in a row, its objects are gone."""
        self._version = ""
        self._missed += 1
        if self._missed < _MISSED_BEFORE_GONE and self._kept.holds_any():
            return self._trouble(error)
        self._kept.not_served()
        return self._uniform(*self._pace.look_again)

    def _go_without(self, error: ForbiddenError) -> float:
        """We may not see these objects: say so once, let the others begin, and ask again, ever less often."""
        self._heard_from_server()
        self._kept.withheld()
        if not self._troubled:
            self._troubled = True
            self._warn("not allowed to read", error)
        return self._withheld_retries.failed()

    # --- listing

    def _list(self) -> None:
        self._version, _ = self._first.read()
        self._missed = 0
        self._withheld_retries.succeeded()
        self._heard_from_server()
        self._relister.due(self, self._uniform(*self._pace.relist))

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
            self._path, query=query, idle_timeout=self._pace.idle, opening=self._attended.attend
        ) as stream:
            self._heard_from_server()
            self._kept.goes_on()
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
        """Take what a watch tells, to its end; return whether there was anything."""
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
                self._version = self._kept.seen(bytes(event.object))
            case "DELETED":
                header = read_header(event.object, self._asked)
                self._kept.gone(header.uid, header.version)
                self._version = header.resource_version
            case "BOOKMARK":
                header = read_header(event.object, self._asked)
                self._kept.reached(header.version)
                self._version = header.resource_version
            case "ERROR":
                raise error_in(event, self._asked)
            case _:
                raise UnavailableError(f"{self._asked}: {event.type!r} is no type of an event")
