from __future__ import annotations

from dataclasses import replace

from tests.builders import START
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.interruption.seen_messages import SeenMessages

FIRST = QueueMessage(id="m1", receipt="r1", body="{}", sent_at=START, queue="q")
AGAIN = replace(FIRST, receipt="r2")


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_message_is_read_once_within_an_hour() -> None:
    clock = Clock()
    seen = SeenMessages(clock)

    assert [seen.see(FIRST), seen.see(AGAIN)] == [True, False]

    clock.seconds = 3601.0
    assert seen.see(AGAIN)


def test_a_message_is_needed_until_all_it_says_is_settled() -> None:
    seen = SeenMessages(Clock())
    seen.see(FIRST)
    seen.need(FIRST, "i-1")
    seen.need(FIRST, "i-2")

    assert seen.settle("i-1") == ()
    assert seen.needed(FIRST)
    assert seen.settle("i-2") == ("r1",)
    assert not seen.needed(FIRST)
    assert seen.settle("i-2") == ()


def test_a_message_that_comes_again_is_deleted_by_its_last_receipt() -> None:
    seen = SeenMessages(Clock())
    seen.see(FIRST)
    seen.need(FIRST, "i-1")

    assert not seen.see(AGAIN)

    assert seen.settle("i-1") == ("r2",)
