"""What every `InterruptionQueue` must do."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import pytest

from tests.adapters.fake.ec2.rig import Mailbox
from tests.agenda import HeapAgenda
from tests.real.lab.fixtures import lab, lab_process  # noqa: F401
from tests.real.lab.lab import Lab
from tests.real.sqs.reader import Reader
from treenail.adapters.fake.queue import NAME, FakeQueue
from treenail.adapters.sqs import SqsSettings
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.ports import InterruptionQueue

# Over the wire a second of these tests is so much of a real one, and so is the time of visibility.
PACE: Final = 0.1


class Box(Protocol):
    """Somebody who keeps what he is told."""

    messages: list[QueueMessage]

    def tell(self, message: QueueMessage, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Setup:
    """A queue, how to send to it from outside, a receiver, and how to let seconds pass."""

    queue: InterruptionQueue
    send: Callable[[str], object]
    mailbox: Box
    wait: Callable[[float], None]
    name: str


@pytest.fixture(params=["fake", pytest.param("sqs", marks=pytest.mark.xdist_group("contract of queues"))])
def setup(request: pytest.FixtureRequest) -> Iterator[Setup]:
    if request.param == "fake":
        agenda = HeapAgenda()
        queue = FakeQueue(agenda, random.Random(1))
        yield Setup(queue, queue.put, Mailbox(agenda), agenda.run, NAME)
        return
    laboratory: Lab = request.getfixturevalue("lab")
    reader = Reader(laboratory, SqsSettings(name=laboratory.cluster, wait_seconds=1, visibility_seconds=2))
    wait: Callable[[float], None] = lambda seconds: time.sleep(max(1.0, seconds * PACE))  # noqa: E731
    yield Setup(reader.queue, reader.send, reader.box, wait, laboratory.cluster)
    reader.queue.stop()
    assert reader.defects == []


def test_every_message_is_received_with_its_body_untouched(setup: Setup) -> None:
    bodies = ["{}", "no JSON at all", '{"text": "ünï"}']
    setup.queue.feed(setup.mailbox)

    for body in bodies:
        setup.send(body)
    setup.wait(5)

    assert sorted(m.body for m in setup.mailbox.messages) == sorted(bodies)
    assert all(m.sent_at.tzinfo is not None for m in setup.mailbox.messages)
    assert len({m.id for m in setup.mailbox.messages}) == 3
    assert {m.queue for m in setup.mailbox.messages} == {setup.name}


def test_what_was_sent_before_anybody_listened_is_received(setup: Setup) -> None:
    setup.send("early")
    setup.wait(5)

    setup.queue.feed(setup.mailbox)
    setup.wait(5)

    assert [m.body for m in setup.mailbox.messages] == ["early"]


def test_a_message_comes_again_until_it_is_deleted(setup: Setup) -> None:
    setup.queue.feed(setup.mailbox)
    setup.send("again")
    setup.wait(45)
    twice = len(setup.mailbox.messages)

    setup.queue.delete((setup.mailbox.messages[-1].receipt,))
    setup.wait(45)

    assert twice == len(setup.mailbox.messages) > 1
    assert len({m.id for m in setup.mailbox.messages}) == 1


def test_deleting_twice_does_not_matter(setup: Setup) -> None:
    setup.queue.feed(setup.mailbox)
    setup.send("once")
    setup.wait(5)
    receipts = (setup.mailbox.messages[0].receipt,)

    setup.queue.delete(receipts)
    setup.queue.delete(receipts)
    setup.wait(45)

    assert len(setup.mailbox.messages) == 1


def test_nothing_is_received_after_stopping(setup: Setup) -> None:
    setup.queue.feed(setup.mailbox)

    setup.queue.stop()
    setup.send("late")
    setup.wait(45)

    assert setup.mailbox.messages == []
