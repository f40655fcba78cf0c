"""Tests of what every `InterruptionQueue` must do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.ports import InterruptionQueue


class Mailbox:
    """A Ref that keeps the messages it is told."""

    def __init__(self) -> None:
        self.messages: list[QueueMessage] = []

    def tell(self, message: QueueMessage, /) -> None:
        """Keep a message."""
        self.messages.append(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSubject:
    """An empty queue of a `name`, how to send to it from outside, and how to let seconds pass.

    A message that is not deleted comes again within 45 of these seconds.
    """

    queue: InterruptionQueue
    name: str
    send: Callable[[str], object]
    wait: Callable[[float], None]
    mailbox: Mailbox = field(default_factory=Mailbox)


class QueueContract:
    """Derive a class whose name begins with Test, and give it a fixture `subject`, a `QueueSubject`."""

    def test_every_message_is_received_with_its_body_untouched(self, subject: QueueSubject) -> None:
        bodies = ["{}", "no JSON at all", '{"text": "ünï"}']
        subject.queue.feed(subject.mailbox)

        for body in bodies:
            subject.send(body)
        subject.wait(5)

        assert sorted(m.body for m in subject.mailbox.messages) == sorted(bodies)
        assert all(m.sent_at.tzinfo is not None for m in subject.mailbox.messages)
        assert len({m.id for m in subject.mailbox.messages}) == 3
        assert {m.queue for m in subject.mailbox.messages} == {subject.name}

    def test_what_was_sent_before_anybody_listened_is_received(self, subject: QueueSubject) -> None:
        subject.send("early")
        subject.wait(5)

        subject.queue.feed(subject.mailbox)
        subject.wait(5)

        assert [m.body for m in subject.mailbox.messages] == ["early"]

    def test_a_message_comes_again_until_it_is_deleted(self, subject: QueueSubject) -> None:
        subject.queue.feed(subject.mailbox)
        subject.send("again")
        subject.wait(45)
        twice = len(subject.mailbox.messages)

        subject.queue.delete((subject.mailbox.messages[-1].receipt,))
        subject.wait(45)

        assert twice == len(subject.mailbox.messages) > 1
        assert len({m.id for m in subject.mailbox.messages}) == 1

    def test_deleting_twice_does_not_matter(self, subject: QueueSubject) -> None:
        subject.queue.feed(subject.mailbox)
        subject.send("once")
        subject.wait(5)
        receipts = (subject.mailbox.messages[0].receipt,)

        subject.queue.delete(receipts)
        subject.queue.delete(receipts)
        subject.wait(45)

        assert len(subject.mailbox.messages) == 1

    def test_nothing_is_received_after_stopping(self, subject: QueueSubject) -> None:
        subject.queue.feed(subject.mailbox)

        subject.queue.stop()
        subject.send("late")
        subject.wait(45)

        assert subject.mailbox.messages == []
