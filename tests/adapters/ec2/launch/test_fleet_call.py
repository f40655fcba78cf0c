from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.adapters.ec2.launch.orders import node_class, request
from tests.adapters.ec2.node_classes import instance_type
from tests.adapters.ec2.refusals import SleptTime
from treenail.adapters.ec2.launch.addresses import FreeAddresses
from treenail.adapters.ec2.launch.fleet_call import Choice, FleetCall, check, choices, fleet_call
from treenail.adapters.ec2.launch.template import Build, Template
from treenail.adapters.ec2.resolved import Image, Resolved, Subnet
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import EFA, FleetRequest, Override
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverride, PriceOverrides
from treenail.domain.model.resources import Resources

A, B = "us-east-1a", "us-east-1b"
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
TYPES: Mapping[str, InstanceType] = {
    name: instance_type(name) for name in ("c5.large", "m5.large", "m5.xlarge", "m6g.large")
}
RESOLVED = Resolved(
    subnets=(
        Subnet(id="subnet-a", zone=A, zone_id="use1-az1", free_addresses=100),
        Subnet(id="subnet-a2", zone=A, zone_id="use1-az1", free_addresses=5),
        Subnet(id="subnet-b", zone=B, zone_id="use1-az2", free_addresses=1),
    ),
    security_groups=("sg-1",),
    images=(
        Image(id="ami-x", arch="amd64", name="x", created_at=LONG_AGO),
        Image(id="ami-a", arch="arm64", name="a", created_at=LONG_AGO),
    ),
)


def chosen(
    asked: FleetRequest, resolved: Resolved = RESOLVED, types: Mapping[str, InstanceType] = TYPES
) -> tuple[Choice, ...]:
    subnets = FreeAddresses(SleptTime()).roomiest(resolved.subnets)
    return choices(asked, resolved, types, subnets)


def call(asked: FleetRequest, prices: PriceOverrides = NO_OVERRIDES) -> FleetCall:
    def named(build: Build) -> Template:
        return Template(name=f"pods-{build.max_pods}", data={}, tags={})

    return fleet_call(asked, chosen(asked), named, prices)


def test_each_type_and_zone_has_the_roomiest_subnet_and_the_image_of_its_architecture() -> None:
    found = chosen(request(f"m6g.large/{B}", f"m5.large/{A}", f"m5.large/{B}"))

    assert [(c.override.instance_type, c.subnet_id, c.image_id, c.build.max_pods) for c in found] == [
        ("m5.large", "subnet-a", "ami-x", 29),
        ("m5.large", "subnet-b", "ami-x", 29),
        ("m6g.large", "subnet-b", "ami-a", 29),
    ]


def test_an_instance_takes_as_many_addresses_as_the_least_of_its_types_runs_pods() -> None:
    assert call(request(f"m5.large/{A}", f"c5.large/{A}", f"m5.large/{B}")).addresses == {
        "subnet-a": min(TYPES[name].capacity["pods"] for name in ("m5.large", "c5.large")),
        "subnet-b": TYPES["m5.large"].capacity["pods"],
    }


@pytest.mark.parametrize("gone", [f"m5.metal/{A}", "m5.large/us-east-1f"])
def test_what_cannot_be_bought_any_more_is_left_out(gone: str) -> None:
    assert len(chosen(request(f"c5.large/{A}", gone))) == 1
    with pytest.raises(InvalidError, match="none of the types and zones"):
        chosen(request(gone))


def test_a_type_without_an_image_of_its_architecture_is_left_out() -> None:
    only_intel = Resolved(subnets=RESOLVED.subnets, security_groups=(), images=RESOLVED.images[:1])

    assert len(chosen(request(f"c5.large/{A}", f"m6g.large/{A}"), only_intel)) == 1


def test_a_call_for_fabric_adapters_has_a_template_for_each_number_of_them() -> None:
    with_two = replace(TYPES["m5.large"], capacity=Resources({**TYPES["m5.large"].capacity, EFA: 2}))
    types = {**TYPES, "m5.large": with_two}
    plain, asking = request(f"m5.large/{A}"), request(f"m5.large/{A}", efa=True)

    assert [c.build.efa for c in chosen(plain, types=types)] == [0]
    assert [c.build.efa for c in chosen(asking, types=types)] == [2]


