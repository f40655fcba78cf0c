"""Spans and metrics of launches."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from treenail.domain.launch.launch_book import LaunchBook
from treenail.domain.launch.launch_steps import CallFleet
from treenail.domain.launch.launch_trace import fleet_span, launch_span
from treenail.domain.model.fleets import FleetAnswer, FleetRequest, Instance
from treenail.domain.model.runtime import Clock, Done, Outcome
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics

_BATCHER: Final = {"batcher": "create_fleet"}


class LaunchRecorder:
    """Records the spans of launches, each call's when the launch it belongs to is over."""

    def __init__(self, telemetry: Telemetry, clock: Clock, book: LaunchBook) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._book = book

    def call(self, step: CallFleet, started_at: datetime, outcome: Outcome[object]) -> None:
        """Take in a CreateFleet call that is over: keep its span, count what it was about."""
        now = self._clock.now()
        error = ""
        answer: FleetAnswer | None = None
        if isinstance(outcome, Done):
            answer = outcome.value if isinstance(outcome.value, FleetAnswer) else None
        else:
            error = str(outcome.error)
        group = self._book.group(step.token)
        if group is not None:
            self._measure(step, group.launch.request, answer, started_at)
        claim = self._book.claim(group.launch.claims[0]) if group is not None else None
        if group is not None and claim is not None:
            group.spans += fleet_span(
                claim,
                group.launch.request,
                answer,
                start=started_at,
                end=now,
                attempt=step.attempt,
                error=error,
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

    def launch(self, name: str, instance: Instance | None, error: str = "") -> None:
        """Record the span of a claim's launch, which is over, and those of its calls."""
        claim, since = self._book.claim(name), self._book.since(name)
        if claim is None or since is None:
            return
        now = self._clock.now()
        for span in launch_span(claim, start=since, end=now, instance=instance, error=error):
            self._telemetry.record(span)
        for span in self._book.take_spans(name):
            self._telemetry.record(span)
