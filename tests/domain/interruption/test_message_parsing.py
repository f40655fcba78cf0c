from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.interruption.message_parsing import InterruptionKind, Notice, NoticeError, parse_notice
from treenail.domain.model.causes import Cause

ID = "i-0b662ef9931388ba0"
AT = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SPOT = "EC2 Spot Instance Interruption Warning"
STATE = "EC2 Instance State-change Notification"
REBALANCE = "EC2 Instance Rebalance Recommendation"
RESERVATION = "EC2 Capacity Reservation Instance Interruption Warning"
HEALTH = "AWS Health Event"


def event(detail_type: str, detail: object, **more: object) -> str:
    return json.dumps(
        {
            "version": "0",
            "id": "12345678-1234-1234-1234-123456789012",
            "detail-type": detail_type,
            "source": "aws.health" if detail_type == HEALTH else "aws.ec2",
            "account": "123456789012",
            "time": "2026-01-01T12:00:00Z",
            "region": "us-east-1",
            "resources": [f"arn:aws:ec2:us-east-1:123456789012:instance/{ID}"],
            "detail": detail,
            **more,
        }
    )


def health(**detail: object) -> str:
    return event(
        HEALTH,
        {
            "eventArn": "arn:aws:health:us-east-1::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/x_1",
            "service": "EC2",
            "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
            "eventTypeCategory": "scheduledChange",
            "startTime": "Thu, 15 Jan 2026 12:00:00 GMT",
            "affectedEntities": [{"entityValue": ID}],
            **detail,
        },
    )


def test_a_spot_warning_leaves_two_minutes_from_the_event_on() -> None:
    notice = parse_notice(event(SPOT, {"instance-id": ID, "instance-action": "terminate"}))

    assert notice == Notice(
        kind=InterruptionKind.SPOT_INTERRUPTED,
        instance_ids=(ID,),
        time=AT,
        deadline=AT + timedelta(seconds=120),
    )
    assert notice.cause is Cause.SPOT_INTERRUPTED


def test_a_rebalance_recommendation_names_no_end() -> None:
    notice = parse_notice(event(REBALANCE, {"instance-id": ID}))

    assert notice == Notice(kind=InterruptionKind.REBALANCE_RECOMMENDATION, instance_ids=(ID,), time=AT)


@pytest.mark.parametrize(
    ("state", "kind", "ended"),
    [
        ("stopping", InterruptionKind.INSTANCE_STOPPED, None),
        ("stopped", InterruptionKind.INSTANCE_STOPPED, AT),
        ("shutting-down", InterruptionKind.INSTANCE_TERMINATED, None),
        ("terminated", InterruptionKind.INSTANCE_TERMINATED, AT),
    ],
)
def test_an_instance_that_stops_or_ends_is_told_apart_from_one_that_has(
    state: str, kind: InterruptionKind, ended: datetime | None
) -> None:
    notice = parse_notice(event(STATE, {"instance-id": ID, "state": state}))

    assert notice == Notice(kind=kind, instance_ids=(ID,), time=AT, deadline=ended)


@pytest.mark.parametrize("state", ["pending", "running", "rebooting"])
def test_an_instance_in_any_other_state_is_of_no_concern(state: str) -> None:
    notice = parse_notice(event(STATE, {"instance-id": ID, "state": state}))

    assert notice == Notice(kind=InterruptionKind.NO_OP)
    assert notice.cause is None


def test_a_scheduled_change_names_each_of_its_instances_once() -> None:
    entities = [{"entityValue": value} for value in (ID, "vol-0a1b2c3d", "i-00000000000000001", ID)]

    notice = parse_notice(health(affectedEntities=entities))

    assert notice == Notice(
        kind=InterruptionKind.SCHEDULED_CHANGE,
        instance_ids=(ID, "i-00000000000000001"),
        time=AT,
    )


def test_one_entity_that_cannot_be_read_costs_the_others_nothing() -> None:
    entities = [{"entityValue": ID}, {"entityValue": None}, "i-1", {"entityValue": "i-00000000000000001"}]

    notice = parse_notice(health(affectedEntities=entities))

    assert notice.instance_ids == (ID, "i-00000000000000001")
    assert notice.problem == "detail.affectedEntities[1, 2]: no entityValue that is a text"


