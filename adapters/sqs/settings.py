"""Settings of the interruption queue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SqsSettings:
    """The queue's name, as INTERRUPTION_QUEUE has it, and how it is read.

    `receivers` is how many threads wait for messages. `wait_seconds` (at most 20) is how long SQS keeps a
    request open while there is no message. A message received is not given to anybody else for
    `visibility_seconds`: then it comes again, unless it was deleted. While there is no queue of this name, it
    is looked for every `missing_seconds` or somewhat later.
    """

    name: str
    receivers: int = 2
    wait_seconds: int = 20
    visibility_seconds: int = 20
    missing_seconds: float = 30.0
