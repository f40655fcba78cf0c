from __future__ import annotations

import threading

import boto3

from tests.probes import Probe
from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.adapters.runtime.dice import SystemDice
from treenail.adapters.sqs import SqsSettings
from treenail.adapters.sqs.queue import SqsQueue
from treenail.domain.model.errors import NotLeadingError


def test_a_replica_that_does_not_lead_receives_nothing() -> None:
    asked = threading.Event()

    def refuse() -> None:
        asked.set()
        raise NotLeadingError("not now")

    telemetry, failures = RecordingTelemetry(), list[BaseException]()
    queue = SqsQueue(
        SqsSettings(name="demo", receivers=1),
        dice=SystemDice(),
        telemetry=telemetry,
        congested=lambda: False,
        failed=failures.append,
        session=boto3.Session("key", "secret", region_name="us-east-1"),
        may_change=refuse,
    )
    queue.feed(Probe())
    assert asked.wait(10)
    queue.stop()

    # A call that went out would have found no queue, and told of it.
    assert not telemetry.logs
    assert failures == []
