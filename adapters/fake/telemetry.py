"""Telemetry that keeps everything it is given, for tests to read."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final, TypeAlias

from treenail.adapters.api.diagnosis import meant
from treenail.domain.telemetry import span_trees
from treenail.domain.telemetry.metric import MetricKind
from treenail.domain.telemetry.metrics import BY_NAME
from treenail.domain.telemetry.series import Gauges
from treenail.domain.telemetry.span_trees import SpanTree
from treenail.domain.telemetry.tracing import Span

_LOG_LINES_KEPT: Final = 100_000
# For those who do not ask for a value of a certain time.
_LATER: Final = datetime.max.replace(tzinfo=UTC)

Labels: TypeAlias = tuple[tuple[str, str], ...]
Series: TypeAlias = tuple[str, Labels]


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that was logged."""

    message: str
    fields: dict[str, Any]


@dataclass(slots=True)
class Observed:
    """Values that a histogram saw: how many, their sum and the largest."""

    count: int = 0
    total: float = 0.0
    largest: float = field(default=float("-inf"))

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.largest = max(self.largest, value)


class RecordingTelemetry:
    """The `Telemetry` port in memory. Threads may share it.

    `written` counts spans. One written twice is kept as it was written last, and counted in `rewritten`.

    A metric that is not declared, or is written with labels that it does not declare, raises ValueError.
    """

    def __init__(self) -> None:
        self.written = 0
        self.rewritten = 0
        self.logs: deque[LogLine] = deque(maxlen=_LOG_LINES_KEPT)
        self._traces: defaultdict[str, dict[str, Span]] = defaultdict(dict)
        self._counters: defaultdict[Series, float] = defaultdict(float)
        self._gauges: dict[Series, float] = {}
        self._histograms: defaultdict[Series, Observed] = defaultdict(Observed)
        self._shown: dict[str, Gauges] = {}
        self._known: set[tuple[MetricKind, Series]] = set()
        self._lock = Lock()

    def record(self, span: Span) -> None:
        """Keep a finished span."""
        with self._lock:
            self.written += 1
            trace = self._traces[span.context.trace_id]
            self.rewritten += span.context.span_id in trace
            trace[span.context.span_id] = span

    def flush(self, seconds: float) -> bool:
        """Return True: there is nothing to wait for."""
        del seconds
        return True

    def count(self, metric: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._counters[self._series(MetricKind.COUNTER, metric, labels)] += amount

    def observe(self, metric: str, value: float, /, **labels: str) -> None:
        """Add a value to a histogram, or to a summary."""
        with self._lock:
            known = BY_NAME.get(metric)
            recent = known is not None and known.kind is MetricKind.SUMMARY
            kind = MetricKind.SUMMARY if recent else MetricKind.HISTOGRAM
            self._histograms[self._series(kind, metric, labels)].add(value)

    def gauge(self, metric: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._gauges[self._series(MetricKind.GAUGE, metric, labels)] = value

    def show(self, about: str, gauges: Gauges | None, /) -> None:
        """Keep what computes the series about a thing, or forget it."""
        if gauges is None:
            self._shown.pop(about, None)
        else:
            self._shown[about] = gauges

    def log(self, message: str, /, **fields: object) -> None:
        """Keep a log line: of more than 100,000 the latest."""
        self.logs.append(LogLine(message, fields))

    def spans(self) -> tuple[Span, ...]:
        """Return all spans, trace by trace, in the order they were first written."""
        with self._lock:
            return tuple(span for trace in self._traces.values() for span in trace.values())

    def spans_of(self, trace_id: str) -> tuple[Span, ...]:
        """Return the spans of one trace, in the order they were first written."""
        with self._lock:
            return tuple(self._traces.get(trace_id, {}).values())

    def trace_ids(self) -> tuple[str, ...]:
        """Return the traces there are, in the order they were first written to."""
        with self._lock:
            return tuple(self._traces)

    def tree(self, trace_id: str) -> tuple[SpanTree, ...]:
        """Return the trees that a trace's spans form: one, unless there are orphans.

        Raises:
            ValueError: there is no such trace.
        """
        spans = self.spans_of(trace_id)
        if not spans:
            raise ValueError(f"there is no trace {trace_id}: decisions() and ends() name those there are")
        return span_trees.grow(spans)

    def orphans(self) -> tuple[Span, ...]:
        """Return the spans of all traces that name a parent which was not written."""
        return span_trees.orphans(self.spans())

    def counted(self, metric: str, /, **labels: str) -> float:
        """Return the sum of a counter over all its series that have `labels`.

        Raises:
            ValueError: no such counter or label is declared; the nearest is named. So for all that reads.
        """
        _check_asked((MetricKind.COUNTER,), metric, labels)
        with self._lock:
            return sum(v for series, v in self._counters.items() if _selected(series, metric, labels))

    def gauged(self, metric: str, /, **labels: str) -> float | None:
        """Return what a gauge was last set to, None where it never was. All its labels must be given."""
        _check_asked((MetricKind.GAUGE,), metric, labels, all_of_them=True)
        with self._lock:
            return self._gauges.get(_key(metric, labels))

    def shown(
        self, metric: str, /, now: datetime | None = None, **labels: str
    ) -> tuple[tuple[dict[str, str], float], ...]:
        """Return the labels and values, at a time, of the series of a gauge that have `labels`."""
        _check_asked((MetricKind.GAUGE, MetricKind.COUNTER), metric, labels)
        found: list[tuple[dict[str, str], float]] = []
        for one in (one for gauges in self._shown.values() for one in gauges()):
            if not one.declared:
                raise ValueError(f"no gauge {one.metric.name} with labels {sorted(one.labels)} is declared")
            if one.metric.name == metric and labels.items() <= one.labels.items():
                found.append((dict(one.labels), one.at(now or _LATER)))
        return tuple(found)

    def observed(self, metric: str, /, **labels: str) -> Observed:
        """Return what a histogram or a summary saw over all its series that have `labels`."""
        _check_asked((MetricKind.HISTOGRAM, MetricKind.SUMMARY), metric, labels)
        together = Observed()
        with self._lock:
            for series, seen in self._histograms.items():
                if _selected(series, metric, labels):
                    together.count += seen.count
                    together.total += seen.total
                    together.largest = max(together.largest, seen.largest)
        return together

    def _series(self, kind: MetricKind, metric: str, labels: dict[str, str]) -> Series:
        series = _key(metric, labels)
        if (kind, series) not in self._known:
            declared = BY_NAME.get(metric)
            if declared is None or not declared.accepts(kind, labels):
                raise ValueError(f"no {kind.value} {metric} with labels {sorted(labels)} is declared")
            self._known.add((kind, series))
        return series


def _check_asked(
    kinds: tuple[MetricKind, ...], metric: str, labels: dict[str, str], *, all_of_them: bool = False
) -> None:
    """Refuse to look for what nobody could have written: it would be told as 0."""
    declared = BY_NAME.get(metric)
    if declared is None:
        raise ValueError(f"no metric {metric} is declared{meant(metric, BY_NAME)}")
    if declared.kind not in kinds:
        raise ValueError(f"{metric} is a {declared.kind.value}, not a {kinds[0].value}")
    for label in labels:
        if label not in declared.labels:
            there = f": it has {', '.join(declared.labels) or 'none'}"
            raise ValueError(f"{metric} has no label {label}{meant(label, declared.labels) or there}")
    missing = [label for label in declared.labels if label not in labels]
    if all_of_them and missing:
        raise ValueError(f"{metric} is read with all its labels: {', '.join(missing)} are missing")


def _key(metric: str, labels: dict[str, str]) -> Series:
    return metric, tuple(sorted(labels.items()))


def _selected(series: Series, metric: str, labels: dict[str, str]) -> bool:
    return series[0] == metric and labels.items() <= dict(series[1]).items()
