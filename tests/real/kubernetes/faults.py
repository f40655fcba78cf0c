"""What goes wrong between a client and the API server, as a test says it."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs, urlsplit

from treenail.adapters.kubernetes.resources import RESOURCES

_REASONS: Final = {
    429: "TooManyRequests",
    410: "Expired",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_PLURALS: Final = frozenset(resource.plural for resource in RESOURCES.values())


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it was made. `at` is on the monotonic clock, in seconds."""

    at: float
    method: str
    target: str

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def is_watch(self) -> bool:
        return self.method == "GET" and "watch" in self._query and not self._is_streamed_list

    @property
    def is_list(self) -> bool:
        """Whether it asks for all objects of a resource; the further pages of a list are not counted."""
        if self._is_streamed_list:
            return True
        if self.method != "GET" or {"watch", "continue"} & self._query.keys():
            return False
        return self.path.rpartition("/")[2] in _PLURALS

    @property
    def is_write(self) -> bool:
        return self.method not in ("GET", "HEAD")

    @property
    def _is_streamed_list(self) -> bool:
        """Whether it is a watch that says all there is first, and is read no further."""
        return "sendInitialEvents" in self._query

    @property
    def _query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query)


def _all(_: Asked) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens to a share of the requests that are `of` a kind.

    They are answered with an error of the API server's making, after they were `carried_out` or instead
    of that. A watch that is `told` hears of it within a watch that began well, as of a revision that is
    no more.
    """

    status: int
    of: Callable[[Asked], bool] = _all
    share: float = 1.0
    retry_after: int | None = None
    carried_out: bool = False
    told: bool = False

    def answer(self) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body it is answered with."""
        headers = {"Content-Type": "application/json"}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        if self.told:
            event = {"type": "ERROR", "object": self._document()}
            return headers, json.dumps(event).encode() + b"\n"
        return headers, json.dumps(self._document()).encode()

    def _document(self) -> dict[str, object]:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"a fault of the test: {HTTPStatus(self.status).phrase}",
            "reason": _REASONS[self.status],
            "code": self.status,
        }


@dataclass(slots=True)
class Faults:
    """The faults in force; the first that hits a request counts. Threads may share it."""

    _dice: random.Random = field(default_factory=lambda: random.Random(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _there: list[Fault] = field(default_factory=list)

    @contextmanager
    def within(self, fault: Fault) -> Iterator[None]:
        """Have a fault meanwhile."""
        with self._lock:
            self._there.append(fault)
        try:
            yield
        finally:
            with self._lock:
                self._there.remove(fault)

    def hits(self, asked: Asked) -> Fault | None:
        """Return what happens to a request, None where it just passes."""
        with self._lock:
            return next((f for f in self._there if f.of(asked) and self._dice.random() < f.share), None)
