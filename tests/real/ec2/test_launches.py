"""Instances bought over the wire: what they are, what it takes, and what may get lost."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.real.ec2.clouds import LaidOut, cloud_of, request
from tests.real.lab.lab import Lab
from tests.real.lab.launching import described
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError, TooManyRequestsError, UnavailableError
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, InstanceState

WRITES = ("CreateFleet", "CreateLaunchTemplate", "DeleteLaunchTemplate", "TerminateInstances", "CreateTags")


def calls(lab: Lab) -> dict[str, int]:
    """Return the EC2 calls since the last reset."""
    return {name.removeprefix("ec2:"): n for name, n in lab.calls().items() if name.startswith("ec2:")}


def template_names(lab: Lab) -> list[str]:
    found = lab.client("ec2").describe_launch_templates()["LaunchTemplates"]
    return sorted(one["LaunchTemplateName"] for one in found)


def template_data(lab: Lab) -> dict[str, Any]:
    (name,) = template_names(lab)
    versions = lab.client("ec2").describe_launch_template_versions(LaunchTemplateName=name)
    return dict(versions["LaunchTemplateVersions"][0]["LaunchTemplateData"])


def test_an_instance_is_what_its_node_class_and_its_request_say(lab: Lab) -> None:
    (bought,) = cloud_of(lab).launch(request()).instances

    (found,) = described(lab, bought.id)
    tags = {tag["Key"]: tag["Value"] for tag in found["Tags"]}
    assert found["InstanceType"] == "m5.large"
    assert found["ImageId"] == bought.image_id
    assert found["SubnetId"] == lab.estate["subnets"]["us-east-1a"]
    assert [group["GroupId"] for group in found["SecurityGroups"]] == lab.estate["security_groups"]
    assert found["IamInstanceProfile"]["Arn"].endswith(lab.estate["instance_profile"])
    assert found["MetadataOptions"]["HttpTokens"] == "required"
    assert tags.items() >= request().tags.items()
    assert tags["Name"] == "karpenter.sh/nodepool/web"
    assert bought.state is InstanceState.PENDING
    assert bought.capacity["pods"] == 29
    assert bought.labels[labels.ZONE] == "us-east-1a"
    assert bought.labels[labels.ZONE_ID] == "use1-az2"


def test_an_instance_boots_into_the_cluster(lab: Lab) -> None:
    cloud_of(lab).launch(request())

    data = template_data(lab)
    booting = base64.b64decode(data["UserData"]).decode()
    config = yaml.safe_load(booting.split("application/node.eks.aws\n\n")[1].split("\n--//")[0])
    assert config["spec"]["cluster"]["name"] == "lab"
    assert config["spec"]["kubelet"]["config"]["maxPods"] == 29
    assert data["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 20
    assert {spec["ResourceType"] for spec in data["TagSpecifications"]} >= {"network-interface"}


def test_volumes_and_the_template_bear_the_tags_that_permissions_ask_for(lab: Lab) -> None:
    cloud_of(lab).launch(request())

    ec2 = lab.client("ec2")
    (template,) = ec2.describe_launch_templates()["LaunchTemplates"]
    (volume,) = ec2.describe_volumes(Filters=[{"Name": "attachment.status", "Values": ["attached"]}])[
        "Volumes"
    ]
    for tagged in (template, volume):
        tags = {tag["Key"]: tag["Value"] for tag in tagged["Tags"]}
        assert tags[CLUSTER_TAG] == "lab"
        assert tags["kubernetes.io/cluster/lab"] == "owned"
        assert tags[labels.NODEPOOL] == "web"
        assert tags["karpenter.k8s.aws/ec2nodeclass"] == "default"
    assert LAUNCH_TAG not in {tag["Key"] for tag in template["Tags"]}


def test_types_that_admit_as_many_pods_share_a_template_whatever_their_architecture(lab: Lab) -> None:
    pools = ("m5.large/a", "m6g.large/a", "c5.large/b", "m5.xlarge/a", "m6g.xlarge/c")

    cloud_of(lab).launch(request(*pools))

    assert calls(lab)["CreateLaunchTemplate"] == 2


def test_a_second_launch_of_the_same_kind_is_one_call(lab: Lab) -> None:
    cloud = cloud_of(lab)
    cloud.launch(request(call="one"))
    before = calls(lab)

    cloud.launch(request(call="two"))

    after = calls(lab)
    assert {name: n - before.get(name, 0) for name, n in after.items() if n != before.get(name, 0)} == {
        "CreateFleet": 1
    }


def test_a_hundred_alike_are_few_calls_and_are_named_later(lab: Lab) -> None:
    cloud = cloud_of(lab)
    sizes = ("large", "xlarge", "2xlarge", "4xlarge")
    pools = [f"{family}.{size}/{zone}" for family in ("c5", "m5", "r5") for size in sizes for zone in "abc"]

    bought = cloud.launch(request(*pools, count=100)).instances
    made = {name: n for name, n in calls(lab).items() if name in WRITES}
    assert len(bought) == 100
    assert sum(made.values()) <= 12
    assert "CreateTags" not in made

    for one in bought[:20]:
        cloud.tag(one.id, {"Name": f"node of {one.id}", labels.NODECLAIM: f"claim of {one.id}"})

    said = {one.id: (one.tags["Name"], one.tags.get(labels.NODECLAIM)) for one in cloud.instances()}
    assert len(said) == 100
    for one in bought[:20]:
        assert said[one.id] == (f"node of {one.id}", f"claim of {one.id}")
    assert said[bought[20].id] == ("karpenter.sh/nodepool/web", None)


def test_a_process_finds_the_templates_that_another_made(lab: Lab) -> None:
    cloud_of(lab).launch(request(call="one"))

    cloud_of(lab).launch(request(call="two"))

    assert calls(lab)["CreateLaunchTemplate"] == 1
    assert len(template_names(lab)) == 1


def test_two_processes_that_make_a_template_at_once_both_succeed(lab: Lab) -> None:
    # The second looked before the first made it.
    first, second = cloud_of(lab), cloud_of(lab)
    second.launch(request(call="other", pool="other"))
    first.launch(request(call="one"))

    assert second.launch(request(call="two")).instances

    assert len(template_names(lab)) == 2


# --- what gets lost


@pytest.mark.parametrize("count", [1, 10])
def test_an_answer_that_is_lost_buys_nothing_twice(lab: Lab, count: int) -> None:
    cloud = cloud_of(lab)
    lab.fault("ec2", "CreateFleet", after=True, cut=True)

    answer = cloud.launch(request(count=count))

    assert len(answer.instances) == count
    assert sorted(i.id for i in answer.instances) == [i.id for i in cloud.instances()]
    assert calls(lab)["CreateFleet"] == 2


def test_a_call_whose_answers_are_all_lost_is_made_again_by_the_next_process_for_nothing(lab: Lab) -> None:
    lab.fault("ec2", "CreateFleet", after=True, cut=True, times=4)
    with pytest.raises(UnavailableError):
        cloud_of(lab).launch(request(count=2))

    answer = cloud_of(lab).launch(request(count=2))

    assert len(answer.instances) == 2
    assert len(cloud_of(lab).instances()) == 2


def test_the_next_process_finds_what_was_bought_though_the_images_have_changed_since(lab: Lab) -> None:
    first = cloud_of(lab).launch(request(count=2))
    changed = LaidOut(lab)
    changed.images = changed.images[1:] + changed.images[:1]
    subnets = lab.estate["subnets"]
    subnets["us-east-1a"], subnets["us-east-1b"] = subnets["us-east-1b"], subnets["us-east-1a"]

    answer = cloud_of(lab, changed).launch(request(count=2))

    assert [i.id for i in answer.instances] == [i.id for i in first.instances]
    assert answer.fleet_id == first.fleet_id
    assert len(cloud_of(lab).instances()) == 2


def test_a_token_that_another_process_used_for_something_else_is_refused(lab: Lab) -> None:
    cloud_of(lab).launch(request(count=2))

    with pytest.raises(InvalidError, match="IdempotentParameterMismatch"):
        cloud_of(lab).launch(request(count=3))


def test_what_another_process_bought_and_is_not_to_be_seen_yet_is_waited_for(lab: Lab) -> None:
    lab.set_pace(hidden=60)
    cloud_of(lab).launch(request())
    subnets = lab.estate["subnets"]
    subnets["us-east-1a"] = subnets["us-east-1b"]

    with pytest.raises(UnavailableError, match="not to be seen yet"):
        cloud_of(lab).launch(request())


# --- refusals


def test_a_throttled_call_is_repeated_and_succeeds(lab: Lab) -> None:
    lab.fault("ec2", "CreateFleet", code="RequestLimitExceeded", status=503, times=2)

    answer = cloud_of(lab).launch(request())

    assert len(answer.instances) == 1
    assert lab.calls()["ec2:CreateFleet"] == 3


def test_throttling_that_goes_on_is_told_as_such(lab: Lab) -> None:
    lab.fault("ec2", "CreateFleet", code="RequestLimitExceeded", status=503, times=None)

    with pytest.raises(TooManyRequestsError):
        cloud_of(lab).launch(request())
    assert calls(lab)["CreateFleet"] == 4


def test_capacity_that_ran_out_in_one_pool_is_told_beside_what_was_bought_in_another(lab: Lab) -> None:
    lab.run_out("on-demand", "c5.large", "us-east-1a")

    answer = cloud_of(lab).launch(request("c5.large/a", "m5.large/b"))

    assert [(i.instance_type, i.zone) for i in answer.instances] == [("m5.large", "us-east-1b")]
    (error,) = answer.errors
    assert (error.code, error.instance_type, error.zone) == (
        "InsufficientInstanceCapacity",
        "c5.large",
        "us-east-1a",
    )
    assert error.capacity


def test_a_fleet_that_gets_fewer_than_it_asked_for_says_why(lab: Lab) -> None:
    lab.run_out("spot", "m5.large", "us-east-1a", left=2)

    answer = cloud_of(lab).launch(request(count=5, capacity_type=labels.SPOT))

    assert len(answer.instances) == 2
    assert {i.capacity_type for i in answer.instances} == {labels.SPOT}
    assert [e.code for e in answer.errors] == ["InsufficientInstanceCapacity"]


def test_capacity_that_ran_out_everywhere_is_an_answer_without_instances(lab: Lab) -> None:
    lab.run_out()

    answer = cloud_of(lab).launch(request("c5.large/a", "m5.large/b"))

    assert answer.instances == ()
    assert len(answer.errors) == 2
    assert all(error.capacity for error in answer.errors)


@pytest.mark.parametrize("code", ["MaxSpotInstanceCountExceeded", "VcpuLimitExceeded"])
def test_a_quota_that_refuses_the_whole_call_is_capacity_too(lab: Lab, code: str) -> None:
    lab.fault("ec2", "CreateFleet", code=code)

    answer = cloud_of(lab).launch(request())

    assert answer.instances == ()
    assert [(e.code, e.instance_type, e.capacity) for e in answer.errors] == [(code, "", True)]


def test_a_template_deleted_behind_our_back_is_made_again(lab: Lab) -> None:
    cloud = cloud_of(lab)
    cloud.launch(request(call="one"))
    (name,) = template_names(lab)
    lab.client("ec2").delete_launch_template(LaunchTemplateName=name)

    answer = cloud.launch(request(call="two"))

    assert len(answer.instances) == 1
    assert template_names(lab) == [name]
    assert len(cloud.instances()) == 2


def test_a_missing_permission_is_a_refusal_for_good(lab: Lab) -> None:
    lab.fault("ec2", "CreateFleet", code="UnauthorizedOperation", status=403, times=None)

    with pytest.raises(InvalidError, match="UnauthorizedOperation"):
        cloud_of(lab).launch(request())
    assert calls(lab)["CreateFleet"] == 1


def test_an_instance_profile_that_is_not_there_is_a_refusal(lab: Lab) -> None:
    lab.estate["instance_profile"] = "nobody"

    answer = cloud_of(lab).launch(request())

    assert answer.instances == ()
    assert ["nobody" in e.message for e in answer.errors] == [True]
    assert not any(e.capacity for e in answer.errors)


def test_an_outage_is_told_after_a_few_attempts(lab: Lab) -> None:
    cloud = cloud_of(lab)
    with lab.outage():
        with pytest.raises(UnavailableError):
            cloud.launch(request())
        with pytest.raises(UnavailableError):
            cloud.instances()

    assert len(cloud.launch(request()).instances) == 1


def test_instances_of_a_class_that_names_a_role_bear_a_profile_of_it(lab: Lab) -> None:
    asked = request()
    asked = replace(asked, node_class=replace(asked.node_class, role=lab.estate["role"]))

    (bought,) = cloud_of(lab).launch(asked).instances

    (found,) = described(lab, bought.id)
    name = found["IamInstanceProfile"]["Arn"].rpartition("/")[2]
    profile = lab.client("iam").get_instance_profile(InstanceProfileName=name)["InstanceProfile"]
    assert name != lab.estate["instance_profile"]
    assert [role["RoleName"] for role in profile["Roles"]] == [lab.estate["role"]]
