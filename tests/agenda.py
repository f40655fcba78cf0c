from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

START = datetime(2026, 1, 1, tzinfo=UTC)


class HeapAgenda:
    """Virtual time, and the calls due in it."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def now(self) -> datetime:
        return START + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        return self._seconds

    def call_at(self, at: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._due, (max(at, self._seconds), next(self._order), call))

    def run(self, seconds: float) -> None:
        until = self._seconds + seconds
        while self._due and self._due[0][0] <= until:
            self._seconds, _, call = heapq.heappop(self._due)
            call()
        self._seconds = until
