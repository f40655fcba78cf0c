"""Values that the domain noted, written to telemetry."""

from __future__ import annotations

from collections.abc import Iterable

from treenail.domain.ports import Telemetry
from treenail.domain.telemetry.condition_gauges import Noted
from treenail.domain.telemetry.metric import MetricKind


def write(telemetry: Telemetry, noted: Iterable[Noted]) -> None:
    """Write each value to its metric."""
    for one in noted:
        if one.metric.kind is MetricKind.COUNTER:
            telemetry.count(one.metric.name, one.value, **one.labels)
        else:
            telemetry.observe(one.metric.name, one.value, **one.labels)
