"""Events that people read beside objects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.runtime import Clock

CONTROLLER: Final = "treenail"
SCHEDULER: Final = "default-scheduler"
_COUNTED_WITHIN: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event as it is kept, with the component that published it as its `source`. Times are aware UTC."""

    event: ClusterEvent
    count: int
    first_at: datetime
    last_at: datetime
    source: str


class EventLog:
    """Events in the order they first came. Equal ones within ten minutes are counted as one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: list[EventRecord] = []
        self._latest: dict[tuple[ClusterEvent, str], int] = {}

    def publish(self, event: ClusterEvent, source: str, count: int = 1) -> None:
        """Keep an event that came so often, or count it."""
        now = self._clock.now()
        number = self._latest.get((event, source))
        if number is not None and now - self._records[number].last_at <= _COUNTED_WITHIN:
            known = self._records[number]
            self._records[number] = replace(known, count=known.count + count, last_at=now)
            return
        self._latest[event, source] = len(self._records)
        self._records.append(EventRecord(event, count, now, now, source))

    def records(self) -> tuple[EventRecord, ...]:
        """Return all there are."""
        return tuple(self._records)
