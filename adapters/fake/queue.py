"""An SQS standard queue in memory and virtual time: messages that are not deleted come again."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Final

from treenail.adapters.fake.luck import Span, chance, draw, uuid
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.model.errors import InvalidError, UnavailableError
from treenail.domain.model.runtime import Agenda, Ref

# As the stack calls it: after the cluster, which is called so in rehearsals.
NAME: Final = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """The settings of the queue. All in seconds.

    `delay`: from an event to its message's being received, anything in between and so in any order.
    `visibility`: from receiving a message to its coming again. `retention`: until it is dropped.
    """

    delay: Span = (0.1, 1.5)
    visibility: float = 20.0
    retention: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFaults:
    """Faults by chance: probabilities from 0 to 1, none by default.

    `duplicate`: a message is received twice at once. `late`: it is received up to `late_seconds` later.
    `unavailable`: a deletion is not done and fails. `answer_lost`: it is done and fails.
    """

    duplicate: float = 0.0
    late: float = 0.0
    late_seconds: Span = (10.0, 60.0)
    unavailable: float = 0.0
    answer_lost: float = 0.0


@dataclass(slots=True, kw_only=True)
class _Held:
    """A message in the queue."""

    body: str
    sent_at: datetime
    until: float
    received: int = 0


class FakeQueue:
    """An interruption queue. Implements the port `InterruptionQueue`; `put` is for EC2 and for users.

    One receiver at a time: feeding another one takes the place of the first.
    """

    def __init__(
        self,
        agenda: Agenda,
        dice: random.Random,
        *,
        settings: QueueSettings | None = None,
        faults: QueueFaults | None = None,
    ) -> None:
        self.faults = faults or QueueFaults()
        self._agenda = agenda
        self._dice = dice
        self._settings = settings or QueueSettings()
        self._to: Ref[QueueMessage] | None = None
        self._held: dict[str, _Held] = {}
        # Ready to be received, but no receiver waits: an ordered set.
        self._waiting: dict[str, None] = {}
        self._receipts: dict[str, str] = {}
        # Until then there is no such queue, in monotonic seconds.
        self._gone_until = 0.0

    def put(self, body: str) -> str:
        """Send a message, of whatever content, and return its id. Where the queue is gone, it is lost."""
        known = uuid(self._dice)
        if self._gone:
            return known
        self._held[known] = _Held(
            body=body,
            sent_at=self._agenda.now(),
            until=self._agenda.monotonic() + self._settings.retention,
        )
        wait = draw(self._dice, self._settings.delay)
        if chance(self._dice, self.faults.late):
            wait += draw(self._dice, self.faults.late_seconds)
        self._later(wait, known)
        return known

    def backlog(self) -> tuple[str, ...]:
        """Return the bodies of the messages that are not deleted yet, oldest first."""
        self._drop_old()
        return tuple(held.body for held in self._held.values())

    def go(self, seconds: float) -> None:
        """Be deleted with all that is in it, and made anew so many seconds later.

        Raises:
            ValueError: they are less than none.
        """
        if seconds < 0:
            raise ValueError(f"a queue cannot be gone for {seconds} s")
        self._held.clear()
        self._waiting.clear()
        self._gone_until = max(self._gone_until, self._agenda.monotonic() + seconds)

    @property
    def _gone(self) -> bool:
        return self._agenda.monotonic() < self._gone_until

    # --- the port

    def feed(self, to: Ref[QueueMessage]) -> None:
        """From now on tell `to` every message received. One not deleted comes again."""
        self._to = to
        for known in self._waiting:
            self._later(draw(self._dice, self._settings.delay), known)
        self._waiting.clear()

    def stop(self) -> None:
        """Receive no more. What is sent meanwhile waits for the next receiver."""
        self._to = None

    def delete(self, receipts: tuple[str, ...]) -> None:
        """Delete messages that were dealt with; those that are gone already do not matter.

        Raises:
            InvalidError: a receipt is not one that this queue has given. Nothing is deleted.
            UnavailableError: no answer.
        """
        unknown = [receipt for receipt in receipts if receipt not in self._receipts]
        if unknown:
            raise InvalidError(f"ReceiptHandleIsInvalid: {unknown[0]} was never given")
        if self._gone:
            raise UnavailableError("AWS.SimpleQueueService.NonExistentQueue: there is no such queue")
        if chance(self._dice, self.faults.unavailable):
            raise UnavailableError("SQS does not answer")
        for receipt in receipts:
            self._forget(self._receipts[receipt])
        if chance(self._dice, self.faults.answer_lost):
            raise UnavailableError("SQS's answer got lost")

    # --- receiving

    def _later(self, seconds: float, known: str) -> None:
        self._agenda.call_at(self._agenda.monotonic() + seconds, partial(self._receive, known))

    def _receive(self, known: str) -> None:
        self._drop_old()
        if known not in self._held:
            return
        if self._to is None:
            self._waiting[known] = None
            return
        self._later(self._settings.visibility, known)
        messages = [self._received(known)]
        if chance(self._dice, self.faults.duplicate):
            messages.append(self._received(known))
        for message in messages:
            self._to.tell(message)

    def _received(self, known: str) -> QueueMessage:
        held = self._held[known]
        held.received += 1
        receipt = f"{known}#{held.received}"
        self._receipts[receipt] = known
        return QueueMessage(id=known, receipt=receipt, body=held.body, sent_at=held.sent_at, queue=NAME)

    def _drop_old(self) -> None:
        now = self._agenda.monotonic()
        # Messages stand in the order they were sent in, and all are kept equally long.
        for known in list(takewhile(lambda k: self._held[k].until <= now, self._held)):
            self._forget(known)

    def _forget(self, known: str) -> None:
        self._held.pop(known, None)
        self._waiting.pop(known, None)
