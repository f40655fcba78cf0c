"""The election as one candidate sees it: conclusions from the lease, and writes to win or keep it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime

from treenail.domain.leadership.lease import Lease, LeaseTiming
from treenail.domain.model.instants import write_precise_instant


class Election:
    """The lease as one candidate, `identity`, has seen it. Mutable.

    Another's lease is over when it was seen to stay as it is for as long as it is good for. All seconds are
    those of one local clock.
    """

    def __init__(self, identity: str, timing: LeaseTiming) -> None:
        self._identity = identity
        self._timing = timing
        self._known: Lease | None = None
        self._since = -math.inf
        # Until when one that was deleted, while another held it, may be taken by that one to be held still.
        self._held_until = -math.inf

    @property
    def known(self) -> Lease | None:
        """The lease as it was seen last; None where there was none."""
        return self._known

    @property
    def mine(self) -> bool:
        """Whether the lease says that this candidate holds it."""
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

    def see(self, lease: Lease | None, at: float) -> None:
        """Take in the lease as it was read, or written, by second `at`."""
        if lease is None and self._known is not None and self._known.holder and not self.mine:
            self._held_until = at + self._timing.lease
        if lease != self._known:
            self._since = at
        self._known = lease

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
