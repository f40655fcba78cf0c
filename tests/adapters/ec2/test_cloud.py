from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.adapters.ec2.discovery.account import ANY, Account
from tests.adapters.ec2.launch.orders import FACTS, node_class, request
from tests.adapters.ec2.launch.test_fleet_call import RESOLVED, TYPES, A, B
from treenail.adapters.ec2.cloud import EC2Cloud
from treenail.adapters.ec2.resolved import Resolved
from treenail.domain import labels
from treenail.domain.fleets import CLUSTER_TAG, NO_SPOT, FleetError, FleetRequest, InstanceState
from treenail.domain.instance_types import InstanceType
from treenail.domain.managed_profiles import profile_name
from treenail.domain.node_class_standing import NodeClassStanding
from treenail.domain.node_classes import DEFAULT_KUBELET, AmiFamily, Kubelet, NodeClass
from treenail.domain.ports import InvalidError, NodeClassNotReadyError, UnavailableError

LIST, FLEET, TEMPLATES, CREATE = (
    "ec2.describe_instances",
    "ec2.create_fleet",
    "ec2.describe_launch_templates",
    "ec2.create_launch_template",
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STATES = ["pending", "running", "shutting-down", "stopping", "stopped"]
OWN = request(f"m5.large/{A}", f"m5.large/{B}", node_class=node_class(launch_template="theirs"))
GONE = "InvalidLaunchTemplateName.NotFoundException"


class Shelf:
    """Node classes that all mean the same."""

    def __init__(self) -> None:
        self.resolved = RESOLVED

    def resolve(self, _node_class: NodeClass) -> Resolved:
        return self.resolved

    def standing(self, _node_class: NodeClass) -> NodeClassStanding:
        return NodeClassStanding()

    def instance_types(self, _node_class: NodeClass, _kubelet: Kubelet) -> tuple[InstanceType, ...]:
        return tuple(TYPES.values())

    def learn(self, instance_type: str, image_id: str, memory: int) -> bool:
        raise AssertionError(f"no node joins here, but {instance_type} {image_id} has {memory} bytes")


def cloud(account: Account, profile: str = "", shelf: Shelf | None = None) -> EC2Cloud:
    return EC2Cloud(
        account.aws,
        account.time,
        cluster_name="demo",
        node_classes=shelf or Shelf(),
        facts=lambda: FACTS,
        default_instance_profile=profile,
    )


def instance(name: str, tags: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "InstanceId": name,
        "InstanceType": "m5.large",
        "ImageId": "ami-x",
        "LaunchTime": NOON,
        "State": {"Name": "running"},
        "Placement": {"AvailabilityZone": A},
        "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
        **more,
    }


def reservations(*instances: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"Instances": [one]} for one in instances]


