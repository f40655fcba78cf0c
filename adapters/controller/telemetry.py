"""Telemetry, made from the settings."""

from __future__ import annotations

import logging
import os
import platform
import socket
from collections.abc import Sequence
from importlib import metadata
from typing import Final, TextIO

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from treenail.adapters.settings.settings import CloudName, Settings, TraceSampler
from treenail.adapters.telemetry.otel import OtelTelemetry, otlp_exporter
from treenail.adapters.telemetry.structured_log import StructuredLog
from treenail.domain.model.runtime import Clock
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry.metrics import OF_CLUSTER_STATE
from treenail.domain.telemetry.series import Series
from treenail.domain.telemetry.state_metrics import BUILD_INFO

_TRACES: Final = "/v1/traces"
# Pykka tells of the failures of actors, which we report ourselves.
_SILENT: Final = ("pykka",)


class _Nowhere(SpanExporter):
    """Takes every span, and keeps none."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Drop the spans, and report success."""
        del spans
        return SpanExportResult.SUCCESS


def open_telemetry(settings: Settings, clock: Clock, stream: TextIO) -> OtelTelemetry:
    """Return telemetry that logs to `stream`, and exports spans where a collector is named."""
    endpoint = settings.otel_exporter_otlp_traces_endpoint
    if not endpoint and settings.otel_exporter_otlp_endpoint:
        endpoint = settings.otel_exporter_otlp_endpoint.rstrip("/") + _TRACES
    version = metadata.version("treenail")
    telemetry = OtelTelemetry(
        exporter=otlp_exporter(endpoint) if endpoint else _Nowhere(),
        log=StructuredLog(stream, clock, level=settings.log_level.value),
        resource={
            "service.version": version,
            "service.instance.id": f"{socket.gethostname()}-{os.getpid()}",
            "k8s.cluster.name": settings.cluster_name,
            **_place(settings),
        },
        sampled=_sampled(settings),
        hidden=OF_CLUSTER_STATE if settings.disable_cluster_state_observability else (),
    )
    python = {"goversion": f"python{platform.python_version()}", "goarch": platform.machine()}
    build = Series(BUILD_INFO, 1, {"version": version, **python})
    telemetry.show("build", lambda: (build,))
    return telemetry


def _place(settings: Settings) -> dict[str, str]:
    """Return where the nodes are, as far as the settings say it: a KWOK cluster is in no cloud."""
    if settings.cloud is CloudName.KWOK:
        return {}
    region = {"cloud.region": settings.aws_region} if settings.aws_region else {}
    return {"cloud.provider": "aws", **region}


def _sampled(settings: Settings) -> float:
    """Return the share of traces to export. No span of ours has a parent elsewhere to ask first."""
    match settings.otel_traces_sampler:
        case TraceSampler.ALWAYS_ON | TraceSampler.PARENT_OR_ALWAYS_ON:
            return 1.0
        case TraceSampler.ALWAYS_OFF | TraceSampler.PARENT_OR_ALWAYS_OFF:
            return 0.0
        case TraceSampler.RATIO | TraceSampler.PARENT_OR_RATIO:
            return settings.otel_traces_sampler_arg


class LibraryLogs(logging.Handler):
    """Passes the warnings of libraries on to our log."""

    def __init__(self, telemetry: Telemetry) -> None:
        super().__init__(logging.WARNING)
        self._telemetry = telemetry

    def attach(self) -> None:
        """Take all that libraries log in this process."""
        logging.getLogger().handlers[:] = [self]
        for name in _SILENT:
            logging.getLogger(name).propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one line on."""
        try:
            text = record.getMessage()
        except (TypeError, ValueError):
            text = str(record.msg)
        level = "error" if record.levelno >= logging.ERROR else "warning"
        self._telemetry.log(text, logger=record.name, level=level)
