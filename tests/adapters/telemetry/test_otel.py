from __future__ import annotations

import gzip
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from treenail.adapters.telemetry.otel import OtelTelemetry, otlp_exporter
from treenail.adapters.telemetry.readable_spans import readable
from treenail.adapters.telemetry.structured_log import StructuredLog
from treenail.domain.telemetry.tracing import Link, Span, SpanContext, SpanEvent, SpanKind

NOW = datetime(2026, 3, 1, 12, 30, 15, 123_456, tzinfo=UTC)
ROOT = SpanContext.root("decide/1")


class StoppedClock:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


@contextmanager
def telemetry(
    exporter: SpanExporter, stream: io.StringIO | None = None, *, sampled: float = 1.0
) -> Iterator[OtelTelemetry]:
    log = StructuredLog(stream or io.StringIO(), StoppedClock())
    resource = {"service.version": "1.2.3", "k8s.cluster.name": "demo"}
    made = OtelTelemetry(exporter=exporter, log=log, resource=resource, sampled=sampled)
    yield made
    made.close(10)


def span(**fields: Any) -> Span:
    return Span(**{"context": ROOT, "name": "decide", "start": NOW, "end": NOW, **fields})


class Receiver(BaseHTTPRequestHandler):
    received: ClassVar[list[ExportTraceServiceRequest]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append(ExportTraceServiceRequest.FromString(gzip.decompress(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay silent."""


def test_spans_arrive_at_a_collector_with_their_ids_and_times() -> None:
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    child = ROOT.child("launch")

    with telemetry(otlp_exporter(f"http://127.0.0.1:{server.server_port}/v1/traces")) as ours:
        ours.record(span(context=child, parent=ROOT, name="launch", kind=SpanKind.CLIENT, error="ICE"))
        assert ours.flush(10)
    server.shutdown()
    serving.join()
    server.server_close()

    (request,) = Receiver.received
    resource = {a.key: a.value.string_value for a in request.resource_spans[0].resource.attributes}
    scope = request.resource_spans[0].scope_spans[0]
    assert resource["service.name"] == "treenail"
    assert resource["service.version"] == "1.2.3"
    assert resource["k8s.cluster.name"] == "demo"
    assert (scope.scope.name, scope.scope.version) == ("treenail", "1.2.3")
    (read,) = scope.spans
    assert (read.trace_id.hex(), read.span_id.hex()) == (child.trace_id, child.span_id)
    assert read.parent_span_id.hex() == ROOT.span_id
    assert read.start_time_unix_nano == 1_772_368_215_123_456_000
    assert (read.status.code, read.status.message) == (2, "ICE")


def test_a_collector_that_is_not_there_costs_no_more_than_the_wait_allowed() -> None:
    with telemetry(otlp_exporter("http://127.0.0.1:9/v1/traces")) as ours:
        ours.record(span())

        assert not ours.flush(0.01)
        assert not ours.close(0.01)
        assert ours.metrics.value("treenail_spans_recorded_total", {}) == 1


def test_what_is_lost_is_counted() -> None:
    with telemetry(InMemorySpanExporter()) as ours:
        ours.record(span())
        ours.record(span(context=SpanContext("no", "number")))
        ours.flush(10)

        assert ours.metrics.value("treenail_spans_recorded_total", {}) == 2
        assert ours.metrics.value("treenail_spans_dropped_total", {"reason": "invalid"}) == 1


def test_of_a_share_of_traces_each_is_exported_in_whole_or_not_at_all() -> None:
    exported = []
    for _ in range(2):
        exporter = InMemorySpanExporter()
        with telemetry(exporter, sampled=0.25) as ours:
            for number in range(400):
                root = SpanContext.root(f"decide/{number}")
                ours.record(span(context=root))
                ours.record(span(context=root.child("pack"), parent=root, name="pack"))
            ours.flush(10)
            spans = exporter.get_finished_spans()
            assert ours.metrics.value("treenail_spans_recorded_total", {}) == len(spans)
        exported.append([(one.context.trace_id, one.name) for one in spans if one.context])

    traces = {trace for trace, _ in exported[0]}
    assert 70 <= len(traces) <= 130
    assert len(exported[0]) == 2 * len(traces)
    assert exported[0] == exported[1]


@pytest.mark.parametrize(("sampled", "left"), [(0.0, 0), (1.0, 1)])
def test_no_trace_or_every_trace_can_be_exported(sampled: float, left: int) -> None:
    exporter = InMemorySpanExporter()
    with telemetry(exporter, sampled=sampled) as ours:
        ours.record(span())
        ours.flush(10)

        assert len(exporter.get_finished_spans()) == left


def test_a_hundred_thousand_events_and_links_are_not_cut() -> None:
    large = span(events=(SpanEvent("class", NOW),) * 100_000, links=(Link(ROOT),) * 100_000)

    read = readable(large, Resource({}), InstrumentationScope("test"))

    assert (len(read.events), len(read.links)) == (100_000, 100_000)
    assert (read.dropped_events, read.dropped_links, read.dropped_attributes) == (0, 0, 0)


@pytest.mark.parametrize(("took", "lasts"), [(0, 1), (2, 2000)], ids=["no time", "two microseconds"])
def test_a_span_that_took_no_time_lasts_a_nanosecond_for_jaeger_calls_it_negative(
    took: int, lasts: int
) -> None:
    took_so_long = span(start=NOW, end=NOW + timedelta(microseconds=took))

    read = readable(took_so_long, Resource({}), InstrumentationScope("test"))

    assert read.start_time is not None
    assert read.end_time == read.start_time + lasts


def test_an_integer_of_more_than_64_bits_is_written_as_text() -> None:
    read = readable(span(attributes={"big": 2**63, "ok": 2**63 - 1}), Resource({}), InstrumentationScope("t"))

    assert dict(read.attributes or {}) == {"big": "9223372036854775808", "ok": 2**63 - 1}


@pytest.mark.parametrize(
    ("write", "metric", "labels"),
    [
        ("count", "treenail_unheard_of_total", {}),
        ("count", "karpenter_nodes_created_total", {"nodepool": "default"}),
        ("count", "karpenter_scheduler_queue_depth", {"controller": "packer"}),
        ("gauge", "karpenter_nodes_created_total", {"nodepool": "default", "zone": "a"}),
        ("observe", "karpenter_scheduler_queue_depth", {"controller": "packer"}),
    ],
)
def test_a_metric_that_is_not_declared_so_is_refused_and_counted(
    write: str, metric: str, labels: dict[str, str]
) -> None:
    with telemetry(InMemorySpanExporter()) as ours:
        getattr(ours, write)(metric, 1, **labels)

        assert ours.metrics.value("treenail_metrics_refused_total", {}) == 1


def test_a_counter_never_falls() -> None:
    with telemetry(InMemorySpanExporter()) as ours:
        ours.count("karpenter_interruption_deleted_messages_total", -1)

        assert ours.metrics.value("karpenter_interruption_deleted_messages_total", {}) == 0
        assert ours.metrics.value("treenail_metrics_refused_total", {}) == 1


def test_metrics_are_written_out_as_prometheus_reads_them() -> None:
    with telemetry(InMemorySpanExporter()) as ours:
        ours.count("karpenter_nodes_created_total", nodepool="default", zone="us-east-1a")
        ours.gauge("treenail_actor_inbox_depth", 3920, actor="ClusterState")
        ours.observe(
            "karpenter_cloudprovider_duration_seconds",
            0.0002,
            controller="packer",
            method="PackRequested",
            provider="aws",
        )

        lines = ours.metrics.exposition().decode().splitlines()

    assert 'karpenter_nodes_created_total{nodepool="default",zone="us-east-1a"} 1.0' in lines
    assert "# TYPE karpenter_nodes_created_total counter" in lines
    assert 'treenail_actor_inbox_depth{actor="ClusterState"} 3920.0' in lines
    bucket = (
        "karpenter_cloudprovider_duration_seconds_bucket"
        '{controller="packer",le="0.005",method="PackRequested",provider="aws"} 1.0'
    )
    assert bucket in lines
    assert any(line.startswith("process_resident_memory_bytes ") for line in lines)
    assert not any("_created{" in line or "_created " in line for line in lines)
