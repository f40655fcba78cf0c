"""Quantiles of the values of the last ten minutes, as Prometheus' summaries have them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

from treenail.adapters.telemetry.shown_series import head, written_labels
from treenail.domain.telemetry.metric import Metric

_QUANTILES: Final = (0.0, 0.5, 0.9, 0.99, 1.0)
_SECONDS: Final = 600.0
# Of more values the latest count.
_MOST: Final = 2_000


class _Recent:
    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self._values: deque[tuple[float, float]] = deque(maxlen=_MOST)

    def add(self, value: float, now: float) -> None:
        self.count += 1
        self.total += value
        self._values.append((now, value))

    def quantiles(self, now: float) -> Iterator[tuple[float, float]]:
        """Yield each quantile with its value, which is no number where no value is recent."""
        values = sorted(value for at, value in tuple(self._values) if now - at <= _SECONDS)
        for quantile in _QUANTILES:
            rank = max(0, math.ceil(quantile * len(values)) - 1)
            yield quantile, values[rank] if values else math.nan


class RecentQuantiles:
    """All series of one metric. Times are monotonic seconds. Threads may share it."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric
        self._series: dict[tuple[str, ...], _Recent] = {}

    def observe(self, value: float, labels: Mapping[str, str], now: float) -> None:
        """Add a value."""
        self._series.setdefault(self._key(labels), _Recent()).add(value, now)

    def value(self, sample: str, labels: Mapping[str, str], now: float) -> float | None:
        """Return a sample as it would be written out, None where there is none."""
        recent = self._series.get(self._key({k: v for k, v in labels.items() if k != "quantile"}))
        if recent is None:
            return None
        if sample == self._metric.name:
            found = {str(q): value for q, value in recent.quantiles(now)}
            return found.get(labels.get("quantile", ""))
        return recent.total if sample.endswith("_sum") else float(recent.count)

    def exposition(self, now: float) -> str:
        """Return all series in Prometheus' text format."""
        return "".join(self._lines(now)) if self._series else ""

    def _lines(self, now: float) -> Iterator[str]:
        name = self._metric.name
        yield head(self._metric)
        for key, recent in tuple(self._series.items()):
            labels = written_labels(dict(zip(self._metric.labels, key, strict=True)))
            for quantile, value in recent.quantiles(now):
                more = (
                    f'{labels},quantile="{_short(quantile)}"' if labels else f'quantile="{_short(quantile)}"'
                )
                yield f"{name}{{{more}}} {'NaN' if math.isnan(value) else repr(value)}\n"
            braces = f"{{{labels}}}" if labels else ""
            yield f"{name}_sum{braces} {recent.total!r}\n{name}_count{braces} {recent.count}\n"

    def _key(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(labels.get(label, "") for label in self._metric.labels)


def _short(quantile: float) -> str:
    return f"{quantile:g}"
