"""A brake on drift: where new nodes of a pool drift like those they replace, replacing goes on slowly."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model.backoff import Backoff
from treenail.domain.model.event_subjects import of_pool
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.node_class_status import NodeClassMeaning
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim

# What is written so soon after a pool or its class changed may have been decided on before.
_GRACE: Final = timedelta(minutes=1)
# What drifts later may have been right when it was made.
_YOUNG: Final = timedelta(minutes=15)
_MOST_MEANINGS: Final = 100
FIRST_PAUSE: Final = timedelta(minutes=10)
_PAUSES: Final = Backoff(first=FIRST_PAUSE.total_seconds(), longest=timedelta(hours=24).total_seconds())


class DriftBrake:
    """The brake that says whether drifted nodes of one pool may be replaced now. Mutable.

    A claim that was made from the pool and its class as they are, and drifted before long all the same, shows
    that those made in place of others would drift too. Then nothing is replaced for 10 min, 20... a day, and
    after that one node at a time, until that shows whether it was of use. A change of the pool or its class
    releases it. Where AWS has something else for the class than ever before, what was made until then shows
    nothing; where that goes to and fro, it does.
    """

    def __init__(self) -> None:
        self._since: datetime | None = None
        self._meanings: list[NodeClassMeaning] = []
        self._seen: dict[str, None] = {}
        self._pulled = 0
        self.until: datetime | None = None

    def release(self, now: datetime) -> None:
        """Take in that the pool, or its class, says something else than before."""
        self._since, self._seen, self._pulled, self.until = now, {}, 0, None
        self._meanings = []

    def meant(self, meaning: NodeClassMeaning, now: datetime) -> None:
        """Take in what the node class means."""
        if meaning not in self._meanings:
            self._meanings = [*self._meanings, meaning][-_MOST_MEANINGS:]
            self._since = now

    def drifted(self, claim: NodeClaim, now: datetime) -> bool:
        """Take in that a claim drifted; return whether replacing is held back because of it."""
        made_anew = self._since is not None and claim.created_at >= self._since + _GRACE
        if not made_anew or claim.name in self._seen or now >= claim.created_at + _YOUNG:
            return False
        self._seen[claim.name] = None
        if self.until is not None and now < self.until:
            return False
        self._pulled += 1
        self.until = now + timedelta(seconds=_PAUSES.after(self._pulled))
        return True

    def one_at_a_time(self, now: datetime) -> bool:
        """Return whether one replacement is to show first that it is of use."""
        return self.until is not None and now < self.until + FIRST_PAUSE


def held_back(pool: NodePool, claim: NodeClaim, why: str, until: datetime) -> ClusterEvent:
    """Return the event on a pool that says why its drifted nodes are not replaced for now."""
    kind = pool.generation.pool_kind
    message = (
        f"Drifted nodes are not replaced before {until:%Y-%m-%d %H:%M} UTC: {claim.name} was made from this "
        f"{kind} as it is and drifted all the same ({why}), and so would those made in their place"
    )
    return ClusterEvent(of_pool(pool), "DisruptionBlocked", message, warning=True)
