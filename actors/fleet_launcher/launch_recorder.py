"""Spans and metrics of launches."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from treenail.actors.fleet_launcher.messages import Flushed, StepDone
from treenail.domain.launch.launch_book import LaunchBook
from treenail.domain.launch.launch_delays import CREATE_FLEET, FIND_INSTANCES, LaunchDelays
from treenail.domain.launch.launch_steps import CallFleet, FindInstances
from treenail.domain.launch.launch_trace import fleet_span, launch_span
from treenail.domain.model.causes import Cause
from treenail.domain.model.fleets import FleetAnswer, FleetRequest, Instance
from treenail.domain.model.runtime import Clock, Done, Failed
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.delays import Delay, DelayCause

_BATCHER: Final = {"batcher": "create_fleet"}


class LaunchRecorder:
    """Records the spans of launches, each call's when the launch it belongs to is over."""

    def __init__(self, telemetry: Telemetry, clock: Clock, book: LaunchBook) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._book = book
        self.delays = LaunchDelays()

    def begin(self, names: Iterable[str]) -> None:
        """Take in that claims were decided on."""
        self.delays.begin(names, self._clock.now())

    def adopt(self, names: Iterable[str]) -> None:
        """Take in launched claims that this process did not launch."""
        for claim in self._book.claims(names):
            self.delays.adopt(claim.name, claim.created_at, self._clock.now())

    def flushed(self, flushed: Flushed) -> None:
        """Take in that claims waited for the trace of their decision to be exported."""
        if not flushed.exported:
            self.delays.add(
                tuple(claim.name for claim in self._book.claims(flushed.names)),
                DelayCause.TRACE_EXPORT,
                "OTLP/Export",
                since=flushed.since,
                until=self._clock.now(),
                attempts=1,
            )

    def tried(self, done: StepDone) -> None:
        """Take in that a step was tried: what it delays, and of a CreateFleet call its span and numbers."""
        now, error = self._clock.now(), done.outcome.error if isinstance(done.outcome, Failed) else None
        names = self._book.about(done.step)
        within = self.delays.tried(done.step, names, done.delays, error, since=done.started_at, now=now)
        if isinstance(done.step, CallFleet):
            self._call(done.step, done, within)

    def hidden(self, step: FindInstances, since: datetime) -> None:
        """Take in that what was bought is not to be seen yet."""
        self.delays.add(
            self._book.about(step),
            DelayCause.INSTANCE_HIDDEN,
            FIND_INSTANCES,
            since=since,
            until=self._clock.now(),
            attempts=1,
        )

    def _call(self, step: CallFleet, done: StepDone, delays: tuple[Delay, ...]) -> None:
        """Keep the span of a CreateFleet call that is over, and count what it was about."""
        value = done.outcome.value if isinstance(done.outcome, Done) else None
        answer = value if isinstance(value, FleetAnswer) else None
        group = self._book.group(step.token)
        if group is None:
            return
        self._measure(step, group.launch.request, answer, done.started_at)
        claim = self._book.claim(group.launch.claims[0])
        if claim is not None:
            group.spans += fleet_span(
                claim,
                group.launch.request,
                answer,
                start=done.started_at,
                end=self._clock.now(),
                attempt=step.attempt,
                error=done.outcome.error if isinstance(done.outcome, Failed) else None,
                delays=delays,
            )

    def _measure(
        self, step: CallFleet, request: FleetRequest, answer: FleetAnswer | None, started_at: datetime
    ) -> None:
        if step.attempt == 0:
            began = [
                since for name in self._book.about(step) if (since := self._book.since(name)) is not None
            ]
            waited = (started_at - min(began, default=started_at)).total_seconds()
            self._telemetry.observe(metrics.BATCH_SECONDS.name, max(0.0, waited), **_BATCHER)
            self._telemetry.observe(metrics.BATCH_SIZE.name, request.count, **_BATCHER)
        for error in answer.errors if answer is not None else ():
            self._telemetry.count(
                metrics.LAUNCH_FAILURES.name,
                zone=error.zone,
                zone_id="",
                capacity_type=request.capacity_type,
                reason=error.code,
            )

    def launch(
        self, name: str, instance: Instance | None, error: str = "", cause: Cause | None = None
    ) -> None:
        """Record the span of a claim's launch, which is over, and those of its calls."""
        claim, since = self._book.claim(name), self._book.since(name)
        if claim is None or since is None:
            return
        now, start = self._clock.now(), self.delays.began(name) or since
        if cause is Cause.INSUFFICIENT_CAPACITY:
            self.delays.add(
                (name,), DelayCause.NO_CAPACITY, CREATE_FLEET, since=start, until=now, attempts=1, why=error
            )
        for span in launch_span(
            claim,
            start=start,
            end=now,
            instance=instance,
            error=error,
            cause=cause.value if cause is not None else "",
            events=self.delays.take(name, now),
        ):
            self._telemetry.record(span)
        for span in self._book.take_spans(name):
            self._telemetry.record(span)

    def gone(self, name: str) -> None:
        """Record that a claim is launched no more as it was deleted, where it was being launched."""
        self.launch(name, self._book.instance(name), "the claim was deleted", Cause.DELETED)
        self.delays.forget(name)
