from __future__ import annotations

import random

import pytest

from tests.adapters.fake.ec2.rig import Mailbox
from tests.agenda import START, HeapAgenda
from treenail.adapters.fake.queue import FakeQueue, QueueFaults, QueueSettings
from treenail.domain.model.errors import InvalidError, UnavailableError


def queue_of(faults: QueueFaults | None = None, seed: int = 0) -> tuple[HeapAgenda, FakeQueue, Mailbox]:
    agenda = HeapAgenda()
    queue = FakeQueue(agenda, random.Random(seed), settings=QueueSettings(delay=(0.5, 1.0)), faults=faults)
    mailbox = Mailbox(agenda)
    queue.feed(mailbox)
    return agenda, queue, mailbox


def test_a_message_comes_after_a_while_as_it_was_put_whatever_it_says() -> None:
    agenda, queue, mailbox = queue_of()
    agenda.run(10)

    known = queue.put("}not JSON{")
    agenda.run(0.4)
    early = len(mailbox.messages)
    agenda.run(1)

    assert early == 0
    (message,) = mailbox.messages
    assert (message.id, message.body) == (known, "}not JSON{")
    assert (message.sent_at - START).total_seconds() == 10


def test_a_deleted_message_does_not_come_again() -> None:
    agenda, queue, mailbox = queue_of()
    queue.put("once")
    agenda.run(1)

    queue.delete((mailbox.messages[0].receipt,))
    agenda.run(100)

    assert len(mailbox.messages) == 1
    assert queue.backlog() == ()


def test_a_message_not_deleted_comes_again_every_twenty_seconds_until_it_is_dropped() -> None:
    agenda, queue, mailbox = queue_of()
    queue.put("again")

    agenda.run(1000)

    gaps = {round(b - a, 6) for a, b in zip(mailbox.times, mailbox.times[1:], strict=False)}
    assert gaps == {20.0}
    assert len(mailbox.messages) == 15
    assert len({m.id for m in mailbox.messages}) == 1
    assert len({m.receipt for m in mailbox.messages}) == 15
    assert queue.backlog() == ()


def test_any_receipt_of_a_message_deletes_it() -> None:
    agenda, queue, mailbox = queue_of()
    queue.put("twice")
    agenda.run(30)

    queue.delete((mailbox.messages[0].receipt,))
    queue.delete((mailbox.messages[1].receipt,))
    agenda.run(100)

    assert len(mailbox.messages) == 2


def test_a_receipt_that_was_never_given_is_refused_and_nothing_is_deleted() -> None:
    agenda, queue, mailbox = queue_of()
    queue.put("kept")
    agenda.run(1)

    with pytest.raises(InvalidError, match="made-up"):
        queue.delete((mailbox.messages[0].receipt, "made-up"))

    assert queue.backlog() == ("kept",)


def test_messages_wait_for_a_receiver() -> None:
    agenda, queue, first = queue_of()
    queue.stop()
    queue.put("patient")
    agenda.run(60)
    waiting = len(first.messages)
    second = Mailbox(agenda)

    queue.feed(second)
    agenda.run(1)

    assert waiting == 0
    assert [m.body for m in second.messages] == ["patient"]


def test_a_new_receiver_gets_what_the_one_before_did_not_delete() -> None:
    agenda, queue, first = queue_of()
    queue.put("unfinished")
    agenda.run(1)
    second = Mailbox(agenda)

    queue.feed(second)
    agenda.run(20)

    assert (len(first.messages), len(second.messages)) == (1, 1)
    assert second.messages[0].id == first.messages[0].id


def test_messages_come_in_any_order() -> None:
    agenda, queue, mailbox = queue_of()
    for n in range(20):
        queue.put(str(n))

    agenda.run(1)

    bodies = [m.body for m in mailbox.messages]
    assert sorted(bodies, key=int) == [str(n) for n in range(20)] != bodies


def test_a_duplicate_has_the_same_id_and_its_own_receipt() -> None:
    agenda, queue, mailbox = queue_of(QueueFaults(duplicate=1))
    queue.put("double")

    agenda.run(1)

    one, other = mailbox.messages
    assert one.id == other.id
    assert one.receipt != other.receipt


def test_a_duplicate_comes_even_if_the_first_is_deleted_at_once() -> None:
    agenda, queue, _ = queue_of(QueueFaults(duplicate=1))
    eager = Mailbox(agenda, deletes_from=queue)
    queue.feed(eager)
    queue.put("double")

    agenda.run(100)

    assert len(eager.messages) == 2


def test_a_late_message_comes_late() -> None:
    agenda, queue, mailbox = queue_of(QueueFaults(late=1))
    queue.put("late")

    agenda.run(100)

    assert 10.5 <= mailbox.times[0] <= 61


def test_a_deletion_that_does_not_arrive_is_not_done_and_one_whose_answer_is_lost_is() -> None:
    agenda, queue, mailbox = queue_of()
    queue.put("message")
    agenda.run(1)
    receipts = (mailbox.messages[0].receipt,)

    queue.faults = QueueFaults(unavailable=1)
    with pytest.raises(UnavailableError):
        queue.delete(receipts)
    undone = queue.backlog()
    queue.faults = QueueFaults(answer_lost=1)
    with pytest.raises(UnavailableError):
        queue.delete(receipts)

    assert (undone, queue.backlog()) == (("message",), ())


def test_the_same_seed_gives_the_same_deliveries() -> None:
    def course(seed: int) -> object:
        agenda, queue, mailbox = queue_of(QueueFaults(duplicate=0.5, late=0.5), seed=seed)
        for n in range(10):
            queue.put(str(n))
        agenda.run(100)
        return mailbox.messages, mailbox.times

    assert course(1) == course(1)
    assert course(1) != course(2)


def test_a_queue_that_is_gone_loses_what_is_in_it_and_what_is_sent_meanwhile() -> None:
    agenda, queue, mailbox = queue_of()
    queue.put("received")
    agenda.run(2)
    queue.put("lost with it")
    queue.go(60)
    queue.put("lost meanwhile")
    agenda.run(30)
    with pytest.raises(UnavailableError, match="NonExistentQueue"):
        queue.delete((mailbox.messages[0].receipt,))
    agenda.run(30)

    queue.put("after")
    agenda.run(300)

    assert {message.body for message in mailbox.messages} == {"received", "after"}
    assert [message.body for message in mailbox.messages].count("received") == 1


def test_a_queue_cannot_be_gone_for_less_than_no_time() -> None:
    _, queue, _ = queue_of()

    with pytest.raises(ValueError, match="-1"):
        queue.go(-1)
