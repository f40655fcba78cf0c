"""Events for people: written beside the work, those about one object one after the other."""

from __future__ import annotations

from dataclasses import dataclass

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
