"""A message of the interruption queue, as it was received."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMessage:
    """A message as the queue of that name gave it. `body` is EventBridge's JSON."""

    id: str
    receipt: str
    body: str
    sent_at: datetime
    queue: str
