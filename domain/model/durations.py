"""Durations as manifests write them: in Go's notation."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Final

_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|h|m|s)")
_WHOLE = re.compile(rf"([+-]?)((?:{_PART.pattern})+)")
_LONGEST: Final = 64
_NANOSECONDS: Final = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ns": 1,
}
# Go counts nanoseconds in 64 bits: some 292 years.
_LARGEST: Final = 2**63 - 1
_SECOND: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)


def parse_duration(text: str) -> timedelta | None:
    """Read a Go duration such as "1h30m" or "90s", to the microsecond.

    None where it is none, or longer than Go can hold.
    """
    if text in ("0", "+0", "-0"):
        return timedelta(0)
    match = _WHOLE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    sign, parts = match.group(1), _PART.findall(match.group(2))
    nanoseconds = sum((Decimal(number) * _NANOSECONDS[unit] for number, unit in parts), Decimal(0))
    if nanoseconds > _LARGEST:
        return None
    span = timedelta(microseconds=int(nanoseconds // 1000))
    return -span if sign == "-" else span


def format_duration(span: timedelta) -> str:
    """Write a duration as Go does: "1h30m0s", "30s", "250ms", "0s"."""
    if span < timedelta(0):
        return f"-{format_duration(-span)}"
    if not span:
        return "0s"
    if span < _MILLISECOND:
        return f"{span // _MICROSECOND}\u00b5s"
    if span < _SECOND:
        return f"{_decimal(span, _MILLISECOND)}ms"
    hours, rest = divmod(span, timedelta(hours=1))
    minutes, rest = divmod(rest, timedelta(minutes=1))
    seconds = f"{_decimal(rest, _SECOND)}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _decimal(span: timedelta, unit: timedelta) -> str:
    """Return how many of `unit` a span is, exactly and without trailing zeros."""
    whole, rest = divmod(span, unit)
    digits = len(str(unit // _MICROSECOND)) - 1
    return f"{whole}.{rest // _MICROSECOND:0{digits}}".rstrip("0").rstrip(".")
