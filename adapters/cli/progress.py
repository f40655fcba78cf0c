"""A progress display for people who wait at a terminal."""

from __future__ import annotations

import math
from time import monotonic
from types import TracebackType
from typing import Final, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

# What is done sooner needs no telling.
_SILENT_SECONDS: Final = 1.0


class Waiting:
    """A bar on `to` that shows up after a second, on a terminal alone, and goes when all is done."""

    def __init__(
        self, what: str, total: float, to: TextIO, *, silent_seconds: float = _SILENT_SECONDS
    ) -> None:
        self._what = what
        self._total = total
        self._to = to
        self._shows_at = monotonic() + silent_seconds
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.over()

    def over(self) -> None:
        """Take the bar away: all is done."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        self._shows_at = math.inf

    def at(self, done: float) -> None:
        """Show that so much of the total is done."""
        if self._bar is None and self._to.isatty() and monotonic() >= self._shows_at:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TimeRemainingColumn(),
                console=Console(file=self._to),
                transient=True,
                auto_refresh=False,
            )
            self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, refresh=True)
