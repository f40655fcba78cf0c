from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.stage import Stage
from tests.actors.troubles import StubCloud
from tests.builders import START, at
from tests.probes import Probe
from treenail.actors.status_poller import StatusPoller
from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.interruption.impairments import OF_STATUSES, Impairment
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.interruption.notice_responses import InterruptionPolicy, Response
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import UnavailableError
from treenail.domain.telemetry.ending_roots import interruption_context
from treenail.domain.telemetry.metrics import INSTANCE_STATUS_UNHEALTHY

UNWELL = Impairment(instance_id="i-1", kind=InterruptionKind.INSTANCE_STATUS, since=START)
PLANNED = Impairment(instance_id="i-2", kind=InterruptionKind.EVENT_STATUS, deadline=at(3600))


class Polling(Stage):
    """The poller over a cloud that says what is wrong."""

    def __init__(self, *unwell: Impairment, policy: InterruptionPolicy | None = None) -> None:
        super().__init__()
        self.cloud = StubCloud(self.world)
        self.cloud.unwell = unwell
        self.cluster = Probe()
        self.actor: Any = self.host(
            lambda runtime: StatusPoller(
                runtime,
                cluster=self.cluster,
                cloud=self.cloud,
                policy=policy or InterruptionPolicy(),
            )
        )

    def counted(self, category: str) -> float:
        return self.telemetry.counted(INSTANCE_STATUS_UNHEALTHY.name, category=category)


def test_a_check_that_has_failed_for_two_minutes_is_told() -> None:
    stage = Polling(UNWELL)

    stage.run(119)
    assert stage.cluster.received == []
    stage.run(50)

    told = NodeInterrupted(
        instance_id="i-1", cause=Cause.INSTANCE_STATUS, noticed_at=at(120.2), forceful=True
    )
    assert stage.cluster.received == [told]
    assert stage.counted("InstanceStatus") == 1


def test_what_is_planned_is_told_again_every_four_minutes() -> None:
    stage = Polling(PLANNED)

    stage.run(900)

    told = stage.cluster.of(NodeInterrupted)
    assert [one.noticed_at.minute for one in told] == [START.minute + minute for minute in (1, 5, 9, 13)]


def test_a_check_that_fails_is_told_again_every_minute_and_counted_and_traced_once() -> None:
    stage = Polling(UNWELL)

    stage.run(900)

    told = stage.cluster.of(NodeInterrupted)
    assert [one.noticed_at.minute for one in told] == [START.minute + minute for minute in range(2, 15)]
    assert stage.counted("InstanceStatus") == 1
    assert len(stage.spans("EC2/DescribeInstanceStatus")) == 1


def test_who_recovered_and_fails_again_is_told_again() -> None:
    stage = Polling(UNWELL)
    stage.run(130)
    stage.cloud.unwell = ()
    stage.run(60)

    stage.cloud.unwell = (replace(UNWELL, since=stage.now()),)
    stage.run(200)

    assert len(stage.cluster.received) == 2


def test_what_is_planned_ends_the_instance_when_it_is_planned_for() -> None:
    stage = Polling(PLANNED, replace(PLANNED, instance_id="i-3", deadline=START))

    stage.run(61)

    told = stage.cluster.of(NodeInterrupted)
    assert [(one.instance_id, one.deadline, one.forceful) for one in told] == [
        ("i-2", at(3600), False),
        ("i-3", None, False),
    ]


@pytest.mark.parametrize(
    ("impairment", "policy"),
    [
        (UNWELL, InterruptionPolicy(impaired_status=Response.RECORD)),
        (PLANNED, InterruptionPolicy(scheduled_change=Response.RECORD)),
    ],
)
def test_what_is_only_to_be_recorded_ends_nothing(impairment: Impairment, policy: InterruptionPolicy) -> None:
    stage = Polling(impairment, policy=policy)

    stage.run(300)

    assert stage.cluster.received == []
    category = "".join(word.title() for word in impairment.kind.value.split("_"))
    assert stage.counted(category) == 1
    assert len(stage.logged("recorded instance status")) == 1


def test_a_poll_that_fails_is_made_the_next_time_and_nothing_is_told_for_that() -> None:
    stage = Polling(PLANNED)
    stage.run(70)

    stage.cloud.troubles.fail("impairments", UnavailableError("away"))
    stage.run(200)

    assert len(stage.cluster.received) == 1
    assert len(stage.logged("cannot poll instance status")) == 1


def test_what_could_not_be_looked_up_is_not_told_again_for_that() -> None:
    stage = Polling(PLANNED)
    stage.run(70)

    stage.cloud.unwell, stage.cloud.unanswered = (), OF_STATUSES
    stage.run(120)
    stage.cloud.unwell, stage.cloud.unanswered = (PLANNED,), frozenset()
    stage.run(120)

    assert len(stage.cluster.received) == 1
    assert stage.counted("EventStatus") == 1


def test_what_is_planned_for_an_earlier_time_than_was_told_is_told_again_and_counted_once() -> None:
    stage = Polling(PLANNED)
    for deadline in (3600, 7200, 1800, 2400):
        stage.cloud.unwell = (replace(PLANNED, deadline=at(deadline)),)
        stage.run(61)

    told = stage.cluster.of(NodeInterrupted)
    assert [one.deadline for one in told] == [at(3600), at(1800)]
    assert stage.cluster.received == told
    assert stage.counted("EventStatus") == 1
    assert len(stage.spans("EC2/DescribeInstanceStatus")) == 1


def test_the_trace_of_the_end_begins_with_the_poll() -> None:
    stage = Polling(UNWELL)

    stage.run(121)

    (poll,), (process,) = stage.spans("EC2/DescribeInstanceStatus"), stage.spans("process instance status")
    assert poll.context == interruption_context("i-1", Cause.INSTANCE_STATUS)
    assert (poll.start, poll.end) == (at(120), at(120.2))
    assert process.parent == poll.context