def answer(*ids: str, errors: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    override = {"InstanceType": "m5.large", "AvailabilityZone": A, "SubnetId": "subnet-a"}
    group = {"InstanceType": "m5.large", "InstanceIds": list(ids)}
    return {
        "FleetId": "fleet-1",
        "Instances": [{**group, "LaunchTemplateAndOverrides": {"Overrides": override}}] if ids else [],
        "Errors": list(errors),
        "ResponseMetadata": {"RequestId": "request-1"},
    }


def error(code: str, **override: str) -> dict[str, Any]:
    where = {"LaunchTemplateAndOverrides": {"Overrides": override}} if override else {}
    return {"ErrorCode": code, "ErrorMessage": "no", **where}


def any_call(token: str) -> dict[str, Any]:
    """Return the parameters of a call with this token, whatever else they are."""
    others = (
        "Type",
        "LaunchTemplateConfigs",
        "TargetCapacitySpecification",
        "OnDemandOptions",
        "TagSpecifications",
    )
    return {"ClientToken": token, **dict.fromkeys(others, ANY)}


def into(subnet: str, zone: str) -> list[dict[str, Any]]:
    """Return the configuration of a call that launches m5.large by the user's template into one subnet."""
    override = {
        "InstanceType": "m5.large",
        "SubnetId": subnet,
        "AvailabilityZone": zone,
        "ImageId": "ami-x",
    }
    template = {"LaunchTemplateName": "theirs", "Version": "$Latest"}
    return [{"LaunchTemplateSpecification": template, "Overrides": [override]}]


# --- looking


def test_a_listing_goes_on_from_page_to_page(account: Account) -> None:
    filters = [
        {
            "Name": "tag-key",
            "Values": ["karpenter.sh/nodepool", "karpenter.sh/provisioner-name", "treenail.sh/launch"],
        },
        {"Name": f"tag:{CLUSTER_TAG}", "Values": ["demo"]},
        {"Name": "instance-state-name", "Values": STATES},
    ]
    first = {"Reservations": reservations(instance("i-3"), instance("i-1")), "NextToken": "more"}
    account.answers(LIST, first, Filters=filters, MaxResults=1000)
    second = {"Reservations": reservations(instance("i-2"))}
    account.answers(LIST, second, Filters=filters, MaxResults=1000, NextToken="more")
    account.answers(TEMPLATES, {"LaunchTemplates": []})

    assert [i.id for i in cloud(account).instances()] == ["i-1", "i-2", "i-3"]


@pytest.mark.parametrize(
    ("said", "capacity_type"), [({}, labels.ON_DEMAND), ({"InstanceLifecycle": "spot"}, labels.SPOT)]
)
def test_an_instance_is_what_ec2_says_of_it(
    account: Account, said: dict[str, str], capacity_type: str
) -> None:
    found = instance("i-1", {"a": "b"}, **said)
    account.answers(LIST, {"Reservations": reservations(found)})
    account.answers(TEMPLATES, {"LaunchTemplates": []})

    (listed,) = cloud(account).instances()

    assert (listed.instance_type, listed.zone, listed.image_id) == ("m5.large", A, "ami-x")
    assert (listed.state, listed.launched_at) == (InstanceState.RUNNING, NOON)
    assert listed.tags == {"a": "b"}
    assert listed.capacity_type == capacity_type


# --- buying


def test_an_answer_is_told_with_its_instances_in_order_and_each_error_once(account: Account) -> None:
    ice = error("InsufficientInstanceCapacity", InstanceType="m5.large", SubnetId="subnet-b")
    account.answers(FLEET, answer("i-2", "i-1", errors=(error("Odd"), ice, ice)))

    told = cloud(account).launch(OWN)

    assert [(i.id, i.zone, i.image_id) for i in told.instances] == [("i-1", A, "ami-x"), ("i-2", A, "ami-x")]
    assert told.errors == (
        FleetError("InsufficientInstanceCapacity", "no", "m5.large", B),
        FleetError("Odd", "no"),
    )
    assert (told.fleet_id, told.request_id) == ("fleet-1", "request-1")


def test_a_call_made_again_is_the_very_same_though_its_subnets_have_changed(account: Account) -> None:
    shelf = Shelf()
    buyer = cloud(account, shelf=shelf)
    account.answers(FLEET, answer("i-1"))
    first = buyer.launch(OWN)
    shelf.resolved = replace(RESOLVED, subnets=RESOLVED.subnets[1:])
    overrides = [
        {"InstanceType": "m5.large", "SubnetId": subnet, "AvailabilityZone": zone, "ImageId": "ami-x"}
        for subnet, zone in (("subnet-a", A), ("subnet-b", B))
    ]
    template = {"LaunchTemplateName": "theirs", "Version": "$Latest"}
    account.answers(
        FLEET,
        answer("i-1"),
        Type="instant",
        ClientToken="call-1",
        LaunchTemplateConfigs=[{"LaunchTemplateSpecification": template, "Overrides": overrides}],
        TargetCapacitySpecification={"TotalTargetCapacity": 1, "DefaultTargetCapacityType": "on-demand"},
        OnDemandOptions={"AllocationStrategy": "lowest-price"},
        TagSpecifications=ANY,
    )

    assert buyer.launch(OWN).instances == first.instances


def test_what_ran_out_of_addresses_is_not_launched_into_while_another_subnet_of_the_zone_has_some(
    account: Account,
) -> None:
    # subnet-a has more addresses free than subnet-a2.
    full = error("InsufficientFreeAddressesInSubnet", InstanceType="m5.large", SubnetId="subnet-a")
    account.answers(FLEET, answer(errors=(full,)), **any_call("call-1"))
    account.answers(
        FLEET, answer("i-1"), **any_call("call-2") | {"LaunchTemplateConfigs": into("subnet-a2", A)}
    )
    buyer = cloud(account)
    only_a = replace(OWN, overrides=tuple(one for one in OWN.overrides if one.zone == A))

    told = buyer.launch(only_a)
    buyer.launch(replace(only_a, token="call-2"))  # noqa: S106 (a client token)

    assert [(e.code, e.zone) for e in told.errors] == [("InsufficientFreeAddressesInSubnet", A)]


def test_a_missing_role_for_spot_is_told_as_spot_that_ran_out(account: Account) -> None:
    account.refuses(FLEET, NO_SPOT)

    told = cloud(account).launch(replace(OWN, capacity_type=labels.SPOT))

    assert [(e.code, e.capacity) for e in told.errors] == [(NO_SPOT, True)]


def test_a_token_is_for_one_request_only(account: Account) -> None:
    buyer = cloud(account)
    account.answers(FLEET, answer("i-1"))
    buyer.launch(OWN)

    with pytest.raises(InvalidError, match="IdempotentParameterMismatch"):
        buyer.launch(replace(OWN, count=2))


def test_a_template_that_is_gone_is_made_again_under_the_same_token_where_no_fleet_was(
    account: Account,
) -> None:
    account.answers(TEMPLATES, {"LaunchTemplates": []})
    account.answers(CREATE, {})
    account.refuses(FLEET, GONE)
    account.answers(CREATE, {})
    account.answers(FLEET, answer("i-1"), **any_call("call-1"))

    assert len(cloud(account, "nodes").launch(request()).instances) == 1


def test_a_template_that_is_gone_is_made_again_under_another_token_where_an_empty_fleet_was(
    account: Account,
) -> None:
    account.answers(TEMPLATES, {"LaunchTemplates": []})
    account.answers(CREATE, {})
    account.answers(FLEET, answer(errors=(error(GONE),)), **any_call("call-1"))
    account.answers(CREATE, {})
    account.answers(FLEET, answer("i-1"), **any_call("call-1-2"))

    assert len(cloud(account, "nodes").launch(request()).instances) == 1


def test_a_template_of_the_users_that_is_gone_is_told_after_one_more_attempt(account: Account) -> None:
    account.refuses(FLEET, GONE, times=2)

    told = cloud(account).launch(OWN)

    assert [e.code for e in told.errors] == [GONE]
    assert not told.errors[0].capacity


def test_what_the_call_names_and_is_not_there_is_a_refusal(account: Account) -> None:
    account.refuses(FLEET, "InvalidSubnetID.NotFound")

    with pytest.raises(InvalidError, match=r"InvalidSubnetID\.NotFound"):
        cloud(account).launch(OWN)


def test_a_mismatch_is_settled_by_what_the_instances_say(account: Account) -> None:
    tags = {**OWN.tags, "treenail.sh/request": OWN.digest(), "aws:ec2:fleet-id": "fleet-0"}
    account.refuses(FLEET, "IdempotentParameterMismatch")
    account.answers(LIST, {"Reservations": reservations(instance("i-1", tags))})

    told = cloud(account).launch(OWN)

    assert ([i.id for i in told.instances], told.fleet_id) == (["i-1"], "fleet-0")


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ([], UnavailableError),
        ([instance("i-1", {"treenail.sh/request": "another"})], InvalidError),
        ([instance("i-1")], InvalidError),
    ],
)
def test_a_mismatch_that_the_instances_do_not_settle_is_told(
    account: Account, found: list[dict[str, Any]], kind: type[Exception]
) -> None:
    account.refuses(FLEET, "IdempotentParameterMismatch")
    account.answers(LIST, {"Reservations": reservations(*found)})

    with pytest.raises(kind):
        cloud(account).launch(OWN)


