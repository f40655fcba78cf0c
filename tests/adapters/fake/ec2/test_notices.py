from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from tests.adapters.fake.ec2.rig import Rig, SmallCatalogue, request
from tests.agenda import START, HeapAgenda
from treenail.adapters.fake.ec2 import EC2Settings, EndCause, FakeEC2
from treenail.domain.interruption.message_parsing import InterruptionKind, Notice, parse_notice

LOUD = EC2Settings(visible=(0, 0))


def said(rig: Rig, do: Callable[[], None], *, of: str) -> tuple[dict[str, Any], Notice]:
    """Return the one event of a detail type that `do` makes, as JSON and as the autoscaler reads it."""
    before = rig.queue.backlog()
    do()
    (body,) = rig.queue.backlog()[len(before) :]
    event = json.loads(body)
    assert event["detail-type"] == of
    return event, parse_notice(body)


def test_a_spot_interruption_is_told_as_aws_documents_it_and_comes_two_minutes_later() -> None:
    rig = Rig()
    instance = rig.launch_spot()
    rig.agenda.run(60)

    event, notice = said(
        rig, lambda: rig.ec2.outside.interrupt(instance.id), of="EC2 Spot Instance Interruption Warning"
    )

    identity = event.pop("id")
    assert [len(part) for part in identity.split("-")] == [8, 4, 4, 4, 12]
    assert event == {
        "version": "0",
        "detail-type": "EC2 Spot Instance Interruption Warning",
        "source": "aws.ec2",
        "account": "123456789012",
        "time": "2026-01-01T00:01:00Z",
        "region": "us-east-1",
        "resources": [f"arn:aws:ec2:us-east-1:123456789012:instance/{instance.id}"],
        "detail": {"instance-id": instance.id, "instance-action": "terminate"},
    }
    assert (notice.kind, notice.instance_ids) == (InterruptionKind.SPOT_INTERRUPTED, (instance.id,))
    assert notice.deadline == START + timedelta(seconds=180)
    rig.agenda.run(119.9)
    assert rig.state(instance) == "running"
    rig.agenda.run(0.2)
    assert rig.state(instance) == "shutting-down"
    (record,) = rig.ec2.all_instances()
    assert record.cause is EndCause.SPOT_INTERRUPTION
    assert record.terminated_at == START + timedelta(seconds=180)


def test_an_instance_given_back_before_its_notice_is_over_was_ended_by_the_controller() -> None:
    rig = Rig()
    instance = rig.launch_spot()
    rig.ec2.outside.interrupt(instance.id, notice_seconds=30)

    rig.ec2.terminate((instance.id,))
    rig.agenda.run(60)

    assert rig.ec2.all_instances()[0].cause is EndCause.CONTROLLER


def test_a_rebalance_recommendation_ends_nothing() -> None:
    rig = Rig()
    instance = rig.launch_spot()

    event, notice = said(
        rig,
        lambda: rig.ec2.outside.recommend_rebalance(instance.id),
        of="EC2 Instance Rebalance Recommendation",
    )
    rig.agenda.run(600)

    assert event["detail"] == {"instance-id": instance.id}
    assert notice.kind is InterruptionKind.REBALANCE_RECOMMENDATION
    assert len(rig.ec2.live()) == 1


def test_every_change_of_state_is_told() -> None:
    rig = Rig(settings=LOUD)
    mailbox = rig.mailbox()
    instance = rig.launch_one()
    rig.agenda.run(20)
    rig.ec2.terminate((instance.id,))
    rig.agenda.run(60)

    told = [(e["detail-type"], e["detail"]["instance-id"], e["detail"]["state"]) for e in mailbox.events()]

    kind = "EC2 Instance State-change Notification"
    states = ("pending", "running", "shutting-down", "terminated")
    assert told == [(kind, instance.id, state) for state in states]
    assert [parse_notice(m.body).kind.value for m in mailbox.messages] == [
        "no_op",
        "no_op",
        "instance_terminated",
        "instance_terminated",
    ]


