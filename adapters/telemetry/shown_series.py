"""Series that are computed when Prometheus asks, and written in its text format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from treenail.domain.telemetry.metric import Metric
from treenail.domain.telemetry.series import Gauges, Passing, Series


class _Shown:
    """The series about one thing: computed once, and then only those values that change with time."""

    def __init__(self, gauges: Gauges, refuse: Callable[[], None]) -> None:
        self._gauges = gauges
        self._refuse = refuse
        self._series: tuple[Series, ...] | None = None
        self._written: dict[str, tuple[str, tuple[tuple[str, Passing], ...]]] | None = None

    def series(self) -> tuple[Series, ...]:
        if self._series is None:
            try:
                computed = tuple(self._gauges())
            except Exception:  # noqa: BLE001 (a scrape shows what it can)
                self._refuse()
                computed = ()
            self._series = tuple(one for one in computed if one.declared)
            for _ in range(len(computed) - len(self._series)):
                self._refuse()
        return self._series

    def written(self) -> Mapping[str, tuple[str, tuple[tuple[str, Passing], ...]]]:
        """Return by metric the lines whose values stay, and the rest without their values."""
        if self._written is None:
            fixed: dict[str, list[str]] = {}
            passing: dict[str, list[tuple[str, Passing]]] = {}
            for one in self.series():
                start = _start(one.metric.name, one.labels)
                lines = fixed.setdefault(one.metric.name, [])
                if isinstance(one.value, int | float):
                    lines.append(f"{start}{one.value!r}\n")
                else:
                    passing.setdefault(one.metric.name, []).append((start, one.value))
            self._written = {
                name: ("".join(lines), tuple(passing.get(name, ()))) for name, lines in fixed.items()
            }
        return self._written


class ShownSeries:
    """Holds the series about each thing. Threads may share it."""

    def __init__(self, metrics: Iterable[Metric], refuse: Callable[[], None]) -> None:
        self._metrics = tuple(metrics)
        self._refuse = refuse
        self._shown: dict[str, _Shown] = {}

    def show(self, about: str, gauges: Gauges | None) -> None:
        """Show these series about a thing, in place of those before; with None, none any more."""
        if gauges is None:
            self._shown.pop(about, None)
        else:
            self._shown[about] = _Shown(gauges, self._refuse)

    def value(self, name: str, labels: Mapping[str, str], now: datetime) -> float | None:
        """Return the value of one series, None where there is none."""
        wanted = {key: value for key, value in labels.items() if value}
        for shown in tuple(self._shown.values()):
            for one in shown.series():
                if one.metric.name == name and wanted == {k: v for k, v in one.labels.items() if v}:
                    return one.at(now)
        return None

    def exposition(self, now: datetime) -> str:
        """Return all series in Prometheus' text format."""
        return "".join(self._lines(now))

    def _lines(self, now: datetime) -> Iterator[str]:
        families: dict[str, list[str]] = {}
        for shown in tuple(self._shown.values()):
            for name, (fixed, passing) in shown.written().items():
                lines = families.setdefault(name, [])
                lines.append(fixed)
                lines.extend(f"{start}{value.at(now)!r}\n" for start, value in passing)
        for metric in self._metrics:
            if metric.name in families:
                yield head(metric)
                yield from families[metric.name]


def head(metric: Metric) -> str:
    """Return the two lines that come before the series of a metric."""
    return f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind.value}\n"


def written_labels(labels: Mapping[str, str]) -> str:
    """Return labels as they stand in braces; empty ones are left out."""
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items() if value)


def _start(name: str, labels: Mapping[str, str]) -> str:
    written = written_labels(labels)
    return f"{name}{{{written}}} " if written else f"{name} "


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
