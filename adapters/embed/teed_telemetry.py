"""Telemetry that goes to two places: what a rehearsal keeps of it, and what a test brings."""

from __future__ import annotations

from treenail.domain.ports import Telemetry
from treenail.domain.telemetry.series import Gauges
from treenail.domain.telemetry.tracing import Span


class TeedTelemetry:
    """The port `Telemetry`: passes everything on to both."""

    def __init__(self, kept: Telemetry, brought: Telemetry) -> None:
        self._both = (kept, brought)

    def record(self, span: Span) -> None:
        """Pass a finished span on."""
        for one in self._both:
            one.record(span)

    def flush(self, seconds: float) -> bool:
        """Wait for both, each at most `seconds`; False where that was not enough."""
        first, second = (one.flush(seconds) for one in self._both)
        return first and second

    def count(self, metric: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        for one in self._both:
            one.count(metric, amount, **labels)

    def observe(self, metric: str, value: float, /, **labels: str) -> None:
        """Add a value to a histogram."""
        for one in self._both:
            one.observe(metric, value, **labels)

    def gauge(self, metric: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        for one in self._both:
            one.gauge(metric, value, **labels)

    def show(self, about: str, gauges: Gauges | None, /) -> None:
        """Show the series about a thing."""
        for one in self._both:
            one.show(about, gauges)

    def log(self, message: str, /, **fields: object) -> None:
        """Write a log line."""
        for one in self._both:
            one.log(message, **fields)
