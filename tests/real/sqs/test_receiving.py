"""Of the SQS adapter over the wire: what it does while SQS does not do as it should."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from tests.real.lab.lab import Lab
from tests.real.sqs.reader import Reader, threads, until
from treenail.adapters.sqs import SqsSettings
from treenail.domain.interruption.message_parsing import InterruptionKind, parse_notice
from treenail.domain.model.errors import UnavailableError

MISSING = "AWS.SimpleQueueService.NonExistentQueue"
INSTANCE = "i-0123456789abcdef0"


@pytest.fixture
def make(lab: Lab) -> Iterator[Callable[..., Reader]]:
    made: list[Reader] = []

    def make(**settings: object) -> Reader:
        made.append(Reader(lab, SqsSettings(**{"name": lab.cluster, **settings})))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for reader in made:
        reader.queue.stop()
        assert reader.defects == []


def test_a_spot_warning_gets_to_whoever_listens(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make()
    reader.queue.feed(reader.box)

    lab.spot_warning(INSTANCE)
    until(lambda: bool(reader.box.messages))

    notice = parse_notice(reader.box.messages[0].body)
    assert notice.kind is InterruptionKind.SPOT_INTERRUPTED
    assert notice.instance_ids == (INSTANCE,)
    assert abs(reader.box.messages[0].sent_at.timestamp() - time.time()) < 60


def test_what_is_no_event_at_all_is_passed_on_as_it_is(make: Callable[..., Reader]) -> None:
    reader = make()
    reader.queue.feed(reader.box)

    reader.send("<not json> \u00fc")
    until(lambda: bool(reader.box.messages))

    assert reader.box.bodies() == ["<not json> \u00fc"]


def test_stopping_cuts_a_request_that_waits_for_messages(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make(receivers=2, wait_seconds=20)
    reader.queue.feed(reader.box)
    until(lambda: lab.calls().get("sqs:ReceiveMessage", 0) >= 2)

    began = time.monotonic()
    reader.queue.stop()
    took = time.monotonic() - began

    assert threads() == []
    assert took < 2
    assert reader.logged() == []


def test_stopping_twice_or_before_feeding_does_no_harm(make: Callable[..., Reader]) -> None:
    reader = make()

    reader.queue.stop()
    reader.queue.feed(reader.box)
    reader.queue.stop()
    reader.queue.stop()

    assert threads() == []


def test_feeding_another_one_takes_the_place_of_the_first(make: Callable[..., Reader]) -> None:
    reader, other = make(receivers=1), make(receivers=1)
    reader.queue.feed(reader.box)

    reader.queue.feed(other.box)
    reader.send("for the second")
    until(lambda: bool(other.box.messages))

    assert reader.box.messages == []
    assert len(threads()) == 1


def test_nothing_is_received_while_the_inboxes_are_full(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make()
    reader.busy = True
    reader.send("later")
    reader.queue.feed(reader.box)
    time.sleep(0.5)
    asked = lab.calls().get("sqs:ReceiveMessage", 0)

    reader.busy = False
    until(lambda: bool(reader.box.messages))

    assert asked == 0
    assert reader.box.bodies() == ["later"]


def test_messages_come_again_when_an_outage_is_over(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make(receivers=1, wait_seconds=1)
    with lab.outage():
        reader.queue.feed(reader.box)
        until(lambda: len(reader.logged()) >= 2)
        tried = sum(lab.calls().values())
    reader.send("after it")
    until(lambda: bool(reader.box.messages))

    # Half a second, one, two: nobody hammers on a closed door.
    assert tried <= 4
    assert set(reader.logged()[:-1]) == {"cannot receive from the interruption queue"}
    assert reader.logged()[-1] == "receiving from the interruption queue again"
    assert reader.telemetry.logs[0].fields["error"] == "ServiceUnavailable: ServiceUnavailable"


def test_an_outage_does_not_hold_up_stopping(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make(receivers=1)
    with lab.outage():
        reader.queue.feed(reader.box)
        until(lambda: len(reader.logged()) >= 2)
        began = time.monotonic()
        reader.queue.stop()

    assert time.monotonic() - began < 2
    assert threads() == []


def test_a_queue_that_is_missing_is_said_clearly_and_found_when_it_is_made(
    lab: Lab, make: Callable[..., Reader]
) -> None:
    reader = make(name="made-later", receivers=1, missing_seconds=0.5)
    reader.queue.feed(reader.box)
    until(lambda: bool(reader.logged()))

    made = lab.client("sqs").create_queue(QueueName="made-later")["QueueUrl"]
    lab.client("sqs").send_message(QueueUrl=made, MessageBody="found")
    until(lambda: bool(reader.box.messages))

    assert reader.logged()[0] == "the interruption queue does not exist"
    assert reader.telemetry.logs[0].fields["queue"] == "made-later"
    assert reader.box.bodies() == ["found"]


def test_a_queue_that_vanishes_is_looked_for_again(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make(receivers=1, wait_seconds=1, missing_seconds=0.2)
    reader.queue.feed(reader.box)
    until(lambda: lab.calls().get("sqs:ReceiveMessage", 0) >= 1)
    looked = lab.calls()["sqs:GetQueueUrl"]

    lab.fault("sqs", "ReceiveMessage", code=MISSING)
    until(lambda: "the interruption queue does not exist" in reader.logged())
    until(lambda: "receiving from the interruption queue again" in reader.logged())

    assert lab.calls()["sqs:GetQueueUrl"] == looked + 1


def test_a_slow_answer_is_waited_for(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make(receivers=1)
    lab.fault("sqs", "ReceiveMessage", delay=3.0)
    reader.send("slowly")

    reader.queue.feed(reader.box)
    until(lambda: bool(reader.box.messages))

    assert reader.box.bodies() == ["slowly"]
    assert reader.logged() == []


def test_a_connection_that_breaks_is_made_anew(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make(receivers=1)
    lab.fault("sqs", "ReceiveMessage", cut=True)
    reader.send("after the break")

    reader.queue.feed(reader.box)
    until(lambda: bool(reader.box.messages))

    assert reader.box.bodies() == ["after the break"]
    assert reader.logged()[0] == "cannot receive from the interruption queue"


def test_an_error_that_repeats_what_was_signed_is_logged_by_its_code_alone(
    lab: Lab, make: Callable[..., Reader]
) -> None:
    reader = make(receivers=1)
    lab.fault(code="SignatureDoesNotMatch", status=403, message="x-amz-security-token:SECRET", times=1)

    reader.queue.feed(reader.box)
    until(lambda: bool(reader.logged()))

    assert reader.telemetry.logs[0].fields["error"] == "SignatureDoesNotMatch"
    assert "SECRET" not in str(reader.telemetry.logs)


def test_a_receiver_that_breaks_is_reported_as_a_defect(make: Callable[..., Reader]) -> None:
    reader = make(receivers=1)

    class Broken:
        def tell(self, _message: object, /) -> None:
            raise LookupError("broken")

    reader.queue.feed(Broken())
    reader.send("anything")
    until(lambda: bool(reader.defects))

    assert [type(d) for d in reader.defects] == [LookupError]
    reader.defects.clear()


# --- deleting


def test_many_messages_are_deleted_ten_at_a_time(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make()
    reader.queue.feed(reader.box)
    for number in range(25):
        reader.send(str(number))
    until(lambda: len(reader.box.bodies()) == 25)
    receipts = tuple({m.id: m.receipt for m in reader.box.messages}.values())

    reader.queue.delete(receipts)

    assert lab.calls()["sqs:DeleteMessageBatch"] == 3
    kept = lab.client("sqs").get_queue_attributes(
        QueueUrl=lab.estate["queue_url"], AttributeNames=["ApproximateNumberOfMessagesNotVisible"]
    )["Attributes"]
    assert kept == {"ApproximateNumberOfMessagesNotVisible": "0"}


def test_deleting_is_tried_again_after_a_short_failure(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make()
    lab.fault("sqs", "DeleteMessageBatch", code="InternalError", status=500, times=2)

    reader.queue.delete(("a receipt that nobody knows",))

    assert lab.calls()["sqs:DeleteMessageBatch"] == 3


def test_deleting_gives_up_after_three_failures(lab: Lab, make: Callable[..., Reader]) -> None:
    reader = make()

    with lab.outage(), pytest.raises(UnavailableError, match="ServiceUnavailable"):
        reader.queue.delete(("anything",))


def test_deleting_goes_on_after_stopping(make: Callable[..., Reader]) -> None:
    reader = make()
    reader.send("one")
    reader.queue.feed(reader.box)
    until(lambda: bool(reader.box.messages))
    reader.queue.stop()

    reader.queue.delete((reader.box.messages[0].receipt,))
