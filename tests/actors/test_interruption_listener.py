from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.actors.stage import Stage
from tests.builders import START, at
from tests.probes import Probe
from treenail.actors.interruption_listener import InterruptionListener
from treenail.adapters.fake.queue import NAME, FakeQueue, QueueFaults, QueueSettings
from treenail.domain.disruption.disruption import NodeInterrupted, NoticeSettled
from treenail.domain.interruption.notice_responses import InterruptionPolicy
from treenail.domain.model.causes import Cause
from treenail.domain.telemetry.ending_roots import interruption_context

SPOT = "EC2 Spot Instance Interruption Warning"
REBALANCE = "EC2 Instance Rebalance Recommendation"
HEALTH = "AWS Health Event"


class Settling(Probe):
    """One who settles what is announced at once."""

    def __init__(self, listener: Callable[[], Any]) -> None:
        super().__init__()
        self._listener = listener

    def tell(self, message: Any) -> None:
        super().tell(message)
        self._listener().tell(NoticeSettled(instance_id=message.instance_id))


class Listening(Stage):
    """A listener at a queue whose messages take no time, and come again after twenty seconds.

    What it announces is settled at once, unless that is left to the test.
    """

    def __init__(self, policy: InterruptionPolicy | None = None, *, settles: bool = True) -> None:
        super().__init__()
        self.policy = policy or InterruptionPolicy()
        self.cluster = Settling(lambda: self.actor) if settles else Probe()
        settings = QueueSettings(delay=(0, 0))
        self.queue = FakeQueue(self.world, random.Random(0), settings=settings)
        self.start()

    def start(self) -> None:
        actor: Any = self.host(
            lambda runtime: InterruptionListener(
                runtime,
                cluster=self.cluster,
                queue=self.queue,
                policy=self.policy,
            )
        )
        self.actor = actor
        self.queue.feed(actor)

    def settle(self, *instances: str) -> None:
        """Say of instances that what was announced is written down."""
        for instance in instances:
            self.actor.tell(NoticeSettled(instance_id=instance))


def event(kind: str, *instances: str, **detail: object) -> str:
    about: dict[str, object] = {"instance-id": instances[0]} if instances else {}
    if kind == HEALTH:
        about = {
            "service": "EC2",
            "eventTypeCategory": "scheduledChange",
            "affectedEntities": [{"entityValue": i} for i in instances],
        }
    return json.dumps(
        {
            "version": "0",
            "detail-type": kind,
            "source": "aws.health" if kind == HEALTH else "aws.ec2",
            "time": START.isoformat(),
            "detail": {**about, **detail},
        }
    )


def test_a_warning_is_told_to_those_who_must_act() -> None:
    stage = Listening()
    stage.run(5)

    message_id = stage.queue.put(event(SPOT, "i-1"))
    stage.run(1)

    told = NodeInterrupted(
        instance_id="i-1",
        cause=Cause.SPOT_INTERRUPTED,
        noticed_at=at(5),
        deadline=START + timedelta(minutes=2),
        message_id=message_id,
    )
    assert stage.cluster.received == [told]
    assert stage.queue.backlog() == ()
    assert stage.telemetry.counted("karpenter_interruption_received_messages_total") == 1
    assert stage.telemetry.counted("karpenter_interruption_deleted_messages_total") == 1


def test_an_event_about_several_instances_is_told_for_each() -> None:
    stage = Listening()

    stage.queue.put(event(HEALTH, "i-1", "i-2"))
    stage.run(1)

    assert [(m.instance_id, m.cause) for m in stage.cluster.of(NodeInterrupted)] == [
        ("i-1", Cause.SCHEDULED_CHANGE),
        ("i-2", Cause.SCHEDULED_CHANGE),
    ]
    assert stage.telemetry.counted("karpenter_interruption_received_messages_total") == 1


def test_what_an_event_names_beside_what_cannot_be_read_is_told_and_the_rest_is_logged() -> None:
    stage = Listening()

    entities = [{"entityValue": "i-1"}, {}, {"entityValue": "i-2"}]
    message_id = stage.queue.put(event(HEALTH, affectedEntities=entities))
    stage.run(1)

    assert [m.instance_id for m in stage.cluster.of(NodeInterrupted)] == ["i-1", "i-2"]
    (line,) = stage.logged("cannot read part of queue message")
    assert line["message_id"] == message_id
    assert line["error"] == "detail.affectedEntities[1]: no entityValue that is a text"
    assert stage.queue.backlog() == ()


def test_a_message_that_comes_twice_is_told_once_and_deleted() -> None:
    stage = Listening()
    stage.queue.faults = QueueFaults(duplicate=1.0)

    stage.queue.put(event(SPOT, "i-1"))
    stage.run(1)

    assert len(stage.cluster.received) == 1
    assert stage.queue.backlog() == ()


def test_a_message_that_could_not_be_deleted_comes_again_and_is_known() -> None:
    stage = Listening()
    stage.queue.faults = QueueFaults(unavailable=1.0)
    stage.queue.put(event(SPOT, "i-1"))
    stage.run(1)
    assert len(stage.queue.backlog()) == 1

    stage.queue.faults = QueueFaults()
    stage.run(30)

    assert stage.queue.backlog() == ()
    assert len(stage.cluster.received) == 1


