"""Telemetry for production: spans to OpenTelemetry, metrics for Prometheus, log lines as JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from treenail.adapters.telemetry.export_queue import ExportQueue, QueueLimits, SpanLoss
from treenail.adapters.telemetry.metric_registry import MetricRegistry
from treenail.adapters.telemetry.readable_spans import readable
from treenail.adapters.telemetry.structured_log import StructuredLog
from treenail.domain.telemetry.metrics import SPANS_DROPPED, SPANS_RECORDED
from treenail.domain.telemetry.series import Gauges
from treenail.domain.telemetry.tracing import Span

SERVICE_NAME = "treenail"


class OtelTelemetry:
    """The `Telemetry` port. Only `flush` and `close` wait; nothing raises.

    `resource` says who speaks: service.version, service.instance.id, k8s.cluster.name and the like.
    What OTEL_RESOURCE_ATTRIBUTES names is added to it. `sampled` is the share of traces that are exported:
    each in whole or not at all, by its id, so that every process decides alike. Metrics that are `hidden` are
    not there.
    """

    def __init__(
        self,
        *,
        exporter: SpanExporter,
        log: StructuredLog,
        resource: Mapping[str, str],
        limits: QueueLimits | None = None,
        sampled: float = 1.0,
        hidden: Collection[str] = (),
    ) -> None:
        self.metrics = MetricRegistry(log.clock, hidden)
        # Who is told of every span, whether its trace is exported or not.
        self.on_span: Callable[[Span], None] | None = None
        self._log = log
        self._resource = Resource.create({"service.name": SERVICE_NAME, **resource})
        self._scope = InstrumentationScope(SERVICE_NAME, resource.get("service.version"))
        self._sampler = TraceIdRatioBased(sampled)
        self._queue = ExportQueue(exporter, self._readable, self._lost, limits or QueueLimits())

    def set_log_level(self, level: str) -> None:
        """Write log lines at or above another level from now on."""
        self._log.set_level(level)

    def record(self, span: Span) -> None:
        """Pass a finished span on to be exported, unless its trace is not sampled."""
        if self.on_span is not None:
            self.on_span(span)
        if not self._is_sampled(span):
            return
        self.metrics.count(SPANS_RECORDED.name, 1, {})
        self._queue.put(span)

    def flush(self, seconds: float) -> bool:
        """Wait until the spans recorded are exported, at most `seconds`; False where they were not."""
        return self._queue.flush(seconds)

    def close(self, seconds: float) -> bool:
        """Flush for at most `seconds` and end; spans recorded from now on are dropped, and counted."""
        return self._queue.close(seconds)

    def count(self, metric: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        self.metrics.count(metric, amount, labels)

    def observe(self, metric: str, value: float, /, **labels: str) -> None:
        """Add a value to a histogram."""
        self.metrics.observe(metric, value, labels)

    def gauge(self, metric: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        self.metrics.gauge(metric, value, labels)

    def show(self, about: str, gauges: Gauges | None, /) -> None:
        """Show these series about a thing, in place of those before; with None, none any more."""
        self.metrics.show(about, gauges)

    def log(self, message: str, /, **fields: object) -> None:
        """Write a log line."""
        self._log.write(message, fields)

    def _is_sampled(self, span: Span) -> bool:
        try:
            trace = int(span.context.trace_id, 16)
        except ValueError:
            return True  # It is counted as lost where it is written out.
        return self._sampler.should_sample(None, trace, span.name).decision is not Decision.DROP

    def _readable(self, span: Span) -> ReadableSpan:
        return readable(span, self._resource, self._scope)

    def _lost(self, spans: int, reason: SpanLoss) -> None:
        self.metrics.count(SPANS_DROPPED.name, spans, {"reason": reason.value})


def otlp_exporter(endpoint: str | None = None) -> SpanExporter:
    """Return an exporter to a collector, by OTLP over HTTP, compressed: large decisions make large requests.

    `endpoint` is the full URL ("http://collector:4318/v1/traces"); without one, the OTEL_EXPORTER_OTLP_*
    variables say where to.
    """
    from opentelemetry.exporter.otlp.proto.http import Compression  # noqa: PLC0415 (slow)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415

    return OTLPSpanExporter(endpoint=endpoint, compression=Compression.Gzip)
