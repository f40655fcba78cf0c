"""Reads the watched resources anew now and then, beside their watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol


class Relisted(Protocol):
    """A resource that can be read anew while it is watched."""

    def relist(self) -> float:
        """Read all there is. Return after how many seconds to do so again."""
        ...


class PeriodicRelister:
    """Has each resource read anew when that is due, one after the other, so that no two lists come together.

    `run` is for a thread of its own.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wake = threading.Condition()
        self._due: dict[Relisted, float] = {}
        self._stopped = False

    def due(self, resource: Relisted, seconds: float) -> None:
        """Have a resource read anew in so many seconds, whatever was said before."""
        with self._wake:
            self._due[resource] = self._clock() + seconds
            self._wake.notify_all()

    def run(self) -> None:
        """Read what is due, until stopped."""
        while (resource := self._next()) is not None:
            self.due(resource, resource.relist())

    def stop(self) -> None:
        """Begin no list any more. One that is being read is not ended by this."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()

    def _next(self) -> Relisted | None:
        """Wait for what is due, and return it; None where nothing is any more."""
        with self._wake:
            while not self._stopped:
                first = min(self._due, key=self._due.__getitem__, default=None)
                wait = None if first is None else self._due[first] - self._clock()
                if first is not None and wait is not None and wait <= 0:
                    del self._due[first]
                    return first
                self._wake.wait(wait)
            return None
