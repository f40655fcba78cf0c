"""EventPublisher: publishes events beside claims, nodes and pools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.publishing import ToldLately, publish
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.other_controllers import OtherControllerSeen
from treenail.domain.disruption.disruption import DisruptionBlocked, DisruptNodes
from treenail.domain.explain.node_events import NodeEvents, blocked
from treenail.domain.launch.launching import ClaimFailed
from treenail.domain.model.event_subjects import of_claim
from treenail.domain.model.events import ClusterEvent
from treenail.domain.ports import ClusterWriter

# Budgets may change with every minute.
_BLOCKED_SECONDS: Final = 60.0

EventPublisherInbox: TypeAlias = (
    NodeChanged | DisruptNodes | DisruptionBlocked | ClaimFailed | OtherControllerSeen
)


class EventPublisher(DomainActor[EventPublisherInbox]):
    """Publish the events on claims and nodes, each once in two minutes. Nothing is decided by it."""

    def __init__(self, runtime: Runtime, *, writer: ClusterWriter) -> None:
        super().__init__(runtime)
        self._writer = writer
        self._events = NodeEvents()
        self._told = ToldLately(runtime.timers.monotonic)
        self._blocked = ToldLately(runtime.timers.monotonic, seconds=_BLOCKED_SECONDS)

    def handle(self, message: EventPublisherInbox) -> None:
        match message:
            case NodeChanged():
                self._tell(self._events.note(message, self._timers.now()))
            case DisruptNodes():
                self._tell(self._events.disrupting(message))
            case DisruptionBlocked():
                self._tell(blocked(message), self._blocked)
            case ClaimFailed():
                self._tell(self._events.failed(message))
            case OtherControllerSeen(claim=claim):
                why = "Another controller decides for this cluster too: nodes are bought twice"
                self._tell((ClusterEvent(of_claim(claim), "OtherControllerSeen", why, warning=True),))
            case _:
                assert_never(message)

    def _tell(self, events: Iterable[ClusterEvent], lately: ToldLately | None = None) -> None:
        told = lately or self._told
        for event in events:
            if told.news(event):
                publish(self._tasks, self._writer, event)
