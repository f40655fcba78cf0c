"""Ends of consolidation windows: which nodes are to be looked at again, and when."""

from __future__ import annotations

import heapq
from datetime import datetime
from typing import Final

# So many entries out of date are never worth the work of dropping them.
_FEW: Final = 64


class WindowEnds:
    """The times when `consolidateAfter` is over of each node of a pool, by the name of its claim. Mutable.

    Of a node whose window moves on and on, only the last end takes room.
    """

    def __init__(self) -> None:
        self._of: dict[str, datetime] = {}
        # Soonest first. An entry is out of date where the node has another end by now, or none.
        self._soonest: list[tuple[datetime, str]] = []

    def note(self, name: str, at: datetime | None, now: datetime) -> None:
        """Take in when the window of a node ends, None where it never does."""
        if at is None or at <= now:
            self._of.pop(name, None)
        elif self._of.get(name) != at:
            self._of[name] = at
            heapq.heappush(self._soonest, (at, name))
            self._tidy()

    def forget(self, name: str) -> None:
        """Forget a node that is gone."""
        self._of.pop(name, None)

    def next(self) -> datetime | None:
        """Return when the next window ends, None where none does."""
        while self._soonest and self._of.get(self._soonest[0][1]) != self._soonest[0][0]:
            heapq.heappop(self._soonest)
        return self._soonest[0][0] if self._soonest else None

    def take(self, now: datetime) -> tuple[str, ...]:
        """Return the nodes whose windows are over by `now`, each once, those first that were over first."""
        over: list[str] = []
        while (at := self.next()) is not None and at <= now:
            name = heapq.heappop(self._soonest)[1]
            del self._of[name]
            over.append(name)
        return tuple(over)

    def _tidy(self) -> None:
        """Drop what is out of date where that is most of it: behind a window of days it would pile up."""
        if len(self._soonest) > 2 * len(self._of) + _FEW:
            self._soonest = [(at, name) for name, at in self._of.items()]
            heapq.heapify(self._soonest)