def test_an_instance_terminated_at_the_console_is_told() -> None:
    rig = Rig(settings=LOUD)
    instance = rig.launch_one()
    rig.agenda.run(20)

    event, notice = said(
        rig, lambda: rig.ec2.outside.terminate(instance.id), of="EC2 Instance State-change Notification"
    )

    assert event["detail"] == {"instance-id": instance.id, "state": "shutting-down"}
    assert notice.kind is InterruptionKind.INSTANCE_TERMINATED
    assert rig.ec2.all_instances()[0].cause is EndCause.USER


def test_an_instance_stopped_at_the_console_is_told() -> None:
    rig = Rig(settings=LOUD)
    instance = rig.launch_one()
    rig.agenda.run(20)

    _, notice = said(
        rig, lambda: rig.ec2.outside.stop(instance.id), of="EC2 Instance State-change Notification"
    )

    assert (notice.kind, notice.instance_ids) == (InterruptionKind.INSTANCE_STOPPED, (instance.id,))


def test_a_retirement_is_announced_and_then_happens() -> None:
    rig = Rig()
    instances = rig.ec2.launch(request(count=2)).instances
    ids = tuple(i.id for i in instances)

    event, notice = said(rig, lambda: rig.ec2.outside.retire(*ids, after_seconds=3600), of="AWS Health Event")

    assert event["source"] == "aws.health"
    assert event["resources"] == list(ids)
    detail = event["detail"]
    assert (detail["service"], detail["eventTypeCategory"]) == ("EC2", "scheduledChange")
    assert detail["eventTypeCode"] == "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"
    assert parsedate_to_datetime(detail["startTime"]) == START + timedelta(seconds=3600)
    assert (notice.kind, notice.instance_ids) == (InterruptionKind.SCHEDULED_CHANGE, ids)
    assert len(rig.ec2.live()) == 2
    rig.agenda.run(3600)
    assert {r.cause for r in rig.ec2.all_instances()} == {EndCause.SCHEDULED_CHANGE}


def test_what_cannot_happen_is_refused() -> None:
    rig = Rig()
    spot, on_demand = rig.launch_spot(call="s"), rig.launch_one(call="o")
    gone = rig.launch_spot(call="g")
    rig.ec2.terminate((gone.id,))

    with pytest.raises(ValueError, match="no spot instance"):
        rig.ec2.outside.interrupt(on_demand.id)
    with pytest.raises(ValueError, match="no spot instance"):
        rig.ec2.outside.recommend_rebalance(on_demand.id)
    with pytest.raises(ValueError, match="no live instance"):
        rig.ec2.outside.interrupt(gone.id)
    with pytest.raises(ValueError, match="no live instance"):
        rig.ec2.outside.terminate("i-00000000000000000")
    with pytest.raises(ValueError, match="cannot be stopped"):
        rig.ec2.outside.stop(spot.id)
    with pytest.raises(ValueError, match="not running"):
        rig.ec2.outside.stop(on_demand.id)
    with pytest.raises(ValueError, match="notice of -1"):
        rig.ec2.outside.interrupt(spot.id, notice_seconds=-1)
    with pytest.raises(ValueError, match="needs instances"):
        rig.ec2.outside.retire()
    rig.ec2.outside.interrupt(spot.id)
    with pytest.raises(ValueError, match="already"):
        rig.ec2.outside.interrupt(spot.id)
    assert len(rig.ec2.live()) == 2


def test_without_a_queue_instances_end_unannounced() -> None:
    agenda = HeapAgenda()
    ec2 = FakeEC2(agenda, random.Random(1), SmallCatalogue(), cluster_name="demo")
    (instance,) = ec2.launch(request(capacity_type="spot")).instances

    ec2.outside.interrupt(instance.id)
    agenda.run(121)

    assert ec2.live() == ()


def test_zones_must_be_the_catalogues() -> None:
    def made(*zones: str) -> FakeEC2:
        return FakeEC2(HeapAgenda(), random.Random(1), SmallCatalogue(), cluster_name="demo", zones=zones)

    ec2 = made("us-east-1d")
    assert ([s.zone for s in ec2.subnets], ec2.region) == (["us-east-1d"], "us-east-1")
    for zones in (("eu-west-1a",), ()):
        with pytest.raises(ValueError, match="the catalogue has us-east-1a"):
            made(*zones)
