"""The clocks of this machine: monotonic time, and a time of day that does not jump."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from threading import Lock
from typing import Final

from treenail.domain.model.runtime import Clock
from treenail.domain.model.steady_time import SteadyTime
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics

_LOGGER: Final = "clock"
# Linux has it; its monotonic clock stands still while the machine is suspended.
_BOOT_TIME: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


def seconds_awake_or_not() -> float:
    """Return seconds that never go back, and go on while the machine sleeps or is suspended."""
    return time.clock_gettime(_BOOT_TIME) if _BOOT_TIME is not None else time.monotonic()


class SystemClock:
    """The port `Clock`, as the machine has it: its time of day jumps where somebody sets it."""

    def now(self) -> datetime:
        """Return the time of day, aware UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


class SteadyClock:
    """The port `Clock`, with a time of day that never jumps, whatever `machine` does. Threads may share it.

    Where the machine's clock is set, that is logged and counted.
    """

    def __init__(self, machine: Clock, telemetry: Telemetry) -> None:
        self._machine = machine
        self._telemetry = telemetry
        self._lock = Lock()
        self._time = SteadyTime(machine.now(), machine.monotonic())
        telemetry.gauge(metrics.CLOCK_OFFSET.name, 0.0)

    def now(self) -> datetime:
        """Return the time of day, aware UTC."""
        with self._lock:
            at, stepped = self._time.read(self._machine.now(), self._machine.monotonic())
        if stepped is not None:
            self._telemetry.count(
                metrics.CLOCK_STEPS.name, direction="back" if stepped.seconds < 0 else "forward"
            )
            self._telemetry.log(
                "the clock of this machine was set: time goes on as before",
                logger=_LOGGER,
                level="warning",
                seconds=round(stepped.seconds, 3),
            )
        return at

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._machine.monotonic()

    def hear(self, said: datetime) -> None:
        """Take in what time it is at the API server."""
        with self._lock:
            differs = self._time.hear(said, self._machine.monotonic())
        if differs:
            self._telemetry.log(
                "the clock of this machine is not that of the API server: the latter's counts",
                logger=_LOGGER,
                level="warning",
                seconds=round(differs, 3),
            )

    def look(self) -> None:
        """Check whether the machine's clock was set, and record how far it is off."""
        self.now()
        with self._lock:
            off = self._time.off_by
        self._telemetry.gauge(metrics.CLOCK_OFFSET.name, off)
