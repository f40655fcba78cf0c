from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from treenail.adapters.telemetry.export_queue import ExportQueue, QueueLimits, SpanLoss, weight
from treenail.adapters.telemetry.readable_spans import readable
from treenail.domain.telemetry.tracing import Link, Span, SpanContext, SpanEvent

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RESOURCE, SCOPE = Resource({}), InstrumentationScope("test")
ROOT = SpanContext.root("decide/1")
LONG = 3600.0


def span(name: str, *, events: int = 0, links: int = 0, context: SpanContext | None = None) -> Span:
    return Span(
        context=context or ROOT.child(name),
        name=name,
        start=NOW,
        end=NOW,
        events=(SpanEvent("e", NOW),) * events,
        links=(Link(ROOT),) * links,
    )


class Collector(SpanExporter):
    """A collector that takes, refuses, breaks or hangs, as told."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.asked = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.answer: SpanExportResult | Exception = SpanExportResult.SUCCESS
        self.shut = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        answer = self.answer
        self.asked.release()
        self.may_answer.wait()
        if isinstance(answer, Exception):
            raise answer
        if answer is SpanExportResult.SUCCESS:
            self.batches.append([span.name for span in spans])
        return answer

    def shutdown(self) -> None:
        self.shut = True

    @property
    def names(self) -> list[str]:
        return [name for batch in self.batches for name in batch]


class Losses(Counter[SpanLoss]):
    def add(self, spans: int, reason: SpanLoss) -> None:
        self[reason] += spans


@contextmanager
def queue(collector: Collector, losses: Losses, **limits: Any) -> Iterator[ExportQueue]:
    before = set(threading.enumerate())
    made = ExportQueue(
        collector,
        lambda s: readable(s, RESOURCE, SCOPE),
        losses.add,
        QueueLimits(**{"linger_seconds": LONG, **limits}),
    )
    yield made
    collector.may_answer.set()
    made.close(10)
    assert set(threading.enumerate()) <= before


def test_spans_go_out_together_when_flushed() -> None:
    collector, losses = Collector(), Losses()
    with queue(collector, losses) as exports:
        for name in ("a", "b", "c"):
            exports.put(span(name))

        assert exports.flush(10)
        assert collector.batches == [["a", "b", "c"]]
        assert not losses


def test_spans_go_out_by_themselves_after_a_while() -> None:
    collector = Collector()
    with queue(collector, Losses(), linger_seconds=0.001) as exports:
        exports.put(span("a"))

        assert collector.asked.acquire(timeout=10)


def test_a_full_batch_does_not_wait_for_more() -> None:
    collector = Collector()
    with queue(collector, Losses(), batch=4) as exports:
        exports.put(span("a", events=3))

        assert collector.asked.acquire(timeout=10)


def test_a_batch_is_no_larger_than_its_limit_but_for_one_large_span() -> None:
    collector = Collector()
    with queue(collector, Losses(), batch=4) as exports:
        collector.may_answer.clear()
        exports.put(span("first", events=3))
        assert collector.asked.acquire(timeout=10)
        for name, links in (("a", 1), ("b", 1), ("c", 0), ("huge", 100), ("d", 0)):
            exports.put(span(name, links=links))
        collector.may_answer.set()

        assert exports.flush(10)
        assert collector.batches == [["first"], ["a", "b"], ["c"], ["huge"], ["d"]]


def test_a_collector_that_hangs_holds_nobody_up() -> None:
    collector, losses = Collector(), Losses()
    with queue(collector, losses, batch=1, waiting=10) as exports:
        collector.may_answer.clear()
        exports.put(span("with the collector"))
        assert collector.asked.acquire(timeout=10)

        for i in range(15):
            exports.put(span(str(i)))

        assert not exports.flush(0.01)
        assert losses == {SpanLoss.QUEUE_FULL: 5}
        collector.may_answer.set()
        assert exports.flush(10)
        assert collector.names == ["with the collector", *map(str, range(10))]


def test_a_span_larger_than_the_queue_goes_when_it_is_alone() -> None:
    collector, losses = Collector(), Losses()
    with queue(collector, losses, waiting=5) as exports:
        exports.put(span("huge", links=100))
        exports.put(span("late"))

        assert exports.flush(10)
        assert collector.names == ["huge"]
        assert losses == {SpanLoss.QUEUE_FULL: 1}


@pytest.mark.parametrize("answer", [SpanExportResult.FAILURE, ConnectionError("nobody there")])
def test_what_a_collector_refuses_is_lost_and_counted_and_the_next_goes(
    answer: SpanExportResult | Exception,
) -> None:
    collector, losses = Collector(), Losses()
    with queue(collector, losses) as exports:
        collector.answer = answer
        exports.put(span("a"))
        exports.put(span("b"))
        assert not exports.flush(10)

        collector.answer = SpanExportResult.SUCCESS
        exports.put(span("c"))

        assert exports.flush(10)
        assert collector.names == ["c"]
        assert losses == {SpanLoss.EXPORT_FAILED: 2}


def test_a_span_that_cannot_be_written_does_not_take_others_with_it() -> None:
    collector, losses = Collector(), Losses()
    with queue(collector, losses) as exports:
        exports.put(span("a"))
        exports.put(span("odd", context=SpanContext("no", "number")))
        exports.put(span("b"))

        assert not exports.flush(10)
        assert collector.names == ["a", "b"]
        assert losses == {SpanLoss.INVALID: 1}


def test_closing_exports_what_waits_and_ends_the_thread() -> None:
    collector, losses = Collector(), Losses()
    with queue(collector, losses) as exports:
        exports.put(span("a"))

        assert exports.close(10)
        assert collector.names == ["a"]
        assert collector.shut
        exports.put(span("late"))
        assert losses == {SpanLoss.CLOSED: 1}
        assert exports.flush(10)


def test_closing_gives_up_on_a_collector_that_hangs() -> None:
    collector, losses = Collector(), Losses()
    with queue(collector, losses, batch=1) as exports:
        collector.may_answer.clear()
        collector.answer = SpanExportResult.FAILURE
        exports.put(span("with the collector"))
        assert collector.asked.acquire(timeout=10)
        exports.put(span("waits"))
        exports.put(span("waits too"))

        assert not exports.close(0.01)
        assert losses == {SpanLoss.CLOSED: 2}
        collector.may_answer.set()
        exports.flush(10)
        assert losses == {SpanLoss.CLOSED: 2, SpanLoss.EXPORT_FAILED: 1}


def test_a_span_weighs_its_events_and_links_too() -> None:
    assert weight(span("a", events=3, links=4)) == 8
