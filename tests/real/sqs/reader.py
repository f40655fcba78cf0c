"""An SQS queue of the laboratory, and somebody who reads it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import boto3

from tests.real.lab.lab import Lab
from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.adapters.runtime.dice import SystemDice
from treenail.adapters.sqs import SqsQueue, SqsSettings
from treenail.domain.interruption.queue_messages import QueueMessage


class Letterbox:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.messages: list[QueueMessage] = []

    def tell(self, message: QueueMessage, /) -> None:
        self.messages.append(message)

    def bodies(self) -> list[str]:
        return sorted({m.body for m in self.messages})


class Endpoint(boto3.Session):
    """A session whose clients all go to one endpoint, as AWS_ENDPOINT_URL would have them."""

    def __init__(self, lab: Lab) -> None:
        keys = lab.environment
        super().__init__(
            keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"], region_name=keys["AWS_REGION"]
        )
        self._endpoint = lab.endpoint_url

    def client(self, service_name: str, **settings: Any) -> Any:  # type: ignore[override]
        return super().client(service_name, endpoint_url=self._endpoint, **settings)  # type: ignore[call-overload]


@dataclass
class Reader:
    """The adapter, over the laboratory. Defects of its threads end up in `defects`."""

    lab: Lab
    settings: SqsSettings
    busy: bool = False
    defects: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.box = Letterbox()
        self.telemetry = RecordingTelemetry()
        self.queue = SqsQueue(
            self.settings,
            dice=SystemDice(),
            telemetry=self.telemetry,
            congested=lambda: self.busy,
            failed=self.defects.append,
            session=Endpoint(self.lab),
        )

    def send(self, body: str) -> None:
        url = self.lab.estate["queue_url"]
        self.lab.client("sqs").send_message(QueueUrl=url, MessageBody=body)

    def logged(self) -> list[str]:
        return [line.message for line in self.telemetry.logs]


def threads() -> list[str]:
    """Return the names of the adapter's threads that live."""
    return [t.name for t in threading.enumerate() if t.name.startswith("sqs-receiver")]


def until(true: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Wait until something is so.

    Raises:
        AssertionError: it never was.
    """
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
