"""The rate limit of calls to the API server, and whose turn it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from treenail.domain.model.errors import NoPermitError
from treenail.domain.model.permits import Permits, Ticket
from treenail.domain.model.purposes import BY_DEFAULT, Purpose
from treenail.domain.model.rate_limits import Limit, TokenBucket

# Clocks are not finer than that for sure.
_SHORTEST_PAUSE: Final = 0.001


class RateLimit:
    """A token bucket that any number of threads wait at: the most urgent first, and each purpose its share.

    Threads of one purpose go in the order they came.
    """

    def __init__(
        self, *, qps: float, burst: int, clock: Callable[[], float], pause: Callable[[float], None]
    ) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError("qps must be above 0 and burst at least 1")
        self._qps = qps
        self._clock = clock
        self._pause = pause
        self._lock = threading.Lock()
        self._permits = Permits(TokenBucket(Limit(qps, burst), clock()))

    def take(self, *, within: float, purpose: Purpose = BY_DEFAULT) -> None:
        """Wait for a permit.

        Raises:
            NoPermitError: there will be none within so many seconds; none was taken.
        """
        until = self._clock() + within
        with self._lock:
            ticket = self._permits.ask(purpose)
        try:
            while (pause := self._turn(ticket, until)) is not None:
                self._pause(pause)
        finally:
            if not ticket.granted:
                with self._lock:
                    # Another thread may have granted it meanwhile; then it is lost.
                    if not ticket.granted:
                        self._permits.withdraw(ticket)
        if not ticket.granted:
            raise NoPermitError(f"no permit within {within:g} s: our own limit is {self._qps:g} a second")

    def _turn(self, ticket: Ticket, until: float) -> float | None:
        """Grant the permits there are; return how long to wait, None where this one need wait no longer."""
        with self._lock:
            now = self._clock()
            self._permits.grant(now)
            if ticket.granted or now + self._permits.least_wait(ticket, now) > until:
                return None
            return max(self._permits.wait(now), _SHORTEST_PAUSE)
