"""A machine's clock, which may be set."""

from __future__ import annotations

from datetime import datetime, timedelta

from treenail.domain.model.runtime import Clock


class MachineClock:
    """The port `Clock`: `true` time, until somebody sets this machine's clock."""

    def __init__(self, true: Clock) -> None:
        self._true = true
        self._off = timedelta(0)

    def now(self) -> datetime:
        """Return the time of day, as this machine has it."""
        return self._true.now() + self._off

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._true.monotonic()

    def step(self, seconds: float) -> None:
        """Set the clock by so many seconds, back where that is negative."""
        self._off += timedelta(seconds=seconds)
