"""StatusPoller: asks EC2 for the status of instances, and reports failures to ClusterState."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.interruption.impairments import Impairment, Impairments
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.interruption.notice_responses import InterruptionPolicy
from treenail.domain.interruption.notice_trace import NoticeRoots, status_spans
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Outcome, Ref
from treenail.domain.ports import Cloud
from treenail.domain.telemetry import metrics

_POLL_SECONDS: Final = 60.0
# What is said of an instance that no claim is known to have may be forgotten.
_TELL_EVERY: Final = 4
# As Karpenter calls them.
_CATEGORIES: Final = {
    InterruptionKind.INSTANCE_STATUS: "InstanceStatus",
    InterruptionKind.SYSTEM_STATUS: "SystemStatus",
    InterruptionKind.EVENT_STATUS: "EventStatus",
}


@dataclass(frozen=True, slots=True)
class _Poll:
    """Private timer tick: ask."""


@dataclass(frozen=True, slots=True)
class _Polled:
    """The answer to what was asked then."""

    asked_at: datetime
    outcome: Outcome[Impairments]


_Key: TypeAlias = tuple[str, InterruptionKind]
PollerInbox: TypeAlias = _Poll | _Polled


class StatusPoller(DomainActor[PollerInbox]):
    """Ask every minute which instances EC2 finds unwell, and turn that into facts.

    Each is counted and recorded once, and told again every four minutes while it lasts, a check that fails
    every minute, as too many may be given up at a time: whoever did not know
    the node may know it by then; and at once where EC2 plans to take the instance earlier than it said. Owns
    for how many polls each has lasted. Tells the cluster state `NodeInterrupted`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        cluster: Ref[NodeInterrupted],
        cloud: Cloud,
        policy: InterruptionPolicy,
    ) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._cloud = cloud
        self._policy = policy
        self._polls: dict[_Key, int] = {}
        self._told: dict[_Key, Impairment] = {}
        self._roots = NoticeRoots()

    def begin(self) -> None:
        self.later("poll", _Poll(), seconds=_POLL_SECONDS)

    def handle(self, message: PollerInbox) -> None:
        match message:
            case _Poll():
                asked_at = self._timers.now()
                self._tasks.run(
                    ("ec2", "statuses"),
                    self._cloud.impairments,
                    self.me,
                    partial(_Polled, asked_at),
                    purpose=Purpose.DISRUPTION,
                )
                self.later("poll", _Poll(), seconds=_POLL_SECONDS)
            case _Polled():
                self._note(message)
            case _:
                assert_never(message)

    def _note(self, polled: _Polled) -> None:
        if not isinstance(polled.outcome, Done):
            # The next poll asks again; what was told before is not told again for that.
            self.log("cannot poll instance status", level="warning", error=str(polled.outcome.error))
            return
        now = self._timers.now()
        answer = polled.outcome.value
        lasting = {(one.instance_id, one.kind): one for one in answer.found if one.lasts(now)}
        for key, impairment in lasting.items():
            polls = self._polls.get(key, 0)
            notice = self._notice(impairment, now)
            if polls == 0:
                self._record(impairment, notice, polled.asked_at)
            sooner = key not in self._told or impairment.sooner_than(self._told[key])
            if sooner:
                self._told[key] = impairment
            if notice is not None and (sooner or impairment.checked or polls % _TELL_EVERY == 0):
                self._cluster.tell(notice)
        unsure = {key: polls for key, polls in self._polls.items() if key[1] in answer.unanswered}
        self._polls = unsure | {key: self._polls.get(key, 0) + 1 for key in lasting}
        self._told = {key: one for key, one in self._told.items() if key in self._polls}

    def _notice(self, impairment: Impairment, now: datetime) -> NodeInterrupted | None:
        """Return what is to be told of an impairment; None where nothing is to be done about it."""
        cause = impairment.kind.cause
        if cause is None or not self._policy.acts_on(impairment.kind):
            return None
        return NodeInterrupted(
            instance_id=impairment.instance_id,
            cause=cause,
            noticed_at=now,
            deadline=impairment.ends_at(now),
            forceful=impairment.checked,
        )

    def _record(self, impairment: Impairment, notice: NodeInterrupted | None, asked_at: datetime) -> None:
        kind = impairment.kind
        if impairment.unhealthy:
            category = _CATEGORIES.get(kind, kind.value)
            self._telemetry.count(metrics.INSTANCE_STATUS_UNHEALTHY.name, category=category)
        if notice is None:
            self.log("recorded instance status", kind=kind, instance_id=impairment.instance_id)
            return
        begins = self._roots.begins(notice)
        for span in status_spans(notice, asked_at, self._timers.now(), begins=begins):
            self._telemetry.record(span)
