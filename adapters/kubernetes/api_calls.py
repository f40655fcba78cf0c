"""Write calls: JSON bodies, kinds of patches, preconditions."""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec

from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.errors import ThrottledError
from treenail.domain.model.errors import TooManyRequestsError, UnavailableError

_JSON: Final = "application/json"
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"


class Sender(Protocol):
    """The sender of requests; `Connection` is one."""

    def request(
        self, method: str, path: str, *, body: bytes | None = None, content_type: str = _JSON
    ) -> bytes:
        """Return the body of the answer, or raise the PortError that fits."""
        ...


class ApiCalls:
    """Single requests to the API server, each answered by an object's JSON.

    Raises beside what the API server says: UnavailableError where it, or our own rate limit, takes no more
    requests now. Only a disruption budget is a TooManyRequestsError.
    """

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def read(self, path: str) -> bytes:
        """Return the object at `path`, as it is in the store."""
        return self._send("GET", path, None, _JSON)

    def create(self, path: str, body: Tree) -> bytes:
        """Post `body`, and return what became of it."""
        return self._send("POST", path, body, _JSON)

    def merge(self, path: str, body: Tree) -> bytes:
        """Patch what is at `path`: maps are merged, lists replaced, null removes."""
        return self._send("PATCH", path, body, _MERGE)

    def merge_strategically(self, path: str, body: Tree) -> bytes:
        """Patch what is at `path` as its Go type says, some lists by key. The server's own kinds only."""
        return self._send("PATCH", path, body, _STRATEGIC)

    def delete(self, path: str, *, uid: str, grace_seconds: int | None = None) -> bytes:
        """Delete what is at `path`, provided its uid is `uid`; return it as it is then, or a Status."""
        options: Tree = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        return self._send("DELETE", path, options, _JSON)

    def _send(self, method: str, path: str, body: Any, content_type: str) -> bytes:  # noqa: ANN401 - JSON
        data = None if body is None else msgspec.json.encode(body)
        try:
            return self._sender.request(method, path, body=data, content_type=content_type)
        except TooManyRequestsError as error:
            if isinstance(error, ThrottledError) and error.budget:
                raise
            raise UnavailableError(str(error)) from None
