"""Spans and metrics of launches."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.launch.launch_book import LaunchBook
from treenail.domain.launch.launch_steps import CallFleet
from treenail.domain.launch.launch_trace import fleet_span, launch_span
from treenail.domain.model.fleets import FleetAnswer, Instance
from treenail.domain.model.runtime import Clock, Done, Outcome
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics

_CALL = {"controller": "provisioner", "method": "Create", "provider": "aws"}


class LaunchRecorder:
    """Records the spans of launches, each call's when the launch it belongs to is over."""

    def __init__(self, telemetry: Telemetry, clock: Clock, book: LaunchBook) -> None:
        self._telemetry = telemetry
        self._clock = clock
        self._book = book

    def call(self, step: CallFleet, started_at: datetime, outcome: Outcome[object]) -> None:
        """Measure a CreateFleet call that is over, and keep its span."""
        now = self._clock.now()
        seconds = (now - started_at).total_seconds()
        self._telemetry.observe(metrics.CLOUDPROVIDER_DURATION.name, seconds, **_CALL)
        error = ""
        answer: FleetAnswer | None = None
        if isinstance(outcome, Done):
            answer = outcome.value if isinstance(outcome.value, FleetAnswer) else None
        else:
            error = str(outcome.error)
            kind = type(outcome.error).__name__
            self._telemetry.count(metrics.CLOUDPROVIDER_ERRORS.name, error=kind, **_CALL)
        group = self._book.group(step.token)
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
