"""Queues that several may receive from at once."""

from __future__ import annotations

from moto.sqs.models import Queue


def install() -> None:
    """Patch moto: it goes through the messages that are seen by somebody while others see more of them."""
    Queue.pending_message_groups = property(_pending_groups)


def _pending_groups(queue: Queue) -> set[str]:
    return {message.group_id for message in tuple(queue.pending_messages) if message.group_id is not None}
