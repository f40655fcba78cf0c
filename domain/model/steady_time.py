"""Steady time: the time of day in use, which follows a clock that is set, but never jumps with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import copysign
from typing import Final

# So fast a time that is wrong is put right: a duration measured meanwhile is off by a tenth at most.
_SLEW: Final = 0.1
# Clocks that are kept in step differ by less.
_STEP_SECONDS: Final = 1.0
_EXACT_SECONDS: Final = 0.001
# The API server tells the time in whole seconds, and its answer takes a while.
_HEARD_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStepped:
    """The machine's clock was set by so many seconds, back where that is negative."""

    seconds: float


class SteadyTime:
    """The time of day by the monotonic clock, drawn slowly to the right one (slewed).

    The right one is what the API server says, whose time is on the objects; until it says anything, it is the
    machine's. The time read never goes back, and two readings differ by the monotonic seconds between them,
    or a tenth more or less while it is being put right.
    """

    def __init__(self, wall: datetime, monotonic: float) -> None:
        self._wall = self._last = wall
        self._monotonic = self._read_at = monotonic
        # Seconds that each is ahead of the time at the start plus the monotonic seconds since.
        self._machine = self._shift = 0.0
        self._heard: float | None = None

    def read(self, wall: datetime, monotonic: float) -> tuple[datetime, ClockStepped | None]:
        """Return the time, where the machine's clock says `wall`, and whether that one was set."""
        elapsed = monotonic - self._monotonic
        machine = (wall - self._wall).total_seconds() - elapsed
        jump = machine - self._machine
        self._machine = machine
        right = machine if self._heard is None else self._heard
        self._slew(right, _SLEW * (monotonic - self._read_at))
        self._read_at = monotonic
        same = abs(self._shift - machine) <= _EXACT_SECONDS
        time = wall if same else self._wall + timedelta(seconds=elapsed + self._shift)
        self._last = max(self._last, time)
        return self._last, ClockStepped(seconds=jump) if abs(jump) >= _STEP_SECONDS else None

    def hear(self, said: datetime, monotonic: float) -> float:
        """Take in that the API server says that it is `said` now. It is believed to two seconds.

        The first such time counts at once: nothing was measured before. Return the seconds by which it
        differs from the time in use until then, 0 for all later ones.
        """
        heard = (said - self._wall).total_seconds() - (monotonic - self._monotonic)
        first, known = self._heard is None, self._shift if self._heard is None else self._heard
        agrees = abs(heard - known) <= _HEARD_SECONDS
        self._heard = known if agrees else heard
        if not first or agrees:
            return 0.0
        self._shift, self._last = heard, said
        return heard - known

    def _slew(self, right: float, most: float) -> None:
        gap = right - self._shift
        near = abs(gap) <= max(most, _EXACT_SECONDS)
        self._shift = right if near else self._shift + copysign(most, gap)

    @property
    def off_by(self) -> float:
        """The seconds by which the machine's clock is ahead of the time that is used."""
        return self._machine - self._shift