def test_a_class_needs_an_instance_profile(account: Account) -> None:
    without = replace(node_class(), instance_profile="")

    for ask in (
        lambda: cloud(account).launch(request(node_class=without)),
        lambda: cloud(account).instance_types(without, DEFAULT_KUBELET),
    ):
        with pytest.raises(NodeClassNotReadyError, match="names no role and no instance profile") as raised:
            ask()
        assert raised.value.reason == "InstanceProfileNotFound"


UNSEEN = "Value (demo_1) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"
OF_ROLE = node_class(role="nodes", uid="uid-1")


def with_profile(account: Account) -> None:
    """Let the profile of the role be there in IAM, and no template in EC2."""
    name = profile_name("demo", "us-east-1", replace(OF_ROLE, instance_profile=""))
    role = {
        "Path": "/",
        "RoleName": "nodes",
        "RoleId": "A" * 16,
        "Arn": "arn:aws:iam::123456789012:role/nodes",
        "CreateDate": NOON,
    }
    profile = {
        "Path": "/",
        "InstanceProfileName": name,
        "InstanceProfileId": "A" * 16,
        "Arn": f"arn:aws:iam::123456789012:instance-profile/{name}",
        "CreateDate": NOON,
        "Roles": [role],
    }
    account.answers("iam.get_instance_profile", {"InstanceProfile": profile})
    account.answers(TEMPLATES, {"LaunchTemplates": []})
    account.answers(CREATE, {})


