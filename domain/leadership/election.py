"""The election as one candidate sees it: conclusions from the lease, and writes to win or keep it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime

from treenail.domain.leadership.lease import Lease, LeaseTiming
from treenail.domain.model.instants import write_precise_instant


class Election:
    """The lease as one candidate, `identity`, has seen it. Mutable.

    Another candidate's lease is over when it was seen unchanged for its whole duration. A missing lease
    counts as another candidate's for that duration: it may have been deleted, and its holder acts until a
    deadline of its own. All seconds are those of one local clock.
    """

    def __init__(self, identity: str, timing: LeaseTiming) -> None:
        self._identity = identity
        self._timing = timing
        self._known: Lease | None = None
        self._since = -math.inf
        # When the lease was looked at last.
        self._looked_at = -math.inf
        # While no lease is there: until when its former holder may believe that it still holds it.
        self._held_until = -math.inf

    @property
    def known(self) -> Lease | None:
        """The lease as it was seen last; None where there was none."""
        return self._known

    @property
    def mine(self) -> bool:
        """True if the lease says that this candidate holds it."""
        return self._known is not None and self._known.holder == self._identity

    @property
    def free_at(self) -> float:
        """From which second on this candidate may write the lease, if it stays as it was seen."""
        lease = self._known
        if lease is None:
            return self._held_until
        if not lease.holder or self.mine:
            return -math.inf
        # Whoever says less than we do is not believed: an early end is what must not be.
        return self._since + max(lease.seconds, self._timing.lease)

    @property
    def looked(self) -> bool:
        """True if anything is known of the lease, be it that there is none."""
        return self._looked_at > -math.inf

    def see(self, lease: Lease | None, at: float, *, unused: bool = False) -> None:
        """Take in the lease as it was read, or written, by second `at`.

        `unused` says, at the first look, that nobody can have led yet: then a missing lease is free.
        """
        if lease is None:
            self._miss(at, unused=unused)
        self._looked_at = at
        if lease != self._known:
            self._since = at
        self._known = lease

    def _miss(self, at: float, *, unused: bool) -> None:
        """Take in that there is no lease. Another candidate may have held it, and may act for a while."""
        kept = self.mine and at < self._since + self._timing.renew_within
        newly = self._known is not None or not self.looked
        # One that was made and deleted while nobody looked is not seen.
        overlooked = at - self._looked_at > self._timing.lease - self._timing.renew_within
        if newly and (kept or unused):
            self._held_until = -math.inf
        elif newly or overlooked:
            self._held_until = at + self._timing.lease

    def claim(self, at: float, now: datetime) -> Lease | None:
        """Return the lease to write at second `at`; None while it is another's. `now` is for people."""
        if at < self.free_at:
            return None
        known = self._known or Lease(holder="", seconds=self._timing.lease, transitions=-1)
        written = write_precise_instant(now)
        return replace(
            known,
            holder=self._identity,
            seconds=self._timing.lease,
            acquired_at=known.acquired_at if self.mine and known.acquired_at else written,
            renewed_at=written,
            transitions=known.transitions + (not self.mine),
        )
