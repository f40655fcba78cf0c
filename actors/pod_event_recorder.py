"""PodEventRecorder: writes down when pods last came to nodes and left them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.emptiness import PodEventBook, PodsMoved
from treenail.domain.model import labels
from treenail.domain.model.errors import NotFoundError
from treenail.domain.model.instants import write_instant
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Failed, Outcome
from treenail.domain.ports import ClusterWriter

_TICK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Write:
    """Private timer tick: write what is due."""


@dataclass(frozen=True, slots=True)
class _Written:
    """The outcome of a note on a node: it was written, or was not."""

    moved: PodsMoved
    outcome: Outcome[object]


PodEventInbox: TypeAlias = PodsMoved | _Write | _Written


class PodEventRecorder(DomainActor[PodEventInbox]):
    """Write `lastPodEventTime` of claims, and of nodes of the old API since when they are empty.

    Owns what is not written yet. Nothing waits for it: a restart counts from what was written.
    """

    def __init__(self, runtime: Runtime, *, writer: ClusterWriter) -> None:
        super().__init__(runtime)
        self._writer = writer
        self._book = PodEventBook()
        self._ticking = False

    def handle(self, message: PodEventInbox) -> None:
        match message:
            case PodsMoved():
                self._book.note(message, self._timers.monotonic())
                self._tick()
            case _Write():
                self._ticking = False
                for moved in self._book.take(self._timers.monotonic()):
                    key = ("kubernetes", "pod event", moved.claim.name)
                    told = partial(_Written, moved)
                    self._tasks.run(key, self._call(moved), self.me, told, purpose=Purpose.HOUSEKEEPING)
                self._tick()
            case _Written(outcome=Failed(error=NotFoundError())):
                pass
            case _Written(moved=moved, outcome=Failed()):
                self._book.again(moved, self._timers.monotonic())
                self._tick()
            case _Written():
                pass
            case _:
                assert_never(message)

    def _tick(self) -> None:
        if len(self._book) and not self._ticking:
            self._ticking = True
            self.later("write", _Write(), seconds=_TICK_SECONDS)

    def _call(self, moved: PodsMoved) -> Callable[[], object]:
        writer, claim = self._writer, moved.claim
        if claim.generation is not Generation.V1ALPHA5:
            return lambda: writer.patch_claim(claim.name, ClaimPatch(last_pod_event_at=moved.at))
        patch = NodePatch(remove_annotations=(labels.EMPTY_SINCE,))
        if moved.empty:
            patch = NodePatch(annotations={labels.EMPTY_SINCE: write_instant(moved.at)})
        return lambda: writer.patch_node(moved.node, patch)
