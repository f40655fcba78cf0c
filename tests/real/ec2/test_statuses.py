"""What EC2 tells of instances that are unwell, over the wire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.real.ec2.clouds import cloud_of, request
from tests.real.lab.lab import Lab
from treenail.domain.interruption.message_parsing import InterruptionKind


def test_events_that_are_over_or_concern_nobody_are_left_out(lab: Lab) -> None:
    lab.set_pace(pending=0.0, hidden=0.0)
    cloud = cloud_of(lab)
    over, off, ours = (one.id for one in cloud.launch(request(count=3)).instances)
    lab.plan_event(over, "instance-reboot", seconds=60, description="[Completed] reboot")
    lab.plan_event(off, "instance-stop", seconds=60, description="[Canceled] stop")
    lab.plan_event(ours, "system-maintenance", seconds=7200)
    lab.plan_event(ours, "instance-retirement", seconds=3600)

    (found,) = cloud.impairments().found

    assert (found.instance_id, found.kind) == (ours, InterruptionKind.EVENT_STATUS)
    assert found.deadline is not None
    assert timedelta(minutes=59) < found.deadline - datetime.now(UTC) <= timedelta(hours=1)


def test_since_when_a_check_fails_is_told(lab: Lab) -> None:
    lab.set_pace(pending=0.0, hidden=0.0)
    cloud = cloud_of(lab)
    (instance,) = cloud.launch(request()).instances
    lab.fail_check(instance.id, "system", seconds=300)

    (found,) = cloud.impairments().found

    assert found.since is not None
    assert not found.lasts(found.since + timedelta(seconds=119))
    assert found.lasts(datetime.now(UTC))
