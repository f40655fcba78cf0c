"""What every implementation of the `Telemetry` port does, read back through a probe of its own."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.adapters.telemetry.otel import OtelTelemetry
from treenail.adapters.telemetry.structured_log import StructuredLog
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry.series import Series, Since
from treenail.domain.telemetry.state_metrics import CLUSTER_STATE_UNSYNCED, NODEPOOLS_USAGE
from treenail.domain.telemetry.tracing import Link, Span, SpanContext, SpanEvent, SpanKind

NOW = datetime(2026, 3, 1, 12, 30, 15, 123_456, tzinfo=UTC)
ROOT = SpanContext.root("decide/1")


class StoppedClock:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


class Probe(Protocol):
    """A telemetry, and what it has written."""

    telemetry: Telemetry

    def spans(self) -> list[Span]: ...
    def counter(self, metric: str, **labels: str) -> float: ...
    def gauge(self, metric: str, **labels: str) -> float | None: ...
    def histogram(self, metric: str, **labels: str) -> tuple[int, float]: ...
    def shown(self, metric: str, **labels: str) -> float | None: ...
    def lines(self) -> list[tuple[str, dict[str, Any]]]: ...


class RecordingProbe:
    def __init__(self) -> None:
        self.telemetry = RecordingTelemetry()

    def spans(self) -> list[Span]:
        return list(self.telemetry.spans())

    def counter(self, metric: str, **labels: str) -> float:
        return self.telemetry.counted(metric, **labels)

    def gauge(self, metric: str, **labels: str) -> float | None:
        return self.telemetry.gauged(metric, **labels)

    def histogram(self, metric: str, **labels: str) -> tuple[int, float]:
        seen = self.telemetry.observed(metric, **labels)
        return seen.count, seen.total

    def shown(self, metric: str, **labels: str) -> float | None:
        found = {tuple(sorted(of.items())): v for of, v in self.telemetry.shown(metric, NOW)}
        return found.get(tuple(sorted(labels.items())))

    def lines(self) -> list[tuple[str, dict[str, Any]]]:
        return [(line.message, {k: str(v) for k, v in line.fields.items()}) for line in self.telemetry.logs]


class OtelProbe:
    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._stream = io.StringIO()
        self.telemetry = OtelTelemetry(
            exporter=self._exporter, log=StructuredLog(self._stream, StoppedClock()), resource={}
        )

    def spans(self) -> list[Span]:
        assert self.telemetry.flush(10)
        last = {read.context.span_id: read for read in self._exporter.get_finished_spans()}
        return [as_ours(read) for read in last.values()]

    def counter(self, metric: str, **labels: str) -> float:
        return self.telemetry.metrics.value(metric, labels) or 0

    def gauge(self, metric: str, **labels: str) -> float | None:
        return self.telemetry.metrics.value(metric, labels)

    def histogram(self, metric: str, **labels: str) -> tuple[int, float]:
        registry = self.telemetry.metrics
        return int(registry.value(f"{metric}_count", labels) or 0), registry.value(
            f"{metric}_sum", labels
        ) or 0

    def shown(self, metric: str, **labels: str) -> float | None:
        return self.telemetry.metrics.value(metric, labels)

    def lines(self) -> list[tuple[str, dict[str, Any]]]:
        lines = [json.loads(line) for line in self._stream.getvalue().splitlines()]
        return [
            (line["message"], {k: v for k, v in line.items() if k not in ("message", "time", "level")})
            for line in lines
        ]


def as_ours(read: ReadableSpan) -> Span:
    """Translate back, to compare."""

    def context(of: Any) -> SpanContext:
        return SpanContext(f"{of.trace_id:032x}", f"{of.span_id:016x}")

    def time(nanoseconds: int | None) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=(nanoseconds or 0) // 1000)

    return Span(
        context=context(read.get_span_context()),
        parent=context(read.parent) if read.parent else None,
        name=read.name,
        start=time(read.start_time),
        end=time(read.end_time),
        kind=SpanKind(read.kind.name.lower()),
        attributes=dict(read.attributes or {}),  # type: ignore[arg-type]
        events=tuple(SpanEvent(e.name, time(e.timestamp), dict(e.attributes or {})) for e in read.events),  # type: ignore[arg-type]
        links=tuple(Link(context(link.context), dict(link.attributes or {})) for link in read.links),  # type: ignore[arg-type]
        error=read.status.description or "",
    )


@pytest.fixture(params=[RecordingProbe, OtelProbe])
def probe(request: pytest.FixtureRequest) -> Iterator[Probe]:
    made = request.param()
    yield made
    if isinstance(made, OtelProbe):
        assert made.telemetry.close(10)


def span(name: str = "decide", context: SpanContext = ROOT, **fields: Any) -> Span:
    return Span(
        **{"context": context, "name": name, "start": NOW, "end": NOW + timedelta(seconds=1), **fields}
    )


def test_a_span_is_passed_on_exactly_as_it_is(probe: Probe) -> None:
    whole = span(
        context=ROOT.child("launch"),
        parent=ROOT,
        end=NOW + timedelta(microseconds=1),
        kind=SpanKind.CLIENT,
        attributes={
            "rpc.system": "aws-api",
            "treenail.instances": 2,
            "treenail.price": 0.0425,
            "treenail.spot": True,
            "k8s.pod.uids": ("a", "b"),
        },
        events=(
            SpanEvent("ice", NOW, {"host.type": "c5.xlarge"}),
            SpanEvent("retried", NOW + timedelta(seconds=2)),
        ),
        links=(Link(SpanContext.root("decide/2"), {"treenail.why": "replaced"}),),
        error="InsufficientInstanceCapacity",
    )

    probe.telemetry.record(whole)

    assert probe.telemetry.flush(10)
    assert probe.spans() == [whole]


@pytest.mark.parametrize("kind", SpanKind)
def test_a_span_keeps_its_kind(probe: Probe, kind: SpanKind) -> None:
    probe.telemetry.record(span(kind=kind))

    assert [s.kind for s in probe.spans()] == [kind]


def test_spans_are_passed_on_in_order(probe: Probe) -> None:
    written = [span(f"span {i}", ROOT.child(str(i)), parent=ROOT) for i in range(1_000)]

    for one in written:
        probe.telemetry.record(one)

    assert probe.telemetry.flush(10)
    assert probe.spans() == written


def test_a_span_written_again_is_the_same_span(probe: Probe) -> None:
    probe.telemetry.record(span(attributes={"attempt": 1}))
    probe.telemetry.record(span(attributes={"attempt": 2}))

    assert probe.spans() == [span(attributes={"attempt": 2})]


def test_ten_thousand_events_and_links_are_not_cut(probe: Probe) -> None:
    events = (SpanEvent("class", NOW, {"pods": 1}),) * 10_000
    links = (Link(SpanContext.root("decide/2")),) * 10_000

    probe.telemetry.record(span(events=events, links=links))

    (read,) = probe.spans()
    assert (len(read.events), len(read.links)) == (10_000, 10_000)
    assert (read.events[-1], read.links[-1]) == (events[-1], links[-1])


def test_flushing_nothing_succeeds_at_once(probe: Probe) -> None:
    assert probe.telemetry.flush(0)


def test_a_counter_adds_up_for_each_set_of_labels(probe: Probe) -> None:
    name = "karpenter_nodes_created_total"

    probe.telemetry.count(name, nodepool="default", zone="a")
    probe.telemetry.count(name, 2, zone="a", nodepool="default")
    probe.telemetry.count(name, nodepool="default", zone="b")

    assert probe.counter(name, nodepool="default", zone="a") == 3
    assert probe.counter(name, nodepool="default", zone="b") == 1
    assert probe.counter(name, nodepool="other", zone="b") == 0


def test_a_gauge_is_what_it_was_last_set_to(probe: Probe) -> None:
    probe.telemetry.gauge("karpenter_scheduler_queue_depth", 7, controller="packer")
    probe.telemetry.gauge("karpenter_scheduler_queue_depth", 3, controller="packer")

    assert probe.gauge("karpenter_scheduler_queue_depth", controller="packer") == 3
    assert probe.gauge("karpenter_scheduler_queue_depth", controller="batcher") is None


def test_a_histogram_counts_and_adds_up(probe: Probe) -> None:
    for seconds in (0.25, 0.5, 20.0):
        probe.telemetry.observe("treenail_decision_phase_duration_seconds", seconds, phase="pack")

    assert probe.histogram("treenail_decision_phase_duration_seconds", phase="pack") == (3, 20.75)
    assert probe.histogram("treenail_decision_phase_duration_seconds", phase="batch") == (0, 0)


def test_what_is_shown_of_a_thing_takes_the_place_of_what_was_and_goes(probe: Probe) -> None:
    name, usage = "karpenter_nodepools_usage", NODEPOOLS_USAGE
    cpu, memory = {"nodepool": "a", "resource_type": "cpu"}, {"nodepool": "a", "resource_type": "memory"}

    probe.telemetry.show("pool a", lambda: (Series(usage, 2, cpu), Series(usage, 3, memory)))
    probe.telemetry.show("pool b", lambda: (Series(usage, 5, {**cpu, "nodepool": "b"}),))
    probe.telemetry.show("pool a", lambda: (Series(usage, 4, cpu),))

    assert probe.shown(name, **cpu) == 4
    assert probe.shown(name, **memory) is None
    assert probe.shown(name, **{**cpu, "nodepool": "b"}) == 5

    probe.telemetry.show("pool a", None)
    assert probe.shown(name, **cpu) is None


def test_a_time_is_shown_as_the_seconds_since(probe: Probe) -> None:
    began = NOW - timedelta(seconds=90)

    probe.telemetry.show("decision", lambda: (Series(CLUSTER_STATE_UNSYNCED, Since(began)),))

    assert probe.shown(CLUSTER_STATE_UNSYNCED.name) == 90


def test_a_log_line_keeps_its_message_and_fields(probe: Probe) -> None:
    probe.telemetry.log("found pods", logger="packer", trace_id=ROOT.trace_id, pods="5")
    probe.telemetry.log("bought nodes", logger="launcher")

    assert probe.lines() == [
        ("found pods", {"logger": "packer", "trace_id": ROOT.trace_id, "pods": "5"}),
        ("bought nodes", {"logger": "launcher"}),
    ]


def test_any_object_can_be_a_field(probe: Probe) -> None:
    probe.telemetry.log("odd", logger="x", context=ROOT, kind=SpanKind.CLIENT)

    assert probe.lines() == [("odd", {"logger": "x", "context": str(ROOT), "kind": "client"})]
