"""Tell people, beside claims and nodes, what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from treenail.actors.base import DomainActor, Runtime
from treenail.actors.publishing import Published, ToldLately, publish
from treenail.domain.disruption import DisruptNodes, NodeInterrupted
from treenail.domain.events import ClusterEvent
from treenail.domain.launching import ClaimFailed
from treenail.domain.node_events import NodeEvents
from treenail.domain.ports import ClusterWriter
from treenail.domain.watching import NodeChanged

TellerInbox: TypeAlias = NodeChanged | NodeInterrupted | DisruptNodes | ClaimFailed | Published


class EventTeller(DomainActor[TellerInbox]):
    """Publish the events on claims and nodes, each once in two minutes. Nothing is decided by it."""

    def __init__(self, runtime: Runtime, *, writer: ClusterWriter) -> None:
        super().__init__(runtime)
        self._writer = writer
        self._events = NodeEvents()
        self._told = ToldLately(runtime.timers.monotonic)

    def handle(self, message: TellerInbox) -> None:
        match message:
            case NodeChanged():
                self._tell(self._events.note(message))
            case NodeInterrupted():
                self._tell(self._events.interrupted(message))
            case DisruptNodes():
                self._tell(self._events.disrupting(message))
            case ClaimFailed():
                self._tell(self._events.failed(message))
            case Published():
                pass
            case _:
                assert_never(message)

    def _tell(self, events: Iterable[ClusterEvent]) -> None:
        for event in events:
            if self._told.news(event):
                publish(self._tasks, self._writer, event, self.me)
