"""Metrics as values, and the ways to declare one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class MetricKind(StrEnum):
    """The kind of a metric, by what its value does over time."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric as operators see it. `buckets` are a histogram's upper bounds, in its unit.

    Of one that is `shown`, all series are computed from the cluster's state when they are asked for.
    """

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    unit: str = ""
    shown: bool = False

    def accepts(self, kind: MetricKind, labels: Iterable[str]) -> bool:
        """Return whether this is written as `kind`, with exactly these labels."""
        return self.kind is kind and not self.shown and sorted(self.labels) == sorted(labels)


# From a cached answer to a launch that waits for capacity.
SLOW: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0),
    *(40.0, 50.0, 60.0, 120.0, 150.0, 300.0, 450.0, 600.0),
)
# What happens inside the process.
FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


def counter(name: str, about: str, *labels: str) -> Metric:
    """Declare what only grows, until the process ends."""
    return Metric(name=name, kind=MetricKind.COUNTER, help=about, labels=labels)


def gauge(name: str, about: str, *labels: str) -> Metric:
    """Declare a value that is set."""
    unit = "seconds" if name.endswith("_seconds") else ""
    return Metric(name=name, kind=MetricKind.GAUGE, help=about, labels=labels, unit=unit)


def seconds(name: str, about: str, *labels: str, buckets: tuple[float, ...] = SLOW) -> Metric:
    """Declare how often something took how many seconds."""
    return Metric(
        name=name, kind=MetricKind.HISTOGRAM, help=about, labels=labels, buckets=buckets, unit="seconds"
    )


def shown(name: str, about: str, *labels: str) -> Metric:
    """Declare a gauge that is computed from the cluster's state."""
    unit = "seconds" if name.endswith("_seconds") else ""
    return Metric(name=name, kind=MetricKind.GAUGE, help=about, labels=labels, unit=unit, shown=True)


def summary(name: str, about: str, *labels: str) -> Metric:
    """Declare quantiles of seconds, over the values of the last ten minutes."""
    return Metric(name=name, kind=MetricKind.SUMMARY, help=about, labels=labels, unit="seconds")
