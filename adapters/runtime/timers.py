"""Timers: messages sent later, by a thread that waits for them."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import datetime
from itertools import count
from threading import Condition, Thread
from typing import Any, Final, TypeAlias, TypeVar

from treenail.domain.model.runtime import Clock, Ref, TimerKey

M = TypeVar("M")

_Name: TypeAlias = "tuple[Ref[Any], TimerKey]"
# Cancelled timers stay in the heap until they are due, or until they are most of it.
_FEW: Final = 1024


class ThreadTimers:
    """The port `Timers`. Threads may share it; it works until `stop`.

    `failed` hears of an exception of a Ref; the timers go on. `late` hears how late each message was, in
    seconds.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        failed: Callable[[BaseException], None],
        late: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._clock = clock
        self._failed = failed
        self._late = late
        self._changed = Condition()
        self._due: list[tuple[float, int, _Name, object]] = []
        self._armed: dict[_Name, int] = {}
        self._arming = count()
        self._open = True
        self._thread = Thread(target=self._work, name="timers", daemon=True)
        self._thread.start()

    def now(self) -> datetime:
        """Return the time of day, aware UTC."""
        return self._clock.now()

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._clock.monotonic()

    def arm(self, key: TimerKey, to: Ref[M], message: M, *, at: float) -> None:
        """Send `message` to `to` at monotonic second `at`, in place of what was armed under (to, key)."""
        name: _Name = (to, key)
        with self._changed:
            if not self._open:
                return
            arming = next(self._arming)
            self._armed[name] = arming
            heapq.heappush(self._due, (at, arming, name, message))
            self._sweep()
            if self._due[0][1] == arming:
                self._changed.notify_all()

    def cancel(self, key: TimerKey, to: Ref[M]) -> None:
        """Send nothing of what was armed under (to, key)."""
        with self._changed:
            self._armed.pop((to, key), None)

    def stop(self, seconds: float) -> bool:
        """Send nothing any more; False where a message is still being sent after `seconds`."""
        with self._changed:
            self._open = False
            self._armed.clear()
            self._due.clear()
            self._changed.notify_all()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _sweep(self) -> None:
        """Drop the cancelled timers where they are most of all."""
        if len(self._due) > _FEW and len(self._due) > 2 * len(self._armed):
            self._due = [one for one in self._due if self._armed.get(one[2]) == one[1]]
            heapq.heapify(self._due)

    def _work(self) -> None:
        while (ring := self._next()) is not None:
            at, (to, _), message = ring
            try:
                self._late(self._clock.monotonic() - at)
                to.tell(message)
            except BaseException as error:  # noqa: BLE001 (one broken target must not silence all timers)
                self._failed(error)

    def _next(self) -> tuple[float, _Name, object] | None:
        """Wait for a timer to ring; None where they are stopped."""
        with self._changed:
            while self._open:
                wait = self._due[0][0] - self._clock.monotonic() if self._due else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                    continue
                at, arming, name, message = heapq.heappop(self._due)
                if self._armed.get(name) == arming:
                    del self._armed[name]
                    return at, name, message
            return None
