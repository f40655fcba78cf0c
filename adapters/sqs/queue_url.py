"""The URL of the queue, looked up in SQS by its name."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the types of clients are not there at run time
    from types_boto3_sqs.client import SQSClient


class QueueUrl:
    """The URL of a queue, asked for once. Safe to share between threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._known: str | None = None

    def find(self, client: SQSClient) -> str:
        """Return the URL; raises botocore's errors."""
        with self._lock:
            known = self._known
        if known is not None:
            return known
        found = client.get_queue_url(QueueName=self._name)["QueueUrl"]
        with self._lock:
            self._known = found
        return found

    def forget(self) -> None:
        """Ask again next time: the queue may have been made anew."""
        with self._lock:
            self._known = None
