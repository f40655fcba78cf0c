"""Other controllers that decide for this cluster, found by the claims they write."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.claims import DECISION
from treenail.domain.model.nodes import NodeClaim

# What the process before us still had under way is written by then.
_SETTLED: Final = timedelta(minutes=2)
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherControllerSeen:
    """A claim was written by a decision that was not made here."""

    claim: NodeClaim


class OtherControllers:
    """Finds claims that another controller writes while this one runs.

    Such a claim appears long after everything was known, is of a decision that was not made here, and is not
    marked for a launch yet: one that comes back from a backup is.
    """

    def __init__(self) -> None:
        self._own: dict[str, None] = {}
        self._known_since: datetime | None = None

    def decided(self, decision: str) -> None:
        """Note a decision of this process."""
        self._own[decision] = None
        if len(self._own) > _MOST:
            del self._own[next(iter(self._own))]

    def complete(self, now: datetime) -> None:
        """Note that everything there is is known."""
        if self._known_since is None:
            self._known_since = now

    def find(self, thing: object, now: datetime, *, known: bool) -> OtherControllerSeen | None:
        """Return that another controller wrote this, where it did; `known` is what was there before."""
        since = self._known_since
        if known or since is None or now < since + _SETTLED or not isinstance(thing, NodeClaim):
            return None
        decision = thing.annotations.get(DECISION, "")
        if not decision or decision in self._own or labels.LAUNCH in thing.annotations:
            return None
        return OtherControllerSeen(claim=thing)
