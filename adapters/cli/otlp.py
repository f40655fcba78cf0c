"""The option `--otlp URL`: the spans of a rehearsal to a collector, such as Jaeger's, as if it ended now."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import metadata
from typing import Annotated, Final, TypeAlias
from urllib.parse import urlsplit

import typer

from treenail.adapters.cli.problems import BadInputError
from treenail.domain.telemetry.tracing import Span

OtlpUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--otlp",
        metavar="URL",
        help="Send the spans to a collector, such as http://localhost:4318, as if the rehearsal ended now.",
    ),
]
_TRACES: Final = "/v1/traces"
_BATCH: Final = 500


def checked(url: str | None) -> str | None:
    """Return where spans go: the path of OTLP over HTTP is added where the URL has none.

    Raises:
        BadInputError: it is no http or https URL.
    """
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadInputError(f"--otlp {url!r} is no URL of OTLP over HTTP, such as http://localhost:4318")
    return url if parts.path.strip("/") else url.rstrip("/") + _TRACES


def send_spans(url: str, spans: Iterable[Span], end: datetime, cluster: str, region: str) -> int:
    """Send spans of a cluster, shifted so that virtual time `end` is now, and return their number.

    Trace ids are those that are printed: a collector that gets a rehearsal twice has its traces twice.

    Raises:
        BadInputError: the collector does not take them.
        ModuleNotFoundError: OpenTelemetry's SDK is not installed.
    """
    # Exporting is for those who ask for it, and takes a good part of a second to import.
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415

    from treenail.adapters.telemetry.otel import SERVICE_NAME, otlp_exporter  # noqa: PLC0415
    from treenail.adapters.telemetry.readable_spans import readable  # noqa: PLC0415

    shift = datetime.now(UTC) - end
    version = metadata.version("treenail")
    resource = Resource.create(
        {
            "service.name": SERVICE_NAME,
            "service.version": version,
            "k8s.cluster.name": cluster,
            "cloud.provider": "aws",
            "cloud.region": region,
        }
    )
    scope = InstrumentationScope(SERVICE_NAME, version)
    ready = [readable(shifted(span, shift), resource, scope) for span in spans]
    # It tells of each of its attempts; what counts is told below.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    exporter = otlp_exporter(url)
    try:
        for first in range(0, len(ready), _BATCH):
            if exporter.export(ready[first : first + _BATCH]) is not SpanExportResult.SUCCESS:
                raise BadInputError(f"--otlp {url}: the collector did not take the spans within ten seconds")
    finally:
        exporter.shutdown()
    return len(ready)


def shifted(span: Span, by: timedelta) -> Span:
    """Return a span so much later, with its events."""
    events = tuple(replace(event, at=event.at + by) for event in span.events)
    return replace(span, start=span.start + by, end=span.end + by, events=events)
