"""The metrics declared in the domain, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, TypeAlias

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from treenail.adapters.telemetry.recent_quantiles import RecentQuantiles
from treenail.adapters.telemetry.shown_series import ShownSeries
from treenail.domain.model.runtime import Clock
from treenail.domain.telemetry.metric import Metric, MetricKind
from treenail.domain.telemetry.metrics import BY_NAME, METRICS, METRICS_REFUSED
from treenail.domain.telemetry.series import Gauges

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Instrument: TypeAlias = "Counter | Gauge | Histogram"


class MetricRegistry:
    """Holds a value for every series that was written, and writes them all out. Threads may share it.

    A value for no metric that is declared is counted as refused: a defect, but none to stop for. Those that
    are `hidden`, by name, are not held at all.
    """

    def __init__(self, clock: Clock, hidden: Collection[str] = ()) -> None:
        self._clock = clock
        self._hidden = frozenset(hidden)
        # A second series beside each, with the time of its first value: dashboards do not expect it.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        told = [metric for metric in METRICS if not metric.shown and metric.name not in self._hidden]
        self._quantiles = {m.name: RecentQuantiles(m) for m in told if m.kind is MetricKind.SUMMARY}
        self._instruments = {
            metric.name: _instrument(metric, self._registry)
            for metric in told
            if metric.name not in self._quantiles
        }
        self._shown = ShownSeries([metric for metric in METRICS if metric.shown], self._refuse)

    def count(self, metric: str, amount: float, labels: dict[str, str]) -> None:
        """Add to a counter."""
        if metric in self._hidden:
            return
        instrument = self._written_as(MetricKind.COUNTER, metric, labels)
        if isinstance(instrument, Counter) and amount >= 0:
            instrument.inc(amount)
        else:
            self._refuse()

    def observe(self, metric: str, value: float, labels: dict[str, str]) -> None:
        """Add a value to a histogram, or to a summary."""
        if metric in self._hidden:
            return
        recent = self._quantiles.get(metric)
        if recent is not None and BY_NAME[metric].accepts(MetricKind.SUMMARY, labels):
            recent.observe(value, labels, self._clock.monotonic())
            return
        instrument = self._written_as(MetricKind.HISTOGRAM, metric, labels)
        if isinstance(instrument, Histogram):
            instrument.observe(value)
        else:
            self._refuse()

    def gauge(self, metric: str, value: float, labels: dict[str, str]) -> None:
        """Set a gauge."""
        if metric in self._hidden:
            return
        instrument = self._written_as(MetricKind.GAUGE, metric, labels)
        if isinstance(instrument, Gauge):
            instrument.set(value)
        else:
            self._refuse()

    def show(self, about: str, gauges: Gauges | None) -> None:
        """Show these series about a thing, in place of those before; with None, none any more."""
        hidden = self._hidden
        if gauges is None or not hidden:
            self._shown.show(about, gauges)
        else:
            self._shown.show(about, lambda: (one for one in gauges() if one.metric.name not in hidden))

    def exposition(self) -> bytes:
        """Return all series in Prometheus' text format, which is of `CONTENT_TYPE`."""
        now = self._clock.monotonic()
        recent = "".join(one.exposition(now) for one in self._quantiles.values())
        shown = self._shown.exposition(self._clock.now())
        return generate_latest(self._registry) + (recent + shown).encode()

    def value(self, sample: str, labels: dict[str, str]) -> float | None:
        """Return a sample as it would be written out, None where there is none."""
        metric = BY_NAME.get(sample)
        if metric is not None and metric.shown:
            return self._shown.value(sample, labels, self._clock.now())
        recent = self._quantiles.get(sample.removesuffix("_sum").removesuffix("_count"))
        if recent is not None:
            return recent.value(sample, labels, self._clock.monotonic())
        return self._registry.get_sample_value(sample, labels)

    def _written_as(self, kind: MetricKind, name: str, labels: dict[str, str]) -> Instrument | None:
        metric, instrument = BY_NAME.get(name), self._instruments.get(name)
        if metric is None or instrument is None or not metric.accepts(kind, labels):
            return None
        return instrument.labels(**labels) if labels else instrument

    def _refuse(self) -> None:
        self.count(METRICS_REFUSED.name, 1, {})


def _instrument(metric: Metric, registry: CollectorRegistry) -> Instrument:
    match metric.kind:
        case MetricKind.COUNTER:
            return Counter(metric.name, metric.help, metric.labels, registry=registry)
        case MetricKind.GAUGE:
            return Gauge(metric.name, metric.help, metric.labels, registry=registry)
        case MetricKind.HISTOGRAM:
            return Histogram(
                metric.name, metric.help, metric.labels, registry=registry, buckets=metric.buckets
            )
        case MetricKind.SUMMARY:
            raise ValueError(f"{metric.name} is a summary, which has no instrument")
