"""Spans of the domain as finished OpenTelemetry spans, made without a tracer.

A tracer draws ids and reads the clock. Here ids follow from the decision, and times from objects. A tracer
also drops events and links beyond 128.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link as OtelLink
from opentelemetry.trace import SpanContext as OtelContext
from opentelemetry.trace import SpanKind as OtelKind
from opentelemetry.trace import Status, StatusCode, TraceFlags

from treenail.domain.telemetry.tracing import Attribute, Link, Span, SpanContext, SpanEvent, SpanKind

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LARGEST_INTEGER: Final = 2**63 - 1
_KINDS: Final = {
    SpanKind.INTERNAL: OtelKind.INTERNAL,
    SpanKind.CLIENT: OtelKind.CLIENT,
    SpanKind.PRODUCER: OtelKind.PRODUCER,
    SpanKind.CONSUMER: OtelKind.CONSUMER,
}


def readable(span: Span, resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    """Return `span` as OpenTelemetry's exporters take it, with its own ids and times, and uncut.

    One that took no time lasts a nanosecond: Jaeger warns of it as one of negative duration.

    Raises:
        ValueError: its ids are no hexadecimal numbers.
    """
    start, end = _nanoseconds(span.start), _nanoseconds(span.end)
    return ReadableSpan(
        name=span.name,
        context=_context(span.context),
        parent=None if span.parent is None else _context(span.parent),
        resource=resource,
        attributes=_attributes(span.attributes),
        events=[_event(event) for event in span.events],
        links=[_link(link) for link in span.links],
        kind=_KINDS[span.kind],
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
        start_time=start,
        end_time=start + 1 if end == start else end,
        instrumentation_scope=scope,
    )


def _context(context: SpanContext) -> OtelContext:
    return OtelContext(
        trace_id=int(context.trace_id, 16),
        span_id=int(context.span_id, 16),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


def _event(event: SpanEvent) -> Event:
    return Event(event.name, _attributes(event.attributes), _nanoseconds(event.at))


def _link(link: Link) -> OtelLink:
    return OtelLink(_context(link.to), _attributes(link.attributes))


def _nanoseconds(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND * 1000


def _attributes(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    return {name: _within_64_bits(value) for name, value in attributes.items()}


def _within_64_bits(value: Attribute) -> Attribute:
    # A larger integer would make the exporter refuse the whole batch.
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        return str(value)
    return value
