"""Spans and metrics of nodes' ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from treenail.actors.termination_actor.messages import Did, MovedOut
from treenail.domain.disruption.disruption import disrupted_labels
from treenail.domain.model import labels
from treenail.domain.model.causes import BUDGETED
from treenail.domain.model.claim_prices import ClaimPrices, price_of
from treenail.domain.model.errors import ConflictError, InvalidError, NotFoundError, TooManyRequestsError
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Clock, Failed, Outcome
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.delays import DelayCause
from treenail.domain.telemetry.ending_roots import disruption_context
from treenail.domain.termination.drain import (
    Abandon,
    AwaitDetached,
    AwaitGone,
    Cordon,
    DeleteClaim,
    DeleteNode,
    FindInstance,
    LetGo,
    SayEnd,
    Step,
    Terminate,
)
from treenail.domain.termination.end_records import EndRecord, end_record
from treenail.domain.termination.ending_delays import held_by
from treenail.domain.termination.ending_trace import disrupt_span, stage_span
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving

# What Karpenter calls the reason of a node that does not go by our choice.
_FORCEFUL: Final = "Forceful Termination"
_CODES: Final = {NotFoundError: "404", ConflictError: "409", TooManyRequestsError: "429", InvalidError: "400"}


_CALLS: Final = {
    Cordon: "Kubernetes/patch node",
    Abandon: "Kubernetes/patch node",
    DeleteClaim: "Kubernetes/delete claim",
    FindInstance: "EC2/DescribeInstances",
    DeleteNode: "Kubernetes/delete node",
    SayEnd: "Kubernetes/patch claim",
    AwaitDetached: "Kubernetes/list volumeattachments",
    Terminate: "EC2/TerminateInstances",
    AwaitGone: "EC2/DescribeInstances",
    LetGo: "Kubernetes/remove finalizers",
}


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
        events, links = state.delays.take(now)
        span = stage_span(
            stage,
            claim,
            state.trace,
            start=start,
            end=now,
            replaced_by=state.decisions if drain else (),
            hurried=len(state.hurried) if drain else 0,
            record=self.why(claim, state) if stage == "terminate" else None,
            events=events,
            links=links,
        )
        self._telemetry.record(span)

    def look(self, step: Step, pods: Sequence[Pod], state: Leaving) -> None:
        """Take in what is next with a node, and so what holds it."""
        now = self._clock.now()
        holding: dict[DelayCause, tuple[tuple[str, ...], str]] = {}
        match step:
            case MoveOut() | datetime() if state.drained_at is None:
                awaits = isinstance(step, datetime)
                holding = held_by(pods, state.places, now, awaits_places=awaits)
            case AwaitDetached() if state.delays.volumes:
                holding[DelayCause.VOLUMES] = (state.delays.volumes, "the volumes are still attached")
            case AwaitGone(claim=claim, draining=False):
                holding[DelayCause.INSTANCE_STOPS] = ((claim.instance_id,), "the instance is shutting down")
        state.delays.hold(holding, now)

    def did(self, did: Did, state: Leaving) -> None:
        """Take in that a step was tried, and what that delays."""
        error = did.outcome.error if isinstance(did.outcome, Failed) else None
        if isinstance(error, NotFoundError):
            error = None
        what = _CALLS[type(did.step)]
        state.delays.tried(what, did.delays, error, since=did.started_at, now=self._clock.now())

    def disrupted(self, claim: NodeClaim, state: Leaving, pods: Iterable[Pod]) -> None:
        """Count a claim that we began to give back, once, with the pods that must go elsewhere."""
        if state.counted:
            return
        state.counted = True
        why = disrupted_labels(claim, state.cause, state.policy)
        self._telemetry.count(metrics.NODECLAIMS_DISRUPTED.name, **why)
        moving = state.moved_first | dict.fromkeys(pod.uid for pod in pods if pod.reschedulable)
        self._telemetry.count(metrics.PODS_DISRUPTED.name, len(moving), **why)

    def moved(self, moved: MovedOut, state: Leaving | None) -> None:
        """Count an eviction by its answer, and a pod that was asked to leave by why its node goes."""
        answer = _code(moved.outcome)
        if state is not None:
            error = moved.outcome.error if isinstance(moved.outcome, Failed) else None
            gone = isinstance(error, NotFoundError | ConflictError)
            state.delays.asked_to_leave(moved.pod, None if gone else error, self._clock.now())
        if moved.grace is None and answer:
            self._telemetry.count(metrics.PODS_EVICTION_REQUESTS.name, code=answer)
        if not isinstance(moved.outcome, Failed):
            if state is not None and not state.counted:
                state.moved_first[moved.pod.uid] = None
            reason = BUDGETED.get(state.cause, _FORCEFUL) if state is not None else _FORCEFUL
            self._telemetry.count(metrics.PODS_DRAINED.name, reason=reason)

    def terminating(self, instances: int, waited: float) -> None:
        """Measure a call that terminates instances, which waited so long for others."""
        batcher = {"batcher": "terminate_instances"}
        self._telemetry.observe(metrics.BATCH_SIZE.name, instances, **batcher)
        self._telemetry.observe(metrics.BATCH_SECONDS.name, waited, **batcher)

    def not_terminated(self, claim: NodeClaim) -> None:
        """Count an instance that could not be terminated."""
        zone_id = claim.labels.get(labels.ZONE_ID, "")
        self._telemetry.count(metrics.TERMINATION_FAILURES.name, zone=claim.zone, zone_id=zone_id)

    def gone(self, claim: NodeClaim, state: Leaving) -> None:
        """Record that an instance is gone."""
        where = {"nodepool": claim.pool, "zone": claim.zone}
        terminated = metrics.NODECLAIMS_TERMINATED.name
        self._telemetry.count(terminated, capacity_type=claim.capacity_type, **where)
        self._telemetry.count(metrics.NODES_TERMINATED.name, **where)
        self.stage("terminate", claim, state, state.terminated_at or state.began_at)


def _code(outcome: Outcome[None]) -> str:
    """Return the code that the API server answered with, "" where it did not."""
    if not isinstance(outcome, Failed):
        return "200"
    return next((code for kind, code in _CODES.items() if isinstance(outcome.error, kind)), "")
