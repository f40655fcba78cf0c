"""Delays of decisions: pods that were refused or lost their node before, and decisions made first."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.model.causes import Cause
from treenail.domain.model.counted import counted
from treenail.domain.model.pods import Pod
from treenail.domain.telemetry.delays import Delay, DelayCause, delay_events
from treenail.domain.telemetry.tracing import SpanEvent

# A decision begins that soon after its batch is closed.
_AT_ONCE: Final = timedelta(seconds=0.5)


@dataclass(slots=True)
class _Waiting:
    """Reasons why a pod was left waiting, each with since when, how often, and what was said last."""

    told: dict[tuple[DelayCause, str], tuple[datetime, int, str]] = field(default_factory=dict)

    def note(self, cause: DelayCause, reason: str, why: str, now: datetime) -> None:
        since, times, _ = self.told.get((cause, reason), (now, 0, ""))
        self.told[cause, reason] = (since, times + 1, why)


class DecisionDelays:
    """Reasons why waiting pods were not placed before, and the wait of a decision to be made. Mutable."""

    def __init__(self) -> None:
        self._pods: dict[str, _Waiting] = {}
        self._complete_at: datetime | None = None
        self._queued: dict[str, Delay] = {}

    def complete(self, now: datetime) -> None:
        """Take in that all objects are known: decisions are made from now on."""
        self._complete_at = now

    def begin(self, decision: Decision, now: datetime) -> None:
        """Take in that a decision is begun."""
        self._queued.clear()
        if now - decision.closed_at <= _AT_ONCE:
            return
        started = self._complete_at is not None and self._complete_at > decision.closed_at
        self._queued[decision.id] = Delay(
            cause=DelayCause.RESTART if started else DelayCause.OTHER_DECISION,
            what="the first full list of the cluster" if started else "the decision that was open",
            since=decision.closed_at,
            until=now,
        )

    def refused(self, committed: PlanCommitted, now: datetime) -> None:
        """Take in which pods a decision left waiting, and why."""
        for pod, group in committed.refused:
            reason = group.nearest.reason.value if group.nearest is not None else ""
            waiting = self._pods.setdefault(pod.uid, _Waiting())
            waiting.note(DelayCause.POD_REFUSED, reason, group.sentence, now)

    def failed(
        self, uids: Iterable[str], there: Container[str], cause: Cause, why: str, now: datetime
    ) -> None:
        """Take in which pods lost the node that was bought for them.

        Pods that are not `there` (gone, or still to be made) are skipped: nothing would ever remove their
        entries.
        """
        for uid in (uid for uid in uids if uid in there):
            waiting = self._pods.setdefault(uid, _Waiting())
            waiting.note(DelayCause.CLAIM_FAILED, cause.value, why, now)

    def settle(self, uid: str, pod: Pod | None) -> None:
        """Take in the present state of a pod: one that is bound, or gone, waits no longer."""
        if pod is None or pod.bound:
            self._pods.pop(uid, None)

    def events(self, decision: Decision, pods: Iterable[Pod], now: datetime) -> tuple[SpanEvent, ...]:
        """Return what delayed a decision that is committed now, and its pods.

        A delay that began before the decision is dated to its beginning.
        """
        delays = [*self._of(pods, now)]
        if decision.id in self._queued:
            delays.append(self._queued.pop(decision.id))
        return tuple(replace(event, at=max(event.at, decision.opened_at)) for event in delay_events(delays))

    def _of(self, pods: Iterable[Pod], now: datetime) -> Iterable[Delay]:
        """Return the delays of pods that wait, of alike ones together."""
        alike: dict[tuple[DelayCause, str], list[tuple[str, datetime, int, str]]] = {}
        for pod in pods:
            waiting = self._pods.get(pod.uid)
            for key, (since, times, why) in waiting.told.items() if waiting is not None else ():
                began = pod.unschedulable_since or since
                alike.setdefault(key, []).append((pod.key, min(began, since), times, why))
        for (cause, reason), those in alike.items():
            example = min(key for key, _, _, _ in those)
            yield Delay(
                cause=cause,
                what=f"{counted(len(those), 'pod')}, such as {example}" + (f": {reason}" if reason else ""),
                since=min(since for _, since, _, _ in those),
                until=now,
                attempts=max(times for _, _, times, _ in those),
                why=those[0][3],
            )
