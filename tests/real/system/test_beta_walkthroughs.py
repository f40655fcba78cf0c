from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.ec2.launch.readers import bottlerocket_settings
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.controller import eventually
from tests.real.system.older_walkthroughs import (
    apply_beta,
    beta_scene,
    objects,
    read_beta,
)
from tests.real.system.scene import Scene

PODS = 30
INFLATE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "inflate"},
    "spec": {
        "replicas": PODS,
        "selector": {"matchLabels": {"app": "inflate"}},
        "template": {
            "metadata": {"labels": {"app": "inflate"}},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "nodeSelector": {"team": "team-a"},
                "containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "100m"}}}],
            },
        },
    },
}


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab) -> Iterator[Scene]:
    with beta_scene(control_plane, lab) as there:
        yield there


def with_what_the_account_has(scene: Scene) -> tuple[list[dict[str, Any]], str, str]:
    """Return 004's objects with an image and a security group that are there, and the ids of these."""
    ec2 = scene.lab.client("ec2")
    published = [{"Name": "name", "Values": ["bottlerocket-aws-k8s-1.34-x86_64-*"]}]
    image = ec2.describe_images(Filters=published)["Images"][0]
    group = ec2.create_security_group(
        GroupName="more", Description="one more", VpcId=scene.lab.estate["vpc_id"]
    )["GroupId"]
    things = objects(scene.lab, "004-beta")
    node_class = next(thing for thing in things if thing["kind"] == "EC2NodeClass")
    assert node_class["spec"]["amiSelectorTerms"][0] == {"name": "my-name1", "owner": "123456789"}
    node_class["spec"]["amiSelectorTerms"][0] = {"name": image["Name"], "owner": image["OwnerId"]}
    assert node_class["spec"]["securityGroupSelectorTerms"][1] == {"id": "sg-abc123"}
    node_class["spec"]["securityGroupSelectorTerms"][1]["id"] = group
    return things, image["ImageId"], group


def test_the_beta_template_is_what_its_nodes_are_like(scene: Scene) -> None:
    things, image, group = with_what_the_account_has(scene)
    apply_beta(scene, [*things, INFLATE])
    eventually(lambda: scene.cluster.running() == PODS, scene.summary, within=150)

    nodes, instances = scene.cluster.nodes(), scene.instances()
    # 20 pods fit onto a node of this pool, whatever its size.
    assert len(nodes) == 2
    for node in nodes:
        assert node["status"]["capacity"]["pods"] == "20"
        assert node["metadata"]["labels"]["custom-label"] == "custom-value"
        assert node["metadata"]["annotations"]["custom-annotation"] == "custom-value"
    for instance in instances:
        assert instance["ImageId"] == image
        # Terms are alternatives: what any of them finds counts.
        found = {one["GroupId"] for one in instance["SecurityGroups"]}
        assert found == {*scene.lab.estate["security_groups"], group}
        assert {"Key": "test-tag", "Value": "test-value"} in instance["Tags"]
        told = bottlerocket_settings(user_data(scene, instance))["kubernetes"]
        assert told["max-pods"] == 20
        assert told["system-reserved"] == {"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "1Gi"}
    # The class names a role alone: the profile is made of it.
    profile = instances[0]["IamInstanceProfile"]["Arn"].rpartition("/")[2]
    made = scene.lab.client("iam").get_instance_profile(InstanceProfileName=profile)["InstanceProfile"]
    assert [role["RoleName"] for role in made["Roles"]] == [scene.lab.estate["role"]]
    assert profile != scene.lab.estate["instance_profile"]


def test_what_a_beta_pool_leaves_out_of_its_disruption_is_as_it_was_then(scene: Scene) -> None:
    pool = next(thing for thing in objects(scene.lab, "004-beta") if thing["kind"] == "NodePool")
    del pool["spec"]["disruption"]

    apply_beta(scene, [pool])

    disruption = read_beta(scene, "NodePool", "default")["spec"]["disruption"]
    assert (disruption["consolidationPolicy"], disruption["expireAfter"]) == ("WhenUnderutilized", "720h")


def user_data(scene: Scene, instance: dict[str, Any]) -> str:
    """Return what an instance was told at its start."""
    ec2 = scene.lab.client("ec2")
    answer = ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute="userData")
    return base64.b64decode(answer["UserData"]["Value"]).decode()
