from __future__ import annotations

import pytest

from treenail.domain.telemetry.span_attributes import aws_call, in_zone, region_of_zone


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-east-1a", "us-east-1"),
        ("us-gov-east-1b", "us-gov-east-1"),
        ("us-west-2-lax-1a", "us-west-2"),
        ("ap-southeast-2c", "ap-southeast-2"),
        ("test-zone-a", ""),
        ("a", ""),
        ("", ""),
    ],
)
def test_the_region_of_a_zone_is_in_its_name(zone: str, region: str) -> None:
    assert region_of_zone(zone) == region


def test_an_instance_says_its_zone_and_its_region() -> None:
    assert in_zone("us-east-1a") == {"cloud.availability_zone": "us-east-1a", "cloud.region": "us-east-1"}
    assert in_zone("kwok-zone") == {"cloud.availability_zone": "kwok-zone"}


def test_a_call_to_aws_names_service_and_action_and_its_region_where_it_is_one() -> None:
    named = {"rpc.system.name": "aws-api", "rpc.method": "EC2/CreateFleet"}

    assert aws_call("EC2", "CreateFleet", ("us-east-1a", "us-east-1b")) == {
        **named,
        "cloud.region": "us-east-1",
    }
    assert aws_call("EC2", "CreateFleet", ("us-east-1a", "eu-west-1a")) == named
    assert aws_call("EC2", "CreateFleet") == named