def test_types_are_grouped_by_how_many_pods_they_admit() -> None:
    configs = call(request(f"m5.xlarge/{A}", f"m6g.large/{A}", f"m5.large/{A}")).parameters[
        "LaunchTemplateConfigs"
    ]

    assert configs == [
        {
            "LaunchTemplateSpecification": {"LaunchTemplateName": "pods-29", "Version": "$Latest"},
            "Overrides": [
                {
                    "InstanceType": "m5.large",
                    "SubnetId": "subnet-a",
                    "AvailabilityZone": A,
                    "ImageId": "ami-x",
                },
                {
                    "InstanceType": "m6g.large",
                    "SubnetId": "subnet-a",
                    "AvailabilityZone": A,
                    "ImageId": "ami-a",
                },
            ],
        },
        {
            "LaunchTemplateSpecification": {"LaunchTemplateName": "pods-58", "Version": "$Latest"},
            "Overrides": [
                {
                    "InstanceType": "m5.xlarge",
                    "SubnetId": "subnet-a",
                    "AvailabilityZone": A,
                    "ImageId": "ami-x",
                }
            ],
        },
    ]


def test_a_template_of_the_users_is_taken_as_it_is() -> None:
    own = call(request(f"m5.xlarge/{A}", f"m5.large/{A}", node_class=node_class(launch_template="theirs")))

    (config,) = own.parameters["LaunchTemplateConfigs"]
    assert config["LaunchTemplateSpecification"]["LaunchTemplateName"] == "theirs"
    assert len(config["Overrides"]) == 2
    assert own.templates == ()


@pytest.mark.parametrize(
    ("capacity_type", "options", "strategy"),
    [
        (labels.SPOT, "SpotOptions", "price-capacity-optimized"),
        (labels.ON_DEMAND, "OnDemandOptions", "lowest-price"),
    ],
)
def test_a_call_is_instant_and_bears_the_token_of_its_request(
    capacity_type: str, options: str, strategy: str
) -> None:
    parameters = call(request(capacity_type=capacity_type, count=7)).parameters

    assert parameters["Type"] == "instant"
    assert parameters["ClientToken"] == "call-1"
    assert parameters["TargetCapacitySpecification"] == {
        "TotalTargetCapacity": 7,
        "DefaultTargetCapacityType": capacity_type,
    }
    assert {key: value for key, value in parameters.items() if key.endswith("Options")} == {
        options: {"AllocationStrategy": strategy}
    }
    assert "Context" not in parameters


def test_the_context_of_the_class_is_in_the_call() -> None:
    assert call(request(node_class=node_class(context="CONTEXT"))).parameters["Context"] == "CONTEXT"


def test_without_the_choice_of_min_values_the_context_is_left_out() -> None:
    relaxed = replace(request(node_class=node_class(context="CONTEXT")), relaxed=True)

    assert "Context" not in call(relaxed).parameters
    assert relaxed.digest() != replace(relaxed, relaxed=False).digest()


def test_prices_are_not_in_the_call_for_they_move() -> None:
    cheap, dear = request(), request()
    dear = request(overrides=tuple(type(o)(o.instance_type, o.zone, 9.9) for o in cheap.overrides))

    assert call(cheap) == call(dear)


def test_fleet_instances_and_volumes_are_tagged_in_the_call() -> None:
    asked = request()
    said = {one["ResourceType"]: one["Tags"] for one in call(asked).parameters["TagSpecifications"]}

    tags = {kind: {tag["Key"]: tag["Value"] for tag in listed} for kind, listed in said.items()}
    ours = {"karpenter.k8s.aws/ec2nodeclass": "default", "treenail.sh/request": asked.digest()}
    assert tags["fleet"] == {**asked.tags, **ours}
    assert tags["instance"] == tags["volume"] == {**tags["fleet"], "Name": "karpenter.sh/nodepool/web"}
    assert [tag["Key"] for tag in said["instance"]] == sorted(tags["instance"])


