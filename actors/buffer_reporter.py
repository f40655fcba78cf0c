"""BufferReporter: shows in the status of capacity buffers, and by metrics, what was found for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.buffer_states import BuffersSeen, BufferState
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Failed, Outcome
from treenail.domain.ports import ClusterWriter
from treenail.domain.status.buffer_status import BufferBoard
from treenail.domain.telemetry import metrics

_AGAIN_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Show:
    """Private timer tick: write what is due."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A buffer's status was written, or was not."""

    about: ObjectRef
    outcome: Outcome[None]


BufferReporterInbox: TypeAlias = BuffersSeen | _Show | _Written


class BufferReporter(DomainActor[BufferReporterInbox]):
    """Write what was found for each capacity buffer into its status, and set the metrics of it.

    Owns what every buffer shows. Nothing is decided by it.
    """

    def __init__(self, runtime: Runtime, *, writer: ClusterWriter) -> None:
        super().__init__(runtime)
        self._writer = writer
        self._board = BufferBoard()
        # The buffers that have metrics, by namespace and name.
        self._measured: dict[str, None] = {}

    def handle(self, message: BufferReporterInbox) -> None:
        match message:
            case BuffersSeen():
                self._board.see(message)
                self._measure(message)
                self._show()
            case _Show():
                self._show()
            case _Written():
                self._note(message)
            case _:
                assert_never(message)

    def _show(self) -> None:
        for status in self._board.due():
            key = ("kubernetes", "buffer", str(status.about))
            call = partial(self._writer.set_buffer_status, status)
            self._tasks.run(key, call, self.me, partial(_Written, status.about), purpose=Purpose.HOUSEKEEPING)

    def _note(self, written: _Written) -> None:
        match written.outcome:
            case Failed(error=InvalidError() | NotFoundError()):
                # The buffer refuses it, or is gone: a retry would not help.
                pass
            case Failed():
                self._board.unwritten(written.about)
                self.later("show", _Show(), seconds=_AGAIN_SECONDS)
            case _:
                pass

    def _measure(self, seen: BuffersSeen) -> None:
        gone = dict(self._measured)
        for one in seen.states:
            if one.found is not None:
                named = one.buffer.key
                gone.pop(named, None)
                self._measured[named] = None
                self._set(named, one)
        for named in gone:
            del self._measured[named]
            self._set(named, None)

    def _set(self, buffer: str, one: BufferState | None) -> None:
        places = {"ready": one.ready, "coming": one.coming, "lacking": one.lacking} if one is not None else {}
        for state in ("ready", "coming", "lacking"):
            self._telemetry.gauge(
                metrics.BUFFER_PLACES.name,
                places.get(state, 0),
                buffer=buffer,
                state=state,
            )
        dollars = one.dollars if one is not None else 0.0
        self._telemetry.gauge(metrics.BUFFER_DOLLARS.name, dollars, buffer=buffer)
