"""Series of gauges that are computed from the cluster's state when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from treenail.domain.telemetry.metric import Metric


class Passing(Protocol):
    """A value that changes with time alone."""

    def at(self, now: datetime) -> float:
        """Return the value at a time."""
        ...


@dataclass(frozen=True, slots=True)
class Since:
    """The seconds that have passed since a time."""

    began: datetime

    def at(self, now: datetime) -> float:
        """Return the seconds, none where the time is still to come."""
        return max(0.0, (now - self.began).total_seconds())


@dataclass(frozen=True, slots=True)
class Series:
    """One series: its metric, its labels less those that are empty, its value.

    To Prometheus an empty label is none, so that both are the same series.
    """

    metric: Metric
    value: float | Passing
    labels: Mapping[str, str] = field(default_factory=dict)

    def at(self, now: datetime) -> float:
        """Return the value at a time."""
        return self.value if isinstance(self.value, int | float) else self.value.at(now)

    @property
    def declared(self) -> bool:
        """True if the metric is one that is shown, and has these labels."""
        return self.metric.shown and self.labels.keys() <= set(self.metric.labels)


# A function that computes the series of one object. It is called later, on any thread, and reads nothing that
# changes.
Gauges: TypeAlias = Callable[[], Iterable[Series]]
