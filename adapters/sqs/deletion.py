"""Deletion of messages, ten at a time. Those SQS could not delete are retried."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from treenail.adapters.sqs.errors import CALL_ERRORS, in_words, is_missing
from treenail.adapters.sqs.queue_url import QueueUrl
from treenail.domain.model.backoff import Backoff, Retries
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.runtime import Dice

if TYPE_CHECKING:  # the types of clients are not there at run time
    from types_boto3_sqs.client import SQSClient

_BATCH: Final = 10
_ATTEMPTS: Final = 3
_BACKOFF: Final = Backoff(first=0.1, longest=1.0)


class Deletion:
    """Deletes messages by their receipts.

    `may_change` is asked just before each call, and raises a PortError where it may not be sent.
    """

    def __init__(
        self,
        client: SQSClient,
        url: QueueUrl,
        dice: Dice,
        *,
        sleep: Callable[[float], None] = time.sleep,
        may_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._may_change = may_change
        self._client = client
        self._url = url
        self._dice = dice
        self._sleep = sleep

    def delete(self, receipts: tuple[str, ...]) -> None:
        """Delete messages; those that are gone already, or that SQS gave out again since, do not matter.

        Raises:
            UnavailableError: some were not deleted, however often it was tried.
        """
        problems = [problem for batch in _batches(receipts) if (problem := self._delete(batch))]
        if problems:
            raise UnavailableError(f"cannot delete messages from the interruption queue: {problems[0]}")

    def _delete(self, receipts: tuple[str, ...]) -> str:
        """Delete at most ten, and return what is in the way, "" where nothing is."""
        retries = Retries(_BACKOFF, self._dice.uniform)
        left, problem = receipts, ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._sleep(retries.failed())
            left, problem = self._try(left)
            if not left:
                return ""
        return problem

    def _try(self, receipts: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        """Return the messages to retry, and why."""
        entries = [{"Id": str(n), "ReceiptHandle": receipt} for n, receipt in enumerate(receipts)]
        try:
            url = self._url.find(self._client)
            self._may_change()
            answer = self._client.delete_message_batch(QueueUrl=url, Entries=entries)  # type: ignore[arg-type]
        except CALL_ERRORS as error:
            if is_missing(error):
                self._url.forget()
            return receipts, in_words(error)
        # What is our fault stays so: such a receipt has expired, and its message comes again if it is there.
        failed = [entry for entry in answer.get("Failed", []) if not entry["SenderFault"]]
        return tuple(receipts[int(f["Id"])] for f in failed), ", ".join(sorted({f["Code"] for f in failed}))


def _batches(receipts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    # SQS refuses a batch that has a receipt twice.
    unique = tuple(dict.fromkeys(receipts))
    for start in range(0, len(unique), _BATCH):
        yield unique[start : start + _BATCH]