def test_a_name_that_users_give_is_theirs() -> None:
    tags = {**request().tags, "Name": "mine"}
    said = call(request(tags=tags)).parameters["TagSpecifications"]

    assert all({"Key": "Name", "Value": "mine"} in one["Tags"] for one in said)


def test_more_tags_than_ec2_takes_are_refused() -> None:
    base = request().tags
    ours = ("karpenter.k8s.aws/ec2nodeclass", "treenail.sh/request", "Name", "karpenter.sh/nodeclaim")
    room = 50 - len({*base, *ours})

    call(request(tags={**base, **{f"t{n}": "x" for n in range(room)}}))
    with pytest.raises(InvalidError, match="EC2 takes 50"):
        call(request(tags={**base, **{f"t{n}": "x" for n in range(room + 1)}}))


@pytest.mark.parametrize(
    ("impossible", "why"),
    [
        (request(token=""), "1 to 60 characters"),
        (request(token="x" * 61), "1 to 60 characters"),
        (request(count=0), "fleet of 0"),
        (request(capacity_type="lent"), "'lent'"),
        (request(capacity_type="reserved"), "name their reservation"),
        (request(overrides=()), "no overrides"),
    ],
)
def test_what_can_never_be_met_is_refused(impossible: FleetRequest, why: str) -> None:
    with pytest.raises(InvalidError, match=why):
        check(impossible)


PLAN = PriceOverride(instance_types=("m5.*",), factor=0.5)
PRICED = (Override("c5.large", A, 0.085), Override("m5.large", A, 0.048), Override("m5.large", B, 0.048))


def ranks(asked: FleetCall) -> dict[tuple[str, str], float]:
    return {
        (one["InstanceType"], one["AvailabilityZone"]): one["Priority"]
        for config in asked.parameters["LaunchTemplateConfigs"]
        for one in config["Overrides"]
    }


@pytest.mark.parametrize(
    ("capacity_type", "options", "strategy"),
    [
        (labels.SPOT, "SpotOptions", "capacity-optimized-prioritized"),
        (labels.ON_DEMAND, "OnDemandOptions", "prioritized"),
    ],
)
def test_where_ones_own_prices_make_another_the_cheapest_ec2_is_told_the_order(
    capacity_type: str, options: str, strategy: str
) -> None:
    asked = call(request(capacity_type=capacity_type, overrides=PRICED), PriceOverrides((PLAN,)))

    assert ranks(asked) == {("m5.large", A): 0.0, ("m5.large", B): 0.0, ("c5.large", A): 1.0}
    assert {key: value for key, value in asked.parameters.items() if key.endswith("Options")} == {
        options: {"AllocationStrategy": strategy}
    }


def test_a_ranked_request_is_asked_in_the_order_of_its_prices_whatever_ones_own_are() -> None:
    asked = call(request(capacity_type=labels.ON_DEMAND, overrides=PRICED, ranked=True))

    assert ranks(asked) == {("m5.large", A): 0.0, ("m5.large", B): 0.0, ("c5.large", A): 1.0}
    assert asked.parameters["OnDemandOptions"] == {"AllocationStrategy": "prioritized"}


@pytest.mark.parametrize(
    "prices",
    [
        pytest.param(PriceOverrides((PriceOverride(factor=0.9),)), id="the same discount on all"),
        pytest.param(
            PriceOverrides(
                (PriceOverride(capacity_types=(labels.SPOT,), price=1.0), PriceOverride(factor=2))
            ),
            id="another capacity type's",
        ),
        pytest.param(PriceOverrides((PriceOverride(instance_types=("p5.*",), factor=2),)), id="others'"),
    ],
)
def test_where_the_order_is_that_of_the_public_prices_ec2_finds_it_by_itself(prices: PriceOverrides) -> None:
    assert call(request(overrides=PRICED), prices).parameters == call(request(overrides=PRICED)).parameters
