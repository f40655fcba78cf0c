"""Of the life of instances, which we patch."""

from __future__ import annotations

import json
import time

import pytest
from botocore.exceptions import ClientError

from tests.real.lab.lab import Lab
from tests.real.lab.launching import described, fleet, ids, override, states, template


def received(lab: Lab, wanted: int) -> list[dict[str, object]]:
    """Return the events on the queue, so many of them."""
    sqs, url = lab.client("sqs"), lab.estate["queue_url"]
    events: list[dict[str, object]] = []
    end = time.monotonic() + 30
    while len(events) < wanted:
        assert time.monotonic() < end, events
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        events += [json.loads(m["Body"]) for m in messages.get("Messages", [])]
    return events


def announced(lab: Lab, wanted: int) -> list[str]:
    return sorted(str(e["detail"]["state"]) for e in received(lab, wanted))  # type: ignore[index]


def test_an_instance_starts_to_run_after_its_time(lab: Lab) -> None:
    lab.set_pace(pending=2.0)

    made = ids(fleet(lab, [override(lab, "c5.large")]))
    early = states(lab, *made)
    time.sleep(2.5)

    assert early == ["pending"]
    assert states(lab, *made) == ["running"]


def test_a_new_instance_can_stay_out_of_listings_for_a_while(lab: Lab) -> None:
    lab.set_pace(hidden=3.0)
    ec2 = lab.client("ec2")

    made = ids(fleet(lab, [override(lab, "c5.large")]))
    listed = ec2.describe_instances()["Reservations"]
    with pytest.raises(ClientError, match=r"InvalidInstanceID\.NotFound"):
        ec2.describe_instances(InstanceIds=made)
    time.sleep(3.5)

    assert listed == []
    assert states(lab, *made) == ["running"]


def test_an_instance_shuts_down_and_is_then_terminated(lab: Lab) -> None:
    lab.set_pace(shutdown=3.0)
    made = ids(fleet(lab, [override(lab, "c5.large")]))

    answer = lab.client("ec2").terminate_instances(InstanceIds=made)["TerminatingInstances"][0]
    meanwhile = states(lab, *made)
    time.sleep(3.5)

    assert (answer["PreviousState"]["Name"], answer["CurrentState"]["Name"]) == ("running", "shutting-down")
    assert meanwhile == ["shutting-down"]
    assert states(lab, *made) == ["terminated"]


def test_terminating_again_tells_what_is_so_already(lab: Lab) -> None:
    made = ids(fleet(lab, [override(lab, "c5.large")]))
    ec2 = lab.client("ec2")
    ec2.terminate_instances(InstanceIds=made)

    again = ec2.terminate_instances(InstanceIds=made)["TerminatingInstances"][0]

    assert (again["PreviousState"]["Name"], again["CurrentState"]["Name"]) == ("terminated", "terminated")


def test_a_terminated_instance_is_forgotten_after_its_time(lab: Lab) -> None:
    lab.set_pace(listed=0)
    made = ids(fleet(lab, [override(lab, "c5.large")]))

    lab.client("ec2").terminate_instances(InstanceIds=made)

    with pytest.raises(ClientError, match=r"InvalidInstanceID\.NotFound"):
        described(lab, *made)


@pytest.mark.parametrize(
    ("unknown", "code"),
    [
        ("i-0123456789abcdef0", r"InvalidInstanceID\.NotFound"),
        ("i-nonsense", r"InvalidInstanceID\.Malformed"),
    ],
)
def test_an_unknown_instance_fails_the_whole_call(lab: Lab, unknown: str, code: str) -> None:
    made = ids(fleet(lab, [override(lab, "c5.large")]))

    with pytest.raises(ClientError, match=code):
        lab.client("ec2").terminate_instances(InstanceIds=[*made, unknown])
    with pytest.raises(ClientError, match=code):
        lab.client("ec2").describe_instances(InstanceIds=[unknown])

    assert states(lab, *made) == ["running"]


def test_addresses_and_interfaces_come_back_when_an_instance_ends(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    subnet = lab.estate["subnets"]["us-east-1a"]

    def free() -> int:
        return int(ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["AvailableIpAddressCount"])

    before = free()
    made = ids(fleet(lab, [override(lab, "c5.large")], count=3))
    during = free()
    ec2.terminate_instances(InstanceIds=made)

    assert (before - during, before - free()) == (3, 0)
    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []


def test_each_change_of_state_is_announced(lab: Lab) -> None:
    made = ids(fleet(lab, [override(lab, "c5.large")]))
    lab.client("ec2").terminate_instances(InstanceIds=made)

    assert announced(lab, 4) == ["pending", "running", "shutting-down", "terminated"]


def test_announcements_can_be_turned_off(lab: Lab) -> None:
    lab.state_events(on=False)
    fleet(lab, [override(lab, "c5.large")], template_id=template(lab))
    lab.rebalance("i-0123456789abcdef0")

    assert [e["detail-type"] for e in received(lab, 1)] == ["EC2 Instance Rebalance Recommendation"]


def test_what_cannot_be_announced_happens_all_the_same(lab: Lab) -> None:
    lab.client("sqs").delete_queue(QueueUrl=lab.estate["queue_url"])

    made = ids(fleet(lab, [override(lab, "c5.large")]))
    lab.client("ec2").terminate_instances(InstanceIds=made)

    assert states(lab, *made) == ["terminated"]