@pytest.mark.parametrize("detail", [{"service": "RDS"}, {"eventTypeCategory": "accountNotification"}])
def test_health_events_of_other_services_and_categories_are_of_no_concern(detail: dict[str, str]) -> None:
    assert parse_notice(health(**detail)).kind is InterruptionKind.NO_OP


def test_a_reclaimed_capacity_reservation_ends_its_instances_when_it_says() -> None:
    detail = {"instance-id": ID, "instance-action": "terminate"}
    at = {"instance-termination-time": "2026-01-01T12:03:00Z", "azId": "use1-az1"}
    arn = f"arn:aws:ec2:us-east-1:123456789012:instance/{ID}"

    without, with_time = (parse_notice(event(RESERVATION, d, resources=arn)) for d in (detail, detail | at))

    assert without.kind is with_time.kind is InterruptionKind.CAPACITY_RESERVATION_INTERRUPTED
    assert without.deadline == AT + timedelta(seconds=120)
    assert with_time.deadline == AT + timedelta(seconds=180)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{}",
        event("EC2 Spot Instance Request Fulfillment", {"instance-id": ID}),
        event(SPOT, {"instance-id": ID}, source="com.example"),
        event(SPOT, {"instance-id": ID}, version="1"),
        event(SPOT, {"instance-id": ID}, version=0),
        '{"Type": "Notification", "Message": "from a topic", "version": ["0"]}',
    ],
)
def test_a_foreign_message_is_of_no_concern(body: str) -> None:
    assert parse_notice(body) == Notice(kind=InterruptionKind.NO_OP)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("hello", "not JSON"),
        ("[]", "not a JSON object"),
        ('"text"', "not a JSON object"),
        ("[" * 100_000, "not JSON"),
        (event(SPOT, {"instance-id": ID})[:-1], "not JSON"),
        (event(SPOT, None), "no detail"),
        (event(SPOT, {}), "instance-id"),
        (event(SPOT, {"instance-id": 7}), "instance-id"),
        (event(SPOT, {"instance-id": "vol-1"}), "instance-id"),
        (event(SPOT, {"instance-id": ID}, time="yesterday"), "time"),
        (event(SPOT, {"instance-id": ID}, time="2026-01-01T12:00:00"), "time"),
        (event(SPOT, {"instance-id": ID}, time=None), "time"),
        (event(SPOT, {"instance-id": ID}, time="9999-12-31T23:59:59Z"), "too late"),
        (event(SPOT, {"instance-id": ID}, time="0001-01-01T00:00:00+14:00"), "time"),
        (event(STATE, {"instance-id": ID}), "state"),
        (event(STATE, {"state": "stopping"}), "instance-id"),
        (health(affectedEntities={}), "affectedEntities"),
        (health(affectedEntities=["i-1"]), "entityValue"),
        (event(RESERVATION, {"instance-id": ID, "instance-termination-time": "soon"}), "termination-time"),
    ],
)
def test_a_message_that_should_be_ours_but_is_malformed_says_why(body: str, why: str) -> None:
    with pytest.raises(NoticeError, match=why):
        parse_notice(body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
near_misses = st.builds(
    event,
    st.sampled_from((SPOT, STATE, REBALANCE, RESERVATION, HEALTH)),
    st.dictionaries(
        st.sampled_from(
            ("instance-id", "state", "service", "eventTypeCategory", "affectedEntities", "instance-action")
        ),
        json_values
        | st.sampled_from((ID, "EC2", "scheduledChange", "terminated", [{"entityValue": ID}, {}], [None])),
    )
    | json_values,
    time=json_values | st.datetimes(timezones=st.timezones() | st.none()).map(str),
)


@given(st.text() | json_values.map(json.dumps) | near_misses)
def test_nothing_but_a_notice_or_a_notice_error_ever_comes_of_a_message(body: str) -> None:
    try:
        notice: Any = parse_notice(body)
    except NoticeError:
        return

    assert isinstance(notice, Notice)
    assert all(i.startswith("i-") for i in notice.instance_ids)
    assert notice.cause is None or notice.time is not None
