"""A bounded queue of spans and the thread that exports them.

OpenTelemetry's own batch processor does not say how many spans it drops, and its `force_flush` exports on
the thread of the caller, without a time limit. An actor can use neither.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from threading import Condition, Thread

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from treenail.domain.telemetry.tracing import Span


class SpanLoss(StrEnum):
    """Reasons for dropping spans."""

    QUEUE_FULL = "queue_full"
    INVALID = "invalid"
    EXPORT_FAILED = "export_failed"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """Limits of the export queue. A span weighs one, and one more for each event and link.

    `waiting` is the most that may wait, `batch` the most sent at once. The default lets a decision over
    100,000 pods wait twice, and sends requests of a few megabytes, which collectors take. `linger_seconds` is
    how long a span may wait for others to be sent with it.
    """

    waiting: int = 250_000
    batch: int = 10_000
    linger_seconds: float = 1.0


def weight(span: Span) -> int:
    """Return what a span counts against `QueueLimits`."""
    return 1 + len(span.events) + len(span.links)


class ExportQueue:
    """Exports spans in the order they come, on a thread of its own, and tells `lost` what it could not.

    `put` never blocks. A batch whose export fails is lost: the exporter has tried again by itself.
    """

    def __init__(
        self,
        exporter: SpanExporter,
        convert: Callable[[Span], ReadableSpan],
        lost: Callable[[int, SpanLoss], None],
        limits: QueueLimits,
    ) -> None:
        self._exporter = exporter
        self._convert = convert
        self._lost = lost
        self._limits = limits
        self._changed = Condition()
        self._waiting: deque[Span] = deque()
        self._weight = 0
        self._taken = 0
        self._settled = 0
        self._failed = 0
        self._hurry = 0
        self._open = True
        self._worker = Thread(target=self._work, name="span-export", daemon=True)
        self._worker.start()

    def put(self, span: Span) -> None:
        """Take a span, or lose it where too much waits already."""
        with self._changed:
            weighs = weight(span)
            # A span too large for any queue still goes when nothing else waits.
            fits = self._weight + weighs <= self._limits.waiting or not self._waiting
            if self._open and fits:
                self._waiting.append(span)
                self._weight += weighs
                self._taken += 1
                if len(self._waiting) == 1 or self._due():
                    self._changed.notify_all()
                return
        self._lost(1, SpanLoss.QUEUE_FULL if self._open else SpanLoss.CLOSED)

    def flush(self, seconds: float) -> bool:
        """Wait until all that was taken is exported, at most `seconds`; False where it was not."""
        with self._changed:
            upto, failed = self._taken, self._failed
            self._hurry = max(self._hurry, upto)
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: self._settled >= upto, timeout=seconds)
            return done and self._failed == failed

    def close(self, seconds: float) -> bool:
        """Take no more, export what waits for at most `seconds`, and end; False where something is left."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        flushed = self.flush(seconds)
        if not flushed:
            self._abandon()
        with contextlib.suppress(Exception):
            self._exporter.shutdown()
        if flushed:
            self._worker.join()
        return flushed

    def _abandon(self) -> None:
        """Lose what still waits; what is with the exporter is told lost when that gives up."""
        with self._changed:
            left = len(self._waiting)
            self._waiting.clear()
            self._weight = 0
            self._settled += left
            self._failed += left
            self._changed.notify_all()
        if left:
            self._lost(left, SpanLoss.CLOSED)

    def _work(self) -> None:
        while batch := self._next_batch():
            spans = self._converted(batch)
            exported = len(spans) if self._export(spans) else 0
            for reason, lost in (
                (SpanLoss.INVALID, len(batch) - len(spans)),
                (SpanLoss.EXPORT_FAILED, len(spans) - exported),
            ):
                if lost:
                    self._lost(lost, reason)
            with self._changed:
                self._failed += len(batch) - exported
                self._settled += len(batch)
                self._changed.notify_all()

    def _next_batch(self) -> list[Span]:
        """Wait for spans worth sending; none where the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or not self._open)
            self._changed.wait_for(self._due, timeout=self._limits.linger_seconds)
            batch: list[Span] = []
            weighs = 0
            while self._waiting and (not batch or weighs + weight(self._waiting[0]) <= self._limits.batch):
                span = self._waiting.popleft()
                batch.append(span)
                weighs += weight(span)
            self._weight -= weighs
            return batch

    def _due(self) -> bool:
        return self._weight >= self._limits.batch or self._hurry > self._settled or not self._open

    def _converted(self, batch: list[Span]) -> list[ReadableSpan]:
        """Return the spans of `batch` that can be written at all."""
        spans: list[ReadableSpan] = []
        for span in batch:
            with contextlib.suppress(ValueError):
                spans.append(self._convert(span))
        return spans

    def _export(self, spans: list[ReadableSpan]) -> bool:
        try:
            return not spans or self._exporter.export(spans) is SpanExportResult.SUCCESS
        except Exception:  # noqa: BLE001 (whatever an exporter does, the next batch may go)
            return False
