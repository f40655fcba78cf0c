"""Delays of a stage of a node's end: calls that fail or are slow, and what holds its drain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.model.counted import counted
from treenail.domain.model.errors import TooManyRequestsError
from treenail.domain.model.pods import Pod
from treenail.domain.telemetry.delays import Delay, DelayCause, DelayLog, FailingCalls, cause_of_error
from treenail.domain.telemetry.ending_roots import interruption_context
from treenail.domain.telemetry.span_attributes import CAUSE
from treenail.domain.telemetry.tracing import Link, SpanContext, SpanEvent

Holding: TypeAlias = Mapping[DelayCause, tuple[tuple[str, ...], str]]

KUBERNETES_SECONDS: Final = 1.0
EC2_SECONDS: Final = 3.0
# What holds a node for less is how nodes usually go.
_SHORTEST: Final[Mapping[DelayCause, timedelta]] = {
    DelayCause.DO_NOT_DISRUPT: timedelta(seconds=5),
    DelayCause.REPLACEMENT: timedelta(seconds=10),
    DelayCause.POD_STOPS: timedelta(seconds=35),
    DelayCause.VOLUMES: timedelta(seconds=5),
    DelayCause.INSTANCE_STOPS: timedelta(seconds=60),
}


@dataclass(slots=True)
class EndingDelays:
    """The delays of the present stage of a node's end, and the notices that came meanwhile. Mutable."""

    _log: DelayLog = field(default_factory=DelayLog)
    _calls: FailingCalls = field(default_factory=FailingCalls)
    _volumes: tuple[str, ...] = ()
    _notices: list[SpanEvent] = field(default_factory=list)
    _links: list[Link] = field(default_factory=list)

    def tried(
        self, what: str, within: tuple[Delay, ...], error: Exception | None, *, since: datetime, now: datetime
    ) -> None:
        """Take in that a call of the end, such as "EC2/TerminateInstances", was made, `since` then."""
        if error is not None:
            delays = self._calls.failed(what, what, error, within, since=since, now=now)
        else:
            usual = EC2_SECONDS if what.startswith("EC2/") else KUBERNETES_SECONDS
            delays = self._calls.answered(what, what, within, since=since, now=now, usual=usual)
        for delay in delays:
            self._log.add(delay)

    def asked_to_leave(self, pod: Pod, error: Exception | None, now: datetime) -> None:
        """Take in that a pod was evicted, or why not."""
        if error is None:
            self._log.let_go(DelayCause.DISRUPTION_BUDGET, pod.key, now)
            return
        cause = cause_of_error(error)
        if isinstance(error, TooManyRequestsError) and "budget" in str(error).lower():
            cause = DelayCause.DISRUPTION_BUDGET
        self._log.refused(cause, pod.key, str(error), now)

    def attached(self, volumes: Iterable[str]) -> None:
        """Take in which volumes the end waits for."""
        self._volumes = tuple(sorted(volumes))

    def hold(self, holding: Holding, now: datetime) -> None:
        """Take in what holds the node at present."""
        self._log.hold(holding, now)

    @property
    def volumes(self) -> tuple[str, ...]:
        """The volumes that the end was told to wait for last."""
        return self._volumes

    def warned(self, notice: NodeInterrupted, trace: SpanContext) -> None:
        """Take in another notice about a node whose end is told in `trace`."""
        until = {"treenail.ends_at": notice.deadline.isoformat()} if notice.deadline is not None else {}
        attributes = {CAUSE: notice.cause.value, **until}
        self._notices.append(SpanEvent("notice", notice.noticed_at, attributes))
        root = interruption_context(notice.instance_id, notice.cause)
        if root.trace_id != trace.trace_id:
            self._links.append(Link(root))

    def take(self, now: datetime) -> tuple[tuple[SpanEvent, ...], tuple[Link, ...]]:
        """Return the events and links of the stage that ends now, and forget them."""
        events = (*self._log.take(now, shortest=_SHORTEST), *self._notices)
        links = tuple(self._links)
        self._notices, self._links = [], []
        # A call of this stage that was given up must not date one of a later stage back.
        self._calls = FailingCalls()
        return events, links


def held_by(
    pods: Sequence[Pod], places: Mapping[str, bool], now: datetime, *, awaits_places: bool
) -> dict[DelayCause, tuple[tuple[str, ...], str]]:
    """Return what holds a drain: by cause, the pods, and a sentence on them.

    With `awaits_places` pods stay until they have other places; `places` says whether these are ready.
    """
    waiting = [pod for pod in pods if pod.drainable(now)]
    free = [pod for pod in waiting if pod.active and not pod.protected(now) and not pod.daemon]
    without = sum(pod.uid not in places for pod in free)
    ready_later = counted(len(free) - without, "waits for its", "wait for theirs")
    found = {
        DelayCause.DO_NOT_DISRUPT: (
            [pod for pod in waiting if pod.active and pod.protected(now)],
            "the pods are annotated so",
        ),
        DelayCause.POD_STOPS: (
            [pod for pod in waiting if not pod.active],
            "the pods are stopping, for as long as their grace periods last",
        ),
        DelayCause.REPLACEMENT: (
            free if awaits_places else [],
            f"{counted(without, 'pod has', 'pods have')} no other place yet, {ready_later} to be ready",
        ),
    }
    return {cause: (tuple(pod.key for pod in held), why) for cause, (held, why) in found.items() if held}
