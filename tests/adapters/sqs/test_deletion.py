from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from treenail.adapters.runtime.dice import SystemDice
from treenail.adapters.sqs.connections import open_client
from treenail.adapters.sqs.deletion import Deletion
from treenail.adapters.sqs.queue_url import QueueUrl
from treenail.domain.model.errors import NotLeadingError, UnavailableError

NAME, URL = "demo", "https://sqs.us-east-1.amazonaws.com/123456789012/demo"
CLIENT = open_client(boto3.Session("key", "secret", region_name="us-east-1"), wait_seconds=0)


class Sqs:
    """The answers SQS gives, in order, and how long was waited between the questions."""

    def __init__(self, stub: Stubber) -> None:
        self._stub = stub
        self.waited: list[float] = []
        self.deletion = Deletion(CLIENT, QueueUrl(NAME), SystemDice(), sleep=self.waited.append)
        stub.add_response("get_queue_url", {"QueueUrl": URL}, {"QueueName": NAME})

    def answers(self, receipts: tuple[str, ...], *failed: tuple[int, str, bool]) -> None:
        entries = [{"Id": str(n), "ReceiptHandle": receipt} for n, receipt in enumerate(receipts)]
        lost = {n for n, _, _ in failed}
        answer: dict[str, Any] = {
            "Successful": [{"Id": str(n)} for n in range(len(receipts)) if n not in lost],
            "Failed": [{"Id": str(n), "Code": code, "SenderFault": ours} for n, code, ours in failed],
        }
        self._stub.add_response("delete_message_batch", answer, {"QueueUrl": URL, "Entries": entries})


@pytest.fixture
def sqs() -> Iterator[Sqs]:
    with Stubber(CLIENT) as stub:
        yield Sqs(stub)
        stub.assert_no_pending_responses()


def test_only_what_failed_is_tried_again(sqs: Sqs) -> None:
    sqs.answers(("a", "b", "c"), (1, "InternalError", False))
    sqs.answers(("b",))

    sqs.deletion.delete(("a", "b", "c"))

    assert len(sqs.waited) == 1


def test_a_receipt_that_is_no_longer_good_is_let_go(sqs: Sqs) -> None:
    sqs.answers(("a", "b"), (0, "ReceiptHandleIsInvalid", True))

    sqs.deletion.delete(("a", "b"))

    assert sqs.waited == []


def test_what_fails_three_times_is_reported_with_its_reason(sqs: Sqs) -> None:
    for _ in range(3):
        sqs.answers(("a",), (0, "InternalError", False))

    with pytest.raises(UnavailableError, match="InternalError"):
        sqs.deletion.delete(("a",))

    assert len(sqs.waited) == 2
    assert sqs.waited[1] > sqs.waited[0]


def test_a_batch_that_fails_does_not_keep_the_next_from_being_deleted(sqs: Sqs) -> None:
    first, second = tuple(f"r{n}" for n in range(10)), ("last",)
    sqs.answers(first, (0, "InternalError", False))
    sqs.answers(("r0",), (0, "InternalError", False))
    sqs.answers(("r0",), (0, "InternalError", False))
    sqs.answers(second)

    with pytest.raises(UnavailableError):
        sqs.deletion.delete((*first, *second))


def test_a_receipt_is_sent_once_in_a_batch(sqs: Sqs) -> None:
    sqs.answers(("a", "b"))

    sqs.deletion.delete(("a", "b", "a"))


def test_nothing_is_deleted_by_whoever_may_not() -> None:
    def refuse() -> None:
        raise NotLeadingError("not now")

    with Stubber(CLIENT) as stub:
        stub.add_response("get_queue_url", {"QueueUrl": URL}, {"QueueName": NAME})
        deletion = Deletion(CLIENT, QueueUrl(NAME), SystemDice(), may_change=refuse)

        with pytest.raises(NotLeadingError):
            deletion.delete(("a",))
