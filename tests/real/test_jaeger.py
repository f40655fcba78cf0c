from __future__ import annotations

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import format_trace_id

from tests.real.parts.jaeger import Jaeger


def send(to: Jaeger, service: str) -> str:
    """Send a span `outer` that holds a span `inner`, and return the id of their trace."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    exporter = OTLPSpanExporter(endpoint=f"{to.otlp_http}/v1/traces")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("outer") as outer, tracer.start_as_current_span("inner") as inner:
        inner.set_attribute("colour", "green")
    provider.shutdown()
    return format_trace_id(outer.get_span_context().trace_id)


def test_a_trace_that_was_sent_is_read_back(jaeger: Jaeger) -> None:
    trace = jaeger.trace(send(jaeger, "reader"), spans=2)

    spans = {span["operationName"]: span for span in trace["spans"]}
    assert set(spans) == {"outer", "inner"}
    assert spans["inner"]["references"][0]["spanID"] == spans["outer"]["spanID"]


def test_traces_are_found_by_service_and_by_what_they_say(jaeger: Jaeger) -> None:
    trace_id = send(jaeger, "finder")
    jaeger.trace(trace_id, spans=2)

    def found(**query: str) -> list[str]:
        operation = query.pop("operation", None)
        return [trace["traceID"] for trace in jaeger.find(service="finder", operation=operation, tags=query)]

    assert "finder" in jaeger.services()
    assert found() == [trace_id]
    assert found(operation="inner", colour="green") == [trace_id]
    assert found(operation="other") == []
    assert found(colour="red") == []


def test_a_trace_nobody_sent_is_empty(jaeger: Jaeger) -> None:
    assert jaeger.trace("0" * 31 + "1", patience=0) == {}
