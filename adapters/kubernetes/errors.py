"""Refusals of the API server, translated to the errors of the ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from treenail.domain.model.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidError,
    NotFoundError,
    PortError,
    TooManyRequestsError,
    UnavailableError,
)

# The cause of a refused eviction.
DISRUPTION_BUDGET: Final = "DisruptionBudget"

_LONGEST_TEXT: Final = 300
_OK: Final = range(200, 300)
_REFUSED: Final = range(400, 500)
# Refused for who asks, or for a slow request, not for what it says: it may be answered later.
_NOT_FOR_ITS_CONTENT: Final = frozenset({401, 403, 408})


class ExpiredError(PortError):
    """A revision, or a page, that the API server no longer has. Lists begin anew after this."""


class ForbiddenError(UnavailableError):
    """A missing permission, which the cluster's operator must give. Until then it counts as no answer."""


class UnauthorizedError(UnavailableError):
    """Credentials that the server does not take (any more). Until they are renewed it counts as no answer."""


class ThrottledError(TooManyRequestsError):
    """Too many requests. `retry_after` is how long to wait, in seconds, as far as the server says.

    `budget` tells that a disruption budget is why.
    """

    def __init__(self, message: str, *, retry_after: float | None, budget: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.budget = budget


class OverloadedError(UnavailableError):
    """The server cannot answer now, and says how long to wait, in seconds."""

    def __init__(self, message: str, *, retry_after: float | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: tuple[_Cause, ...] = ()
    retry_after_seconds: float = 0


class ApiStatus(msgspec.Struct):
    """The API server's answer where it is no object: what was wrong."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


_STATUS: Final = msgspec.json.Decoder(ApiStatus)


def read_status(body: bytes) -> ApiStatus:
    """Return the Status that `body` holds, else one whose message is the text itself."""
    try:
        return _STATUS.decode(body)
    except msgspec.DecodeError:
        return ApiStatus(message=" ".join(body[:_LONGEST_TEXT].decode(errors="replace").split()))


def check(code: int, body: bytes, headers: Mapping[str, str], asked: str) -> None:
    """Raise what an answer means that is not 2xx. `asked` says for what, for people.

    Raises:
        PortError: the one that fits, with the API server's message.
    """
    if code not in _OK:
        raise error_of(read_status(body), asked, code=code, retry_after=_seconds(headers.get("Retry-After")))


def error_of(
    status: ApiStatus, asked: str, *, code: int | None = None, retry_after: float | None = None
) -> PortError:
    """Return the error that `status` means; `code` is HTTP's, where it is not within a watch."""
    number = status.code if code is None else code
    text = f"{asked}: {_said(status)} ({number})"
    causes = status.details.causes if status.details is not None else ()
    if retry_after is None and status.details is not None and status.details.retry_after_seconds > 0:
        retry_after = status.details.retry_after_seconds
    match number:
        case 401:
            return UnauthorizedError(text)
        case 403:
            return ForbiddenError(text)
        case 404:
            return NotFoundError(text)
        case 409 if status.reason == "AlreadyExists":
            return AlreadyExistsError(text)
        case 409:
            return ConflictError(text)
        case 410:
            return ExpiredError(text)
        case 429:
            budget = any(cause.reason == DISRUPTION_BUDGET for cause in causes)
            return ThrottledError(text, retry_after=retry_after, budget=budget)
        case _ if number in _REFUSED and number not in _NOT_FOR_ITS_CONTENT:
            return InvalidError(text)
        case _:
            return OverloadedError(text, retry_after=retry_after)


def _said(status: ApiStatus) -> str:
    """Return the message and the causes that it does not tell already."""
    causes = status.details.causes if status.details is not None else ()
    more = (
        f"{cause.field}: {cause.message}" if cause.field else cause.message
        for cause in causes
        if cause.message and cause.message not in status.message
    )
    return "; ".join((status.message or status.reason or "no reason given", *more))


def _seconds(retry_after: str | None) -> float | None:
    try:
        return max(0.0, float(retry_after)) if retry_after is not None else None
    except ValueError:
        return None
