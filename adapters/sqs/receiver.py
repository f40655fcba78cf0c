"""The receiver: a thread that waits for messages and passes them on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from treenail.adapters.sqs.errors import CALL_ERRORS, in_words, is_missing
from treenail.adapters.sqs.queue_url import QueueUrl
from treenail.adapters.sqs.settings import SqsSettings
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.model.backoff import Backoff, Retries
from treenail.domain.model.runtime import Dice, Ref
from treenail.domain.ports import Telemetry

if TYPE_CHECKING:  # the types of clients are not there at run time
    from types_boto3_sqs.client import SQSClient
    from types_boto3_sqs.type_defs import MessageTypeDef

_MOST_MESSAGES: Final = 10
_CONGESTED_SECONDS: Final = 0.1
_BACKOFF: Final = Backoff(first=0.5, longest=30.0)
# A missing queue is waited for up to so many times its least.
_MISSING_SPREAD: Final = 1.5


class Receiver:
    """Receives until it is told to stop, whatever SQS answers meanwhile."""

    def __init__(
        self,
        to: Ref[QueueMessage],
        *,
        client: SQSClient,
        url: QueueUrl,
        settings: SqsSettings,
        dice: Dice,
        telemetry: Telemetry,
        congested: Callable[[], bool],
        stopping: threading.Event,
    ) -> None:
        self._to = to
        self._client = client
        self._url = url
        self._settings = settings
        self._dice = dice
        self._telemetry = telemetry
        self._congested = congested
        self._stopping = stopping
        self._retries = Retries(_BACKOFF, dice.uniform)

    def run(self) -> None:
        """Receive; returns when told to stop. What it raises is a defect."""
        while not self._stopping.is_set():
            if self._congested():
                self._stopping.wait(_CONGESTED_SECONDS)
                continue
            try:
                messages = self._receive()
            except CALL_ERRORS as error:
                # Once we are told to stop, the call was cut by ourselves.
                if not self._stopping.is_set():
                    self._stopping.wait(self._after(error))
                continue
            self._recovered()
            self._tell(messages)

    def _receive(self) -> list[MessageTypeDef]:
        answer = self._client.receive_message(
            QueueUrl=self._url.find(self._client),
            MaxNumberOfMessages=_MOST_MESSAGES,
            WaitTimeSeconds=self._settings.wait_seconds,
            VisibilityTimeout=self._settings.visibility_seconds,
            MessageSystemAttributeNames=["SentTimestamp"],
        )
        return answer.get("Messages", [])

    def _tell(self, messages: list[MessageTypeDef]) -> None:
        for message in messages:
            # What is received but not told comes again.
            if self._stopping.is_set():
                return
            self._to.tell(_read(message, self._settings.name))

    def _after(self, error: Exception) -> float:
        """Log a failure, and return how many seconds to wait after it."""
        wait = self._retries.failed()
        if is_missing(error):
            self._url.forget()
            least = self._settings.missing_seconds
            wait = self._dice.uniform(least, least * _MISSING_SPREAD)
            self._log("the interruption queue does not exist", wait, error)
        else:
            self._log("cannot receive from the interruption queue", wait, error)
        return wait

    def _recovered(self) -> None:
        if self._retries.failures:
            self._telemetry.log(
                "receiving from the interruption queue again",
                logger="sqs",
                level="info",
                queue=self._settings.name,
                failures=self._retries.failures,
            )
        self._retries.succeeded()

    def _log(self, what: str, wait: float, error: Exception) -> None:
        self._telemetry.log(
            what,
            logger="sqs",
            level="error",
            queue=self._settings.name,
            error=in_words(error),
            retry_seconds=round(wait, 1),
        )


def _read(message: MessageTypeDef, queue: str) -> QueueMessage:
    sent = int(message.get("Attributes", {}).get("SentTimestamp", "0"))
    return QueueMessage(
        id=message.get("MessageId", ""),
        receipt=message.get("ReceiptHandle", ""),
        body=message.get("Body", ""),
        sent_at=datetime.fromtimestamp(sent / 1000, UTC),
        queue=queue,
    )
