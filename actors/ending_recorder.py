"""What the end of a node leaves behind for people: spans and figures."""

from __future__ import annotations

from datetime import datetime

from treenail.domain import metrics
from treenail.domain.ending_trace import disrupt_span, disruption_context, stage_span
from treenail.domain.leaving import Leaving
from treenail.domain.nodes import NodeClaim
from treenail.domain.ports import Telemetry
from treenail.domain.runtime import Clock


class EndingRecorder:
    """Records the stages of nodes' ends when they are over."""

    def __init__(self, telemetry: Telemetry, clock: Clock) -> None:
        self._telemetry = telemetry
        self._clock = clock

    def stage(self, stage: str, claim: NodeClaim, state: Leaving, start: datetime) -> None:
        """Record the span of a stage that began at `start`, with the first one that of the whole."""
        now = self._clock.now()
        if not state.root_recorded and state.trace == disruption_context(claim):
            self._telemetry.record(disrupt_span(claim, state.cause, state.began_at, start))
        state.root_recorded = True
        drain = stage == "drain"
        span = stage_span(
            stage,
            claim,
            state.trace,
            start=start,
            end=now,
            replaced_by=state.decisions if drain else (),
            hurried=len(state.hurried) if drain else 0,
        )
        self._telemetry.record(span)

    def gone(self, claim: NodeClaim, state: Leaving) -> None:
        """Record that an instance is gone."""
        where = {"nodepool": claim.pool, "zone": claim.zone}
        terminated = metrics.NODECLAIMS_TERMINATED.name
        self._telemetry.count(terminated, capacity_type=claim.capacity_type, **where)
        self._telemetry.count(metrics.NODES_TERMINATED.name, **where)
        self.stage("terminate", claim, state, state.terminated_at or state.began_at)
