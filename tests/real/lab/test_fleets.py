"""Of CreateFleet, which we patch: what is bought, from which pool, and what is refused."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.real.lab.lab import Lab
from tests.real.lab.launching import (
    ARM,
    bought,
    described,
    fleet,
    ids,
    image,
    override,
    states,
    template,
)

A, B, C = "us-east-1a", "us-east-1b", "us-east-1c"


def codes(answer: dict[str, object]) -> list[str]:
    errors = answer["Errors"]
    assert isinstance(errors, list)
    return [error["ErrorCode"] for error in errors]


def test_a_fleet_on_demand_takes_the_cheapest_type_and_not_the_first(lab: Lab) -> None:
    answer = fleet(lab, [override(lab, "m5.4xlarge"), override(lab, "c5.large"), override(lab, "m5.large")])

    assert bought(answer) == [("c5.large", A, 1)]
    assert answer["Errors"] == []


def test_a_fleet_with_priorities_takes_the_smallest_number(lab: Lab) -> None:
    answer = fleet(
        lab,
        [override(lab, "c5.large", Priority=2.0), override(lab, "m5.4xlarge", Priority=1.0)],
        strategy="prioritized",
    )

    assert bought(answer) == [("m5.4xlarge", A, 1)]


def test_a_spot_fleet_by_price_and_capacity_takes_the_cheapest_of_the_deep_pools(lab: Lab) -> None:
    lab.set_spot_price("c5.large", A, 0.002)
    lab.set_spot_price("m5.large", B, 0.001)

    answer = fleet(
        lab,
        [override(lab, "c5.large"), override(lab, "m5.large", B), override(lab, "r5.large", C)],
        capacity_type="spot",
        strategy="lowest-price",
    )

    assert bought(answer) == [("m5.large", B, 1)]
    assert described(lab, *ids(answer))[0]["InstanceLifecycle"] == "spot"


@pytest.mark.parametrize(
    "strategy", ["price-capacity-optimized", "capacity-optimized", "capacity-optimized-prioritized"]
)
def test_the_other_spot_strategies_buy_too(lab: Lab, strategy: str) -> None:
    answer = fleet(
        lab,
        [override(lab, "c5.large"), override(lab, "m5.large", B)],
        capacity_type="spot",
        strategy=strategy,
        count=3,
    )

    assert sum(count for _, _, count in bought(answer)) == 3


def test_a_strategy_nobody_knows_is_refused(lab: Lab) -> None:
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        fleet(lab, [override(lab, "c5.large")], strategy="price-capacity-optimized")


def test_a_pool_that_ran_out_is_an_error_beside_what_was_bought_elsewhere(lab: Lab) -> None:
    lab.run_out("on-demand", "c5.large", A)

    answer = fleet(lab, [override(lab, "c5.large"), override(lab, "c5.large", B)], count=2)

    assert bought(answer) == [("c5.large", B, 2)]
    assert codes(answer) == ["InsufficientInstanceCapacity"]
    assert answer["Errors"][0]["LaunchTemplateAndOverrides"]["Overrides"]["InstanceType"] == "c5.large"
    assert (
        answer["Errors"][0]["LaunchTemplateAndOverrides"]["Overrides"]["SubnetId"] == lab.estate["subnets"][A]
    )


def test_a_pool_with_few_instances_left_gives_those_and_the_next_the_rest(lab: Lab) -> None:
    lab.run_out("on-demand", "c5.large", A, left=2)

    answer = fleet(lab, [override(lab, "c5.large"), override(lab, "m5.large", B)], count=5)

    assert bought(answer) == [("c5.large", A, 2), ("m5.large", B, 3)]
    assert codes(answer) == ["InsufficientInstanceCapacity"]


def test_a_fleet_that_finds_nothing_anywhere_answers_with_an_error_each(lab: Lab) -> None:
    lab.run_out(code="VcpuLimitExceeded")

    answer = fleet(lab, [override(lab, "c5.large"), override(lab, "m5.large", B)])

    assert bought(answer) == []
    assert codes(answer) == ["VcpuLimitExceeded", "VcpuLimitExceeded"]


def test_a_type_its_zone_does_not_sell_is_unsupported(lab: Lab) -> None:
    answer = fleet(lab, [override(lab, "zz9.large")])

    assert codes(answer) == ["Unsupported"]
    assert bought(answer) == []


def test_an_image_of_another_architecture_is_refused(lab: Lab) -> None:
    answer = fleet(lab, [override(lab, "m6g.large")], template_id=template(lab))
    other = fleet(lab, [override(lab, "m6g.large")], template_id=template(lab, "arm", parameter=ARM))

    assert codes(answer) == ["InvalidParameterValue"]
    assert bought(other) == [("m6g.large", A, 1)]


def test_a_price_over_the_most_that_is_asked_for_is_refused(lab: Lab) -> None:
    price = lab.spot_price("c5.large", A)
    assert price is not None

    dear = fleet(lab, [override(lab, "c5.large", MaxPrice=str(price / 2))], capacity_type="spot")
    fair = fleet(
        lab,
        [override(lab, "c5.large", MaxPrice=str(price * 2))],
        capacity_type="spot",
        template_id=template(lab, "second"),
    )

    assert codes(dear) == ["SpotMaxPriceTooLow"]
    assert bought(fair) == [("c5.large", A, 1)]


def test_a_subnet_that_is_not_there_is_an_error_of_its_override(lab: Lab) -> None:
    missing = {"InstanceType": "c5.large", "SubnetId": "subnet-0123456789abcdef0"}

    answer = fleet(lab, [missing, override(lab, "m5.large")])

    assert codes(answer) == ["InvalidSubnetID.NotFound"]
    assert bought(answer) == [("m5.large", A, 1)]


def test_a_full_subnet_gives_no_more_instances(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    small = ec2.create_subnet(VpcId=lab.estate["vpc_id"], CidrBlock="10.0.250.0/28", AvailabilityZone=A)[
        "Subnet"
    ]["SubnetId"]

    answer = fleet(lab, [{"InstanceType": "c5.large", "SubnetId": small}], count=15)

    assert bought(answer) == [("c5.large", A, 11)]
    assert codes(answer) == ["InsufficientFreeAddressesInSubnet"]


def test_a_call_made_again_with_its_token_buys_nothing_more(lab: Lab) -> None:
    chosen = template(lab)
    asked = [override(lab, "c5.large")]

    first = fleet(lab, asked, template_id=chosen, ClientToken="token")
    again = fleet(lab, asked, template_id=chosen, ClientToken="token")

    assert ids(again) == ids(first)
    assert again["FleetId"] == first["FleetId"]
    assert len(lab.client("ec2").describe_instances()["Reservations"]) == 1


def test_volumes_are_as_fast_as_their_template_wants_them(lab: Lab) -> None:
    devices = [
        {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 4, "VolumeType": "gp3", "Iops": 4000}},
        {"DeviceName": "/dev/xvdb", "Ebs": {"VolumeSize": 100, "VolumeType": "io2", "Iops": 5000}},
    ]
    chosen = template(lab, BlockDeviceMappings=devices)

    answer = fleet(lab, [override(lab, "c5.large")], template_id=chosen)
    (made,) = described(lab, *ids(answer))
    volumes = lab.client("ec2").describe_volumes(
        VolumeIds=[m["Ebs"]["VolumeId"] for m in made["BlockDeviceMappings"]]
    )["Volumes"]

    assert not answer.get("Errors")
    assert sorted((v["VolumeType"], v["Size"], v["Iops"]) for v in volumes) == [
        ("gp3", 4, 4000),
        ("io2", 100, 5000),
    ]


def test_a_token_used_for_another_request_is_refused(lab: Lab) -> None:
    chosen = template(lab)
    fleet(lab, [override(lab, "c5.large")], template_id=chosen, ClientToken="token")

    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        fleet(lab, [override(lab, "c5.large")], template_id=chosen, ClientToken="token", count=2)


def test_an_instance_is_as_its_template_wants_it(lab: Lab) -> None:
    devices = [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 50, "VolumeType": "gp3"}}]
    chosen = template(
        lab,
        BlockDeviceMappings=devices,
        MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        TagSpecifications=[
            {"ResourceType": "instance", "Tags": [{"Key": "from", "Value": "template"}]},
            {"ResourceType": "volume", "Tags": [{"Key": "of", "Value": "volume"}]},
        ],
    )
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "node"}]}]

    answer = fleet(lab, [override(lab, "c5.large")], template_id=chosen, TagSpecifications=tags)
    (made,) = described(lab, *ids(answer))
    volumes = lab.client("ec2").describe_volumes(
        VolumeIds=[m["Ebs"]["VolumeId"] for m in made["BlockDeviceMappings"]]
    )["Volumes"]

    said = {tag["Key"]: tag["Value"] for tag in made["Tags"]}
    assert made["ImageId"] == image(lab)
    assert [g["GroupId"] for g in made["SecurityGroups"]] == lab.estate["security_groups"]
    assert made["IamInstanceProfile"]["Arn"].endswith(f"instance-profile/{lab.estate['instance_profile']}")
    assert made["MetadataOptions"]["HttpTokens"] == "required"
    assert said["from"] == "template"
    assert said["Name"] == "node"
    assert said["aws:ec2:fleet-id"] == answer["FleetId"]
    assert said["aws:ec2launchtemplate:id"] == chosen
    assert [(v["Size"], v["VolumeType"], v["Tags"]) for v in volumes] == [
        (50, "gp3", [{"Key": "of", "Value": "volume"}])
    ]


def test_a_template_that_names_what_is_not_there_launches_nothing(lab: Lab) -> None:
    ghost = template(lab, "ghost", IamInstanceProfile={"Name": "ghost"})
    closed = template(lab, "closed", SecurityGroupIds=["sg-0123456789abcdef0"])

    unknown = fleet(lab, [override(lab, "c5.large")], template_id=ghost)
    shut = fleet(lab, [override(lab, "c5.large")], template_id=closed)

    assert codes(unknown) == ["InvalidParameterValue"]
    assert codes(shut) == ["InvalidGroup.NotFound"]
    assert bought(unknown) == bought(shut) == []


def test_a_template_that_is_gone_fails_the_whole_call(lab: Lab) -> None:
    with pytest.raises(ClientError, match=r"InvalidLaunchTemplateId\.NotFound"):
        fleet(lab, [override(lab, "c5.large")], template_id="lt-0123456789abcdef0")


def test_more_than_three_hundred_overrides_are_refused(lab: Lab) -> None:
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        fleet(lab, [override(lab, "c5.large", Priority=float(n)) for n in range(301)])


def test_a_fleet_that_is_only_tried_buys_nothing(lab: Lab) -> None:
    with pytest.raises(ClientError, match="DryRunOperation"):
        fleet(lab, [override(lab, "c5.large")], DryRun=True)

    assert lab.client("ec2").describe_instances()["Reservations"] == []


def test_instances_are_pending_before_they_run(lab: Lab) -> None:
    lab.set_pace(pending=3600)
    waiting = ids(fleet(lab, [override(lab, "c5.large")]))
    lab.set_pace(pending=0)
    running = ids(fleet(lab, [override(lab, "c5.large")], template_id=template(lab, "second")))

    assert states(lab, *waiting) == ["pending"]
    assert states(lab, *running) == ["running"]
