"""Permits for calls, granted by purpose: the most urgent first, and a share for each of the others."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.domain.model.lanes import Lanes
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.rate_limits import TokenBucket


@dataclass(slots=True, eq=False)
class Ticket:
    """One call that waits for its permit. `resources` is how many things it is about."""

    purpose: Purpose
    resources: int
    granted: bool = False


class Permits:
    """The permits for the calls of one token bucket, and those who wait for one.

    Nobody overtakes others of their own purpose. `resources` is the bucket of what calls are about, where
    there is one. All times are monotonic seconds. Not safe for threads by itself.
    """

    def __init__(self, calls: TokenBucket, resources: TokenBucket | None = None) -> None:
        self._calls = calls
        self._resources = resources
        self._lanes: Lanes[Ticket] = Lanes()

    def ask(self, purpose: Purpose, resources: int = 1) -> Ticket:
        """Join those who wait."""
        ticket = Ticket(purpose, resources)
        self._lanes.join(purpose, ticket)
        return ticket

    def withdraw(self, ticket: Ticket) -> None:
        """Wait no longer."""
        self._lanes.leave(ticket.purpose, ticket)

    def grant(self, now: float) -> None:
        """Grant the permits there are, in turn."""
        while (ticket := self._next()) is not None and self._wait_of(ticket, now) <= 0:
            self._take(ticket, now)

    def wait(self, now: float) -> float:
        """Return the seconds until the next permit can be granted: 0 if no call waits."""
        ticket = self._next()
        return 0.0 if ticket is None else self._wait_of(ticket, now)

    def least_wait(self, ticket: Ticket, now: float) -> float:
        """Return how many seconds a ticket must wait at the least, even if no other purpose came first."""
        ahead = self._lanes.up_to(ticket.purpose, ticket)
        wait = self._calls.least_wait(now, len(ahead))
        if self._resources is not None:
            wait = max(wait, self._resources.least_wait(now, sum(one.resources for one in ahead)))
        return wait

    def slow_down(self, now: float) -> None:
        """Take note that the other side refused a call as one too many."""
        self._calls.slow_down(now)
        if self._resources is not None:
            self._resources.slow_down(now)

    def _next(self) -> Ticket | None:
        first = self._lanes.first()
        return None if first is None else first[1]

    def _wait_of(self, ticket: Ticket, now: float) -> float:
        wait = self._calls.wait(now)
        if self._resources is not None:
            wait = max(wait, self._resources.wait(now, ticket.resources))
        return wait

    def _take(self, ticket: Ticket, now: float) -> None:
        self._lanes.take(ticket.purpose)
        self._calls.take(now)
        if self._resources is not None:
            self._resources.take(now, ticket.resources)
        ticket.granted = True