def test_deletions_that_fail_are_logged_once_in_two_minutes() -> None:
    stage = Listening()
    stage.queue.faults = QueueFaults(unavailable=1.0)
    for number in range(30):
        stage.queue.put(event(SPOT, f"i-{number}"))
    stage.run(115)

    (line,) = stage.logged("cannot delete queue messages")
    assert (line["level"], line["error"]) == ("warning", "SQS does not answer")
    assert stage.telemetry.counted("karpenter_interruption_deleted_messages_total") == 0

    stage.run(30)

    assert len(stage.logged("cannot delete queue messages")) == 2


def test_a_message_stays_in_the_queue_until_what_follows_from_it_is_settled() -> None:
    stage = Listening(settles=False)
    stage.queue.put(event(HEALTH, "i-1", "i-2", "i-1"))
    stage.run(1)
    stage.settle("i-1")
    stage.run(30)
    # It came again meanwhile, and what it said was known.
    assert len(stage.queue.backlog()) == 1
    assert len(stage.cluster.received) == 2

    stage.settle("i-2", "i-2", "i-of-nobody")
    stage.run(1)

    assert stage.queue.backlog() == ()
    assert stage.telemetry.counted("karpenter_interruption_deleted_messages_total") == 1


def test_all_messages_about_an_instance_go_when_it_is_settled() -> None:
    stage = Listening(settles=False)
    stage.queue.put(event(SPOT, "i-1"))
    stage.queue.put(event(HEALTH, "i-1"))
    stage.run(1)
    assert len(stage.queue.backlog()) == 2

    stage.settle("i-1")
    stage.run(1)

    assert stage.queue.backlog() == ()


def test_what_was_announced_and_not_settled_is_announced_again_after_a_restart() -> None:
    stage = Listening(settles=False)
    stage.queue.put(event(SPOT, "i-1"))
    stage.run(10)

    stage.kill()
    stage.start()
    stage.run(30)

    assert len(stage.cluster.received) == 2


def test_a_message_nobody_deleted_before_a_restart_is_told_after_it() -> None:
    stage = Listening()
    stage.queue.faults = QueueFaults(unavailable=1.0)
    stage.queue.put(event(SPOT, "i-1"))
    stage.run(1)

    stage.queue.faults = QueueFaults()
    stage.kill()
    stage.start()
    stage.run(30)

    assert len(stage.cluster.received) == 2
    assert stage.queue.backlog() == ()


@pytest.mark.parametrize("body", ["", event("EC2 Something Else", "i-1")])
def test_what_is_none_of_our_business_is_deleted(body: str) -> None:
    stage = Listening()

    stage.queue.put(body)
    stage.run(1)

    assert stage.queue.backlog() == ()
    assert stage.cluster.received == []
    assert len(stage.telemetry.logs) == 0


@pytest.mark.parametrize("body", ["nonsense", "[]", event(SPOT)])
def test_what_nobody_understands_is_deleted_and_logged(body: str) -> None:
    stage = Listening()

    message_id = stage.queue.put(body)
    stage.run(1)

    assert stage.queue.backlog() == ()
    assert stage.cluster.received == []
    assert [line["message_id"] for line in stage.logged("cannot read queue message")] == [message_id]


def test_a_recommendation_is_recorded_and_nothing_done() -> None:
    stage = Listening()

    stage.queue.put(event(REBALANCE, "i-1"))
    stage.run(1)

    assert stage.cluster.received == []
    assert stage.queue.backlog() == ()
    assert len(stage.logged("recorded interruption message")) == 1
    assert stage.telemetry.spans() == ()


def test_an_interruption_is_traced_from_the_queue_on() -> None:
    stage = Listening()
    stage.run(5)

    message_id = stage.queue.put(event(SPOT, "i-1"))
    stage.run(1)

    receive, process = stage.telemetry.spans()
    assert (receive.name, process.name) == (f"receive {NAME}", f"process {NAME}")
    assert receive.context == process.parent == interruption_context("i-1", Cause.SPOT_INTERRUPTED)
    assert {s.attributes["messaging.message.id"] for s in (receive, process)} == {message_id}
    assert {s.attributes["messaging.destination.name"] for s in (receive, process)} == {NAME}
    assert [s.attributes["messaging.operation.name"] for s in (receive, process)] == ["receive", "process"]
    assert receive.attributes["rpc.method"] == "SQS/ReceiveMessage"
    assert (receive.start, process.end) == (at(5), at(5))


def test_a_second_message_of_the_same_is_processed_within_the_trace_and_leaves_its_root() -> None:
    stage = Listening()
    stage.run(5)
    stage.queue.put(event(SPOT, "i-1"))
    stage.run(1)
    first = stage.telemetry.spans()

    stage.queue.put(event(SPOT, "i-1"))
    stage.run(30)

    (*before, second) = stage.telemetry.spans()
    assert tuple(before) == first
    assert second.parent == first[0].context
    assert second.name == f"process {NAME}"
    assert stage.telemetry.rewritten == 0
