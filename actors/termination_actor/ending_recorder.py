"""Spans and metrics of nodes' ends."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.model.claim_prices import ClaimPrices, price_of
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.runtime import Clock
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.ending_roots import disruption_context
from treenail.domain.termination.end_records import EndRecord, end_record
from treenail.domain.termination.ending_trace import disrupt_span, stage_span
from treenail.domain.termination.leaving import Leaving


class EndingRecorder:
    """Records the stages of nodes' ends when they are over, and why they end."""

    def __init__(self, telemetry: Telemetry, clock: Clock) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._prices = ClaimPrices()

    def note(self, view: NodeView) -> None:
        """Take in the present state of a node."""
        if view.claim is not None:
            self._prices.note(view.claim)

    def forget(self, name: str) -> None:
        """Take in that a node is gone."""
        self._prices.forget(name)

    def why(self, claim: NodeClaim, state: Leaving) -> EndRecord:
        """Return why a node ends, if that is known yet."""
        return end_record(
            claim,
            state.cause,
            state.trace,
            actor=state.actor,
            why=state.why,
            price_before=price_of(claim),
            price_after=self._prices.after(state.cause, state.decisions),
        )

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
            record=self.why(claim, state) if stage == "terminate" else None,
        )
        self._telemetry.record(span)

    def gone(self, claim: NodeClaim, state: Leaving) -> None:
        """Record that an instance is gone."""
        where = {"nodepool": claim.pool, "zone": claim.zone}
        terminated = metrics.NODECLAIMS_TERMINATED.name
        self._telemetry.count(terminated, capacity_type=claim.capacity_type, **where)
        self._telemetry.count(metrics.NODES_TERMINATED.name, **where)
        self.stage("terminate", claim, state, state.terminated_at or state.began_at)
