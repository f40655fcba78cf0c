"""Axes: where the ticks of time and of values stand, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

# Round distances between ticks of time, in seconds.
_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_DAY: Final = 86400
_MOST_TICKS: Final = 10
# Where the last tick may stand: its text needs room behind it.
_LAST_TICK: Final = 0.96


def time_ticks(
    seconds: float, begins: datetime | None = None, most: int = _MOST_TICKS
) -> tuple[tuple[float, str], ...]:
    """Return at most so many (share of the axis in percent, text) between 0 and `seconds`.

    The texts are times of day where the axis `begins` at one.
    """
    write: Callable[[float], str] = clock if begins is None else lambda at: _minute(begins, at)
    if seconds <= 0:
        return ((0.0, write(0.0)),)
    step = next((s for s in _STEPS if seconds / s <= most), 0)
    if not step:
        step = -(-int(seconds) // (most * _DAY)) * _DAY
    count = int(_LAST_TICK * seconds // step)
    return tuple((round(100 * step * n / seconds, 3), write(step * n)) for n in range(count + 1))


def clock(seconds: float) -> str:
    """Write a time as people do: 45s, 2m30s, 1h05m, 2d3h."""
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 (below a minute)
        return f"{whole}s"
    minutes, left = divmod(whole, 60)
    if minutes < 60:  # noqa: PLR2004 (below an hour)
        return f"{minutes}m{left:02d}s" if left else f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:  # noqa: PLR2004 (below two days)
        return f"{hours}h{minutes:02d}m" if minutes else f"{hours}h"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours}h" if hours else f"{days}d"


def time_of(at: float, begins: datetime | None) -> str:
    """Write a moment of an axis: the time of day where it `begins` at one, else the time since its start."""
    return clock(at) if begins is None else f"{begins + timedelta(seconds=at):%H:%M:%S}"


def _minute(begins: datetime, at: float) -> str:
    return f"{begins + timedelta(seconds=at):%H:%M}"


def top(value: float) -> float:
    """Return a round number that is at least `value`, for the upper end of an axis."""
    if value <= 0:
        return 1.0
    size = 1.0
    while size * 10 <= value:
        size *= 10
    while size > value:
        size /= 10
    return next(size * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if size * step >= value)
