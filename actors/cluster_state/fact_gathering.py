"""Facts that come by the hundred: they are taken in, and what follows from them is told a moment later."""

from __future__ import annotations

from typing import Final

from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, ObjectSeen, ObjectSetAside
from treenail.domain.model.pods import Pod
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.runtime import Timers

_BY_THE_HUNDRED: Final = (Kind.POD, Kind.RESOURCE_QUOTA)


class FactGathering:
    """The times at which what follows from facts on pods is told: at most once in `seconds`, while they come.

    `pending` says that facts were taken in and what follows was not told. With 0 seconds all is told at once.
    """

    def __init__(self, timers: Timers, seconds: float) -> None:
        self.pending = False
        self._timers = timers
        self._seconds = seconds
        # In monotonic seconds.
        self._until = 0.0

    def postpones(self, fact: ObjectSeen | ObjectGone | ObjectSetAside) -> float:
        """Return after how many seconds what follows from a fact is to be told; 0 for at once."""
        seconds = self._until - self._timers.monotonic()
        return seconds if seconds > 0 and _comes_by_the_hundred(fact) else 0.0

    def told(self) -> None:
        """Take note that all is told now. Gathering begins anew."""
        self.pending = False
        self._until = self._timers.monotonic() + self._seconds


def _comes_by_the_hundred(fact: ObjectSeen | ObjectGone | ObjectSetAside) -> bool:
    """Return whether a fact is on a pod, or on a quota, which counts each pod, and was understood."""
    match fact:
        case ObjectSeen():
            return isinstance(fact.object, Pod | ResourceQuota)
        case ObjectGone():
            return fact.kind in _BY_THE_HUNDRED
        case ObjectSetAside():
            return False
