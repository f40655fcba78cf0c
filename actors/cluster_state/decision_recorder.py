"""Metrics of a decision."""

from __future__ import annotations

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.model.resources import NOTHING
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics


class DecisionRecorder:
    """Measures decisions when they are committed."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def measure(self, decided: PlanDecided, model: ClusterModel) -> None:
        """Measure how long a decision took, and what pools have left."""
        decision, taken_at = decided.decision, decided.snapshot.taken_at
        for phase, start, end in (
            ("batch", decision.opened_at, decision.closed_at),
            ("select", taken_at, decided.selected_at),
            ("pack", decided.selected_at, decided.packed_at),
        ):
            seconds = (end - start).total_seconds()
            self._telemetry.observe(metrics.DECISION_PHASE_DURATION.name, seconds, phase=phase)
        took = (decided.packed_at - taken_at).total_seconds()
        self._telemetry.observe(metrics.SCHEDULING_DURATION.name, took, controller="provisioner")
        for pool in model.objects.pools.values():
            left = model.capacity.limit_left(pool) or NOTHING
            for resource, most in (pool.limits or NOTHING).items():
                where = {"nodepool": pool.name, "resource_type": resource}
                self._telemetry.gauge(metrics.NODEPOOLS_LIMIT.name, most, **where)
                self._telemetry.gauge(metrics.NODEPOOLS_USAGE.name, most - left.get(resource, 0), **where)
