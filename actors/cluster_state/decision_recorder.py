"""Metrics of a decision."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

from treenail.domain.cluster.planning import PlanDecided, Snapshot
from treenail.domain.ports import Telemetry
from treenail.domain.scheduling.pending_zones import pending_by_zone
from treenail.domain.telemetry import metrics, state_metrics
from treenail.domain.telemetry.series import Series, Since

_PROVISIONER: Final = {"controller": "provisioner"}


class DecisionRecorder:
    """Measures decisions when they are committed."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def unsynced(self, now: datetime) -> None:
        """Show that not all objects are known yet."""
        self._telemetry.gauge(metrics.CLUSTER_STATE_SYNCED.name, 0)
        since = Series(state_metrics.CLUSTER_STATE_UNSYNCED, Since(now))
        self._telemetry.show("unsynced", lambda: (since,))

    def synced(self) -> None:
        """Show that all objects are known."""
        self._telemetry.gauge(metrics.CLUSTER_STATE_SYNCED.name, 1)
        none = Series(state_metrics.CLUSTER_STATE_UNSYNCED, 0)
        self._telemetry.show("unsynced", lambda: (none,))

    def begin(self, snapshot: Snapshot, now: datetime) -> None:
        """Show that a decision is being made."""
        depth = len(snapshot.pods)
        self._telemetry.gauge(metrics.SCHEDULER_QUEUE_DEPTH.name, depth, **_PROVISIONER)
        unfinished = Series(state_metrics.SCHEDULER_UNFINISHED, Since(now), _PROVISIONER)
        self._telemetry.show("decision", lambda: (unfinished,))
        pods, volumes = snapshot.pods, snapshot.volumes
        self._telemetry.show("zones of pods", partial(pending_by_zone, pods, volumes))

    def end(self) -> None:
        """Show that no decision is being made."""
        self._telemetry.gauge(metrics.SCHEDULER_QUEUE_DEPTH.name, 0, **_PROVISIONER)
        self._telemetry.show("decision", None)

    def measure(self, decided: PlanDecided) -> None:
        """Measure how long a decision took."""
        decision, taken_at = decided.decision, decided.snapshot.taken_at
        for phase, start, end in (
            ("batch", decision.opened_at, decision.closed_at),
            ("select", taken_at, decided.selected_at),
            ("pack", decided.selected_at, decided.packed_at),
        ):
            seconds = (end - start).total_seconds()
            self._telemetry.observe(metrics.DECISION_PHASE_DURATION.name, seconds, phase=phase)
        took = (decided.packed_at - taken_at).total_seconds()
        self._telemetry.observe(metrics.SCHEDULING_DURATION.name, took, **_PROVISIONER)
