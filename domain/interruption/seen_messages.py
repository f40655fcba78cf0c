"""Messages of the queue that were seen: one that is delivered more than once is read once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cachetools import TTLCache

from treenail.domain.interruption.queue_messages import QueueMessage

_SEEN_SECONDS: Final = 3600.0
_MOST_SEEN: Final = 100_000


@dataclass(slots=True)
class _Open:
    """A message by its last receipt, and the instances that it is still needed for."""

    receipt: str
    instance_ids: dict[str, None]


class SeenMessages:
    """The messages that were seen within an hour, and which of them must stay in the queue. Mutable.

    `clock` gives seconds. A message that comes again has another receipt; those before hold no more.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._seen: TTLCache[str, bool] = TTLCache(_MOST_SEEN, _SEEN_SECONDS, timer=clock)
        self._open: dict[str, _Open] = {}
        self._messages_about: dict[str, dict[str, None]] = {}

    def see(self, message: QueueMessage) -> bool:
        """Take in a message; return whether it is one to be read: it was not seen before."""
        if message.id in self._open:
            self._open[message.id].receipt = message.receipt
            return False
        if message.id in self._seen:
            return False
        self._seen[message.id] = True
        return True

    def need(self, message: QueueMessage, instance_id: str) -> None:
        """Keep a message in the queue until what it says of an instance is settled."""
        self._open.setdefault(message.id, _Open(message.receipt, {})).instance_ids[instance_id] = None
        self._messages_about.setdefault(instance_id, {})[message.id] = None

    def needed(self, message: QueueMessage) -> bool:
        """Return whether a message must stay in the queue."""
        return message.id in self._open

    def settle(self, instance_id: str) -> tuple[str, ...]:
        """Take in that what was said of an instance is settled; return the receipts to delete."""
        receipts: list[str] = []
        for message_id in self._messages_about.pop(instance_id, ()):
            message = self._open[message_id]
            message.instance_ids.pop(instance_id, None)
            if not message.instance_ids:
                del self._open[message_id]
                receipts.append(message.receipt)
        return tuple(receipts)
