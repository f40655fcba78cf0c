"""Requests to a served port, and answers."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

PLAIN: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request. `path` is without its query."""

    method: str
    path: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a request."""

    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = PLAIN


class Service(Protocol):
    """Answers the requests of a port."""

    def answer(self, request: Request, /) -> Answer:
        """Answer a request. It is called on one thread, one request at a time."""
        ...

    def refuse(self, status: HTTPStatus, message: str, /) -> Answer:
        """Return how to say that a request is refused, and why. Any thread may call it."""
        ...
