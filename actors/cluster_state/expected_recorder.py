"""Metrics and spans of pods to come: how many came, and what nodes cost that none of theirs came to."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.cluster.changes import Changes
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.ports import Telemetry
from treenail.domain.scheduling.expected_outcome import ExpectedOutcome, UnusedNodes
from treenail.domain.telemetry import metrics


class ExpectedRecorder:
    """Follows what was bought for pods to come."""

    def __init__(self, model: ClusterModel, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._outcome = ExpectedOutcome(model)
        self._unused = UnusedNodes(model)

    def begin(self, decided: PlanDecided, now: datetime) -> None:
        """Take in a decision whose places were promised."""
        self._outcome.begin(decided, now)

    def note(self, changes: Changes, now: datetime) -> None:
        """Take in what changed."""
        came = sum(came for _, came in changes.to_come_ended)
        if came:
            self._telemetry.count(metrics.PODS_CAME.name, came)
        for span in self._outcome.end(changes.to_come_ended, now):
            self._telemetry.record(span)
        for node in self._unused.follow(changes.views, now):
            self._telemetry.count(metrics.UNUSED_DOLLARS.name, node.cost, nodepool=node.claim.pool)
            self._telemetry.record(node.span)
