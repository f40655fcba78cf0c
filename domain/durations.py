"""Durations as manifests write them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|h|m|s)")
_UNITS: Final = {
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "us": timedelta(microseconds=1),
    "ns": timedelta(0),
}


def parse_duration(text: str) -> timedelta | None:
    """Read a Go duration such as "1h30m" or "90s"; None where it is none or too long to be meant."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    try:
        return sum((float(number) * _UNITS[unit] for number, unit in parts), timedelta(0))
    except OverflowError:
        return None


def format_duration(span: timedelta) -> str:
    """Write a duration as Go does: "1h30m0s", "30s", "0s"."""
    seconds = span.total_seconds()
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    tail = f"{left:g}s"
    if hours:
        return f"{int(hours)}h{int(minutes)}m{tail}"
    return f"{int(minutes)}m{tail}" if minutes else tail
