"""Events for people: written beside the work, those about one object one after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from cachetools import TTLCache

from treenail.domain.events import ClusterEvent
from treenail.domain.ports import ClusterWriter
from treenail.domain.runtime import Outcome, Ref, Tasks


@dataclass(frozen=True, slots=True)
class Published:
    """An event was written, or was not: it is a courtesy, so nothing follows."""

    outcome: Outcome[None]


def publish(tasks: Tasks, writer: ClusterWriter, event: ClusterEvent, answer: Ref[Published]) -> None:
    """Have an event written, and tell `answer` when that is over."""
    key = ("kubernetes", "event", event.about.uid or str(event.about))
    tasks.run(key, lambda: writer.publish(event), answer, Published)


# What was told is not told again within this time (s), unless it says for itself how long.
_TOLD_SECONDS: Final = 120.0
_MOST_TOLD: Final = 10_000


class ToldLately:
    """Remembers what was told, so that it is not told again and again."""

    def __init__(self, monotonic: Callable[[], float], *, seconds: float = _TOLD_SECONDS) -> None:
        self._told: TTLCache[Hashable, bool] = TTLCache(_MOST_TOLD, seconds, timer=monotonic)

    def news(self, what: Hashable) -> bool:
        """Take in that `what` is told now; tell whether it was not told lately."""
        if what in self._told:
            return False
        self._told[what] = True
        return True
