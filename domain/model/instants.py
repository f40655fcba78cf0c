"""Instants in annotations: RFC 3339."""

from __future__ import annotations

from datetime import UTC, datetime


def read_instant(text: str) -> datetime | None:
    """Read an instant with its zone, None where it is none."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


def write_instant(at: datetime) -> str:
    """Write an instant to the second, in UTC, as Kubernetes does."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
