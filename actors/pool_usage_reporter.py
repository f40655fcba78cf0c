"""PoolUsageReporter: shows in the status of pools how much each has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Failed, Outcome
from treenail.domain.ports import ClusterWriter
from treenail.domain.status.pool_usage import UsageBook
from treenail.domain.telemetry.node_gauges import pool_series

# What changes together is written once.
_GATHERED: Final = 5.0
_AGAIN_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Show:
    """Private timer tick: write what is due."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A pool's status was written, or was not."""

    about: ObjectRef
    outcome: Outcome[None]


PoolUsageReporterInbox: TypeAlias = PoolsSeen | NodeChanged | _Show | _Written


class PoolUsageReporter(DomainActor[PoolUsageReporterInbox]):
    """Write the resources in use, and the number of nodes, into the status of each pool, and show them.

    Owns what every pool shows of that. Nothing is decided by it.
    """

    def __init__(self, runtime: Runtime, *, writer: ClusterWriter) -> None:
        super().__init__(runtime)
        self._writer = writer
        self._book = UsageBook()
        self._showing = False

    def handle(self, message: PoolUsageReporterInbox) -> None:
        match message:
            case PoolsSeen():
                gone = self._book.see(message)
                for name in gone:
                    self._telemetry.show(f"usage of {name}", None)
                self._show_in(_GATHERED)
            case NodeChanged():
                if self._book.note(message):
                    self._show_in(_GATHERED)
            case _Show():
                self._showing = False
                self._show()
            case _Written():
                self._note(message)
            case _:
                assert_never(message)

    def _show_in(self, seconds: float) -> None:
        if not self._showing:
            self._showing = True
            self.later("show", _Show(), seconds=seconds)

    def _show(self) -> None:
        for name, limits, used in self._book.all():
            gauges = partial(pool_series, name, limits, used.shown(), used.nodes)
            self._telemetry.show(f"usage of {name}", gauges)
        for about, usage in self._book.due():
            key = ("kubernetes", "usage", f"{about.kind} {about.name}")
            call = partial(self._writer.set_usage, about, usage)
            self._tasks.run(key, call, self.me, partial(_Written, about), purpose=Purpose.HOUSEKEEPING)

    def _note(self, written: _Written) -> None:
        match written.outcome:
            case Failed(error=InvalidError() | NotFoundError()):
                # The pool refuses it, or is gone: a retry would not help.
                pass
            case Failed():
                self._book.unwritten(written.about)
                self._show_in(_AGAIN_SECONDS)
            case _:
                pass
