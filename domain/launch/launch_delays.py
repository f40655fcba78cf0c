"""Delays of launches: steps that fail, are slow or wait, by claim, until its span is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from treenail.domain.launch.launch_steps import (
    CallFleet,
    FindInstances,
    MarkClaim,
    PrepareBatch,
    RecordInstance,
    Step,
    WriteClaim,
    first,
)
from treenail.domain.telemetry.delays import Delay, DelayCause, DelayLog, FailingCalls
from treenail.domain.telemetry.tracing import SpanEvent

CREATE_FLEET: Final = "EC2/CreateFleet"
FIND_INSTANCES: Final = "EC2/DescribeInstances"
_MOST_HELD: Final = 10_000
# The call of each step, and the seconds that it takes at most where nothing is wrong.
_CALLS: Final[Mapping[type[Step], tuple[str, float]]] = {
    WriteClaim: ("Kubernetes/create claim", 1.0),
    PrepareBatch: ("EC2/DescribeInstanceTypes", 3.0),
    MarkClaim: ("Kubernetes/patch claim", 1.0),
    CallFleet: (CREATE_FLEET, 5.0),
    FindInstances: (FIND_INSTANCES, 3.0),
    RecordInstance: ("Kubernetes/patch claim", 1.0),
}


class LaunchDelays:
    """The delays of each claim's launch, from the decision on it or from when it was written. Mutable."""

    def __init__(self) -> None:
        self._began: dict[str, datetime] = {}
        self._logs: dict[str, DelayLog] = {}
        self._calls = FailingCalls()
        self._held: dict[str, datetime] = {}

    def begin(self, names: Iterable[str], now: datetime) -> None:
        """Take in that claims were decided on."""
        self._began |= dict.fromkeys(names, now)

    def adopt(self, name: str, written_at: datetime, now: datetime) -> None:
        """Take in that a claim is launched that this process has not worked on."""
        if name not in self._began:
            self._began[name] = min(written_at, now)
            self.add((name,), DelayCause.RESTART, "controller", since=self._began[name], until=now)

    def began(self, name: str) -> datetime | None:
        """Return when the launch of a claim began."""
        return self._began.get(name)

    def add(
        self,
        names: Iterable[str],
        cause: DelayCause,
        what: str,
        *,
        since: datetime,
        until: datetime,
        attempts: int = 0,
        why: str = "",
    ) -> None:
        """Take in what delayed claims."""
        delay = Delay(cause=cause, what=what, since=since, until=until, attempts=attempts, why=why)
        self._add(names, (delay,))

    def _add(self, names: Iterable[str], delays: tuple[Delay, ...]) -> None:
        if delays:
            for name in names:
                log = self._logs.setdefault(name, DelayLog())
                for delay in delays:
                    log.add(delay)

    def tried(
        self,
        step: Step,
        names: Iterable[str],
        noted: tuple[Delay, ...],
        error: Exception | None,
        *,
        since: datetime,
        now: datetime,
    ) -> tuple[Delay, ...]:
        """Take in that a step of claims was tried, `since` then; return the delays within this attempt."""
        what, usual = _CALLS[type(step)]
        if error is not None:
            self._add(names, self._calls.failed(first(step), what, error, noted, since=since, now=now))
            return noted
        delays = self._calls.answered(first(step), what, noted, since=since, now=now, usual=usual)
        self._add(names, delays)
        return tuple(delay for delay in delays if delay.until > since)

    def hold(self, call: CallFleet, now: datetime) -> None:
        """Take in that a call waits while its node class gets no answer."""
        self._held.setdefault(call.token, now)
        # One whose claims are all gone meanwhile is never made.
        if len(self._held) > _MOST_HELD:
            del self._held[next(iter(self._held))]

    def send(self, call: CallFleet, names: Iterable[str], now: datetime) -> None:
        """Take in that a call is made, whether it waited or not."""
        since = self._held.pop(call.token, None)
        if since is not None:
            self.add(names, DelayCause.CIRCUIT_BREAKER, CREATE_FLEET, since=since, until=now)

    def forget(self, name: str) -> None:
        """Take in that a claim is launched no more."""
        self._began.pop(name, None)
        self._logs.pop(name, None)

    def take(self, name: str, now: datetime) -> tuple[SpanEvent, ...]:
        """Return what delayed a claim whose launch is over, and forget it."""
        self._began.pop(name, None)
        log = self._logs.pop(name, None)
        return log.take(now) if log is not None else ()
