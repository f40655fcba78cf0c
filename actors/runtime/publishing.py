"""Publishing of events: events about one object are written one after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from cachetools import TTLCache

from treenail.actors.runtime.base import NullRef
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Outcome, TaskKey, Tasks
from treenail.domain.ports import ClusterWriter

_NOBODY: Final = NullRef()


def publish(tasks: Tasks, writer: ClusterWriter, event: ClusterEvent) -> None:
    """Have an event written: one that still waits is counted, and not written twice."""
    key = ("kubernetes", "event", event.about.uid or str(event.about))
    tasks.mention(key, event, lambda count: writer.publish(event, count))


def write_beside(
    tasks: Tasks, key: TaskKey, call: Callable[[], object], *, purpose: Purpose = Purpose.HOUSEKEEPING
) -> None:
    """Have something written. Whether it was or not, nothing follows: it is a courtesy."""
    tasks.run(key, call, _NOBODY, _as_it_is, purpose=purpose)


def _as_it_is(outcome: Outcome[object]) -> Outcome[object]:
    return outcome


# What was told is not told again within this time (s), unless it says for itself how long.
_TOLD_SECONDS: Final = 120.0
_MOST_TOLD: Final = 10_000


class ToldLately:
    """Remembers what was told, so that it is not told again and again."""

    def __init__(self, monotonic: Callable[[], float], *, seconds: float = _TOLD_SECONDS) -> None:
        self._monotonic = monotonic
        self._seconds = seconds
        # When each was told.
        self._told: TTLCache[Hashable, float] = TTLCache(_MOST_TOLD, seconds, timer=monotonic)

    def news(self, what: Hashable) -> bool:
        """Take in that `what` is told now; return whether it was not told lately."""
        if what in self._told:
            return False
        self._told[what] = self._monotonic()
        return True

    def news_at(self, what: Hashable) -> float:
        """Return from which monotonic second on `what` is news again, now where it was not told lately."""
        told = self._told.get(what)
        return self._monotonic() if told is None else told + self._seconds
