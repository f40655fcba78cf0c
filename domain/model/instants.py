"""Instants in annotations: RFC 3339."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

# API servers take any year from 1 to 9999 in any zone. Within these bounds nothing overflows: neither a zone
# nor a span that is added.
_EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)
_LATEST: Final = datetime(9000, 1, 1, tzinfo=UTC)


def in_utc(at: datetime) -> datetime:
    """Return an instant with its zone in UTC, between the years 1 and 9000: others are cut down to these."""
    try:
        return min(max(at.astimezone(UTC), _EARLIEST), _LATEST)
    except OverflowError:
        return _EARLIEST if at.year == 1 else _LATEST


def read_instant(text: str) -> datetime | None:
    """Read an instant with its zone, None where it is none."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return in_utc(at) if at.tzinfo is not None else None


def write_instant(at: datetime) -> str:
    """Write an instant to the second, in UTC, as Kubernetes does."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def write_precise_instant(at: datetime) -> str:
    """Write an instant to the microsecond, in UTC, as Kubernetes does in leases."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
