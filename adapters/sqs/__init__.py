"""The interruption queue on Amazon SQS."""

from __future__ import annotations

from treenail.adapters.sqs.queue import SqsQueue
from treenail.adapters.sqs.settings import SqsSettings

__all__ = ["SqsQueue", "SqsSettings"]
