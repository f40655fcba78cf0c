"""The rate limit of calls to the API server, and whose turn it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from treenail.domain.model.errors import TooManyRequestsError
from treenail.domain.model.lanes import Lanes
from treenail.domain.model.purposes import BY_DEFAULT, Purpose

_NEARLY: Final = 1e-9
# Clocks are not finer than that for sure.
_SHORTEST_PAUSE: Final = 0.001


class Tokens:
    """A token bucket: `qps` a second, after a burst of `burst`. Times are monotonic seconds.

    Not safe for threads by itself.
    """

    def __init__(self, *, qps: float, burst: int, now: float) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError("qps must be above 0 and burst at least 1")
        self.qps = qps
        self._burst = burst
        self._left = float(burst)
        self._counted_at = now

    def wait(self, now: float, amount: int = 1) -> float:
        """Return in how many seconds `amount` tokens have come, if they are taken one by one."""
        self._left = min(self._burst, self._left + max(0.0, now - self._counted_at) * self.qps)
        self._counted_at = max(now, self._counted_at)
        lacking = amount - self._left
        return lacking / self.qps if lacking > _NEARLY else 0.0

    def take(self, now: float) -> bool:
        """Take a token; return whether there was one."""
        if self.wait(now) > 0:
            return False
        self._left -= 1
        return True


class _Ticket:
    """Somebody who waits."""

    __slots__ = ("granted",)

    def __init__(self) -> None:
        self.granted = False


class RateLimit:
    """A token bucket that threads wait at, any number of them: the most urgent first, and each its share.

    Those who wait for one purpose go in the order they came.
    """

    def __init__(
        self, *, qps: float, burst: int, clock: Callable[[], float], pause: Callable[[float], None]
    ) -> None:
        self._clock = clock
        self._pause = pause
        self._lock = threading.Lock()
        self._tokens = Tokens(qps=qps, burst=burst, now=clock())
        self._lanes: Lanes[_Ticket] = Lanes()

    def take(self, *, within: float, purpose: Purpose = BY_DEFAULT) -> None:
        """Wait for a permit.

        Raises:
            TooManyRequestsError: there will be none within so many seconds; none was taken.
        """
        until = self._clock() + within
        ticket = _Ticket()
        with self._lock:
            self._lanes.join(purpose, ticket)
        try:
            while (pause := self._turn(purpose, ticket, until)) is not None:
                self._pause(pause)
        finally:
            if not ticket.granted:
                with self._lock:
                    # Another thread may have granted it meanwhile; then it is lost.
                    if not ticket.granted:
                        self._lanes.leave(purpose, ticket)
        if not ticket.granted:
            raise TooManyRequestsError(
                f"no permit within {within:g} s: our own limit is {self._tokens.qps:g} a second"
            )

    def _turn(self, purpose: Purpose, ticket: _Ticket, until: float) -> float | None:
        """Grant the permits there are; return how long to wait, None where this one need wait no longer."""
        with self._lock:
            now = self._clock()
            while (first := self._lanes.first()) is not None and self._tokens.take(now):
                self._lanes.take(first[0])
                first[1].granted = True
            if ticket.granted:
                return None
            least = self._tokens.wait(now, len(self._lanes.up_to(purpose, ticket)))
            if now + least > until:
                return None
            return max(self._tokens.wait(now), _SHORTEST_PAUSE)