def test_a_profile_that_ec2_does_not_see_yet_is_waited_for(account: Account) -> None:
    with_profile(account)
    unseen = {"ErrorCode": "InvalidParameterValue", "ErrorMessage": UNSEEN}
    account.answers(FLEET, answer(errors=(unseen,)), **any_call("call-1"))
    account.refuses(FLEET, "InvalidParameterValue", message=UNSEEN)
    account.answers(FLEET, answer("i-1"), **any_call("call-1-2"))

    told = cloud(account).launch(request(node_class=replace(OF_ROLE, instance_profile="")))

    assert [i.id for i in told.instances] == ["i-1"]
    assert account.time.slept == [5.0, 5.0]


def test_a_profile_that_ec2_never_sees_is_told_after_a_quarter_of_a_minute(account: Account) -> None:
    with_profile(account)
    account.refuses(FLEET, "InvalidParameterValue", message=UNSEEN, times=4)

    told = cloud(account).launch(request(node_class=replace(OF_ROLE, instance_profile="")))

    assert (told.instances, told.errors) == ((), (FleetError("InvalidParameterValue", UNSEEN),))
    assert sum(account.time.slept) == 15.0


def test_a_profile_that_is_named_and_not_there_is_told_at_once(account: Account) -> None:
    account.answers(TEMPLATES, {"LaunchTemplates": []})
    account.answers(CREATE, {})
    account.refuses(FLEET, "InvalidParameterValue", message=UNSEEN)

    told = cloud(account).launch(request(node_class=replace(node_class(), instance_profile="ghost")))

    assert told.errors == (FleetError("InvalidParameterValue", UNSEEN),)
    assert account.time.slept == []


def test_a_class_with_a_launch_template_of_its_own_needs_no_instance_profile(account: Account) -> None:
    own = replace(node_class(), instance_profile="", launch_template="mine")

    assert cloud(account).instance_types(own, DEFAULT_KUBELET)


def test_instances_of_other_clusters_are_not_bought(account: Account) -> None:
    other: FleetRequest = request(tags={**OWN.tags, CLUSTER_TAG: "other"})

    with pytest.raises(InvalidError, match="instances of demo bear the tag"):
        cloud(account).launch(other)


def test_a_class_whose_instances_could_not_boot_has_no_types_but_by_a_template_of_its_own(
    account: Account,
) -> None:
    odd = node_class(AmiFamily.BOTTLEROCKET, user_data="echo hello")

    with pytest.raises(NodeClassNotReadyError, match="it is not TOML"):
        cloud(account).instance_types(odd, DEFAULT_KUBELET)
    assert cloud(account).instance_types(replace(odd, launch_template="theirs"), DEFAULT_KUBELET)
