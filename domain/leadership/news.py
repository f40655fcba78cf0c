"""News of the lease: held by this replica, held by another one, or unread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class LeaseHeld:
    """The lease is held by this replica, which may act."""


@dataclass(frozen=True, slots=True)
class LeaseElsewhere:
    """Another, `holder`, holds the lease."""

    holder: str


@dataclass(frozen=True, slots=True)
class LeaseUnread:
    """The lease could not be read or written."""

    problem: str


LeaseNews: TypeAlias = LeaseHeld | LeaseElsewhere | LeaseUnread


class LeaseLostError(Exception):
    """The lease was held, and is not any more: the process must end."""
