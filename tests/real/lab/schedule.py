"""What the laboratory does later: one thread, first things first."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager


class Schedule:
    """Calls things after some seconds of real time, each in its `turn`. `clear` forgets all that is due."""

    def __init__(self, turn: AbstractContextManager[object]) -> None:
        self._turn = turn
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._changed = threading.Condition()

    def start(self) -> None:
        """Begin; the thread ends with the process."""
        threading.Thread(target=self._run, name="lab-schedule", daemon=True).start()

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Call `call` in so many seconds; at once, and here, where they are none."""
        if seconds <= 0:
            call()
            return
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._count), call))
            self._changed.notify()

    def clear(self) -> None:
        """Forget what is due."""
        with self._changed:
            self._due.clear()

    def _run(self) -> None:
        while True:
            call = self._next()
            with self._turn:
                call()

    def _next(self) -> Callable[[], None]:
        with self._changed:
            while True:
                left = self._due[0][0] - time.monotonic() if self._due else None
                if left is not None and left <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(left)
