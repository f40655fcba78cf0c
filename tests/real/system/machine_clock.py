"""The time of day on the machine of a process, which a test sets while the process runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Final

import libfaketime

_TRUE: Final = timedelta(0)


class MachineClock:
    """How far the time of day is off for processes started with `env`; their monotonic time goes on.

    They load libfaketime before the C library. It reads a file again whenever they ask for the time of day,
    so that the program under test is the one that users run.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set(_TRUE)

    @property
    def env(self) -> dict[str, str]:
        """The environment of a process with this clock. Times of files stay as they are."""
        _, preloaded = libfaketime.get_reload_information()
        return {**preloaded, "FAKETIME_TIMESTAMP_FILE": str(self._file), "NO_FAKE_STAT": "1"}

    def set(self, off: timedelta) -> None:
        """Let it be so far from the true time, from now on."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{off.total_seconds():+.0f}\n")
        new.replace(self._file)

    def set_right(self) -> None:
        """Let it show the true time."""
        self.set(_TRUE)
