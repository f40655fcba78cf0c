from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.ec2.launch.readers import powershell
from tests.real.lab.images import windows_releases
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene, machines
from tests.windows_walkthrough import ADDRESS, BUILDS, DEPLOYMENTS, objects


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab) -> Iterator[Scene]:
    profile = str(lab.estate["instance_profile"])
    there = Scene(control_plane, lab, None, AWS_DEFAULT_INSTANCE_PROFILE=profile)
    there.cluster.install()
    with there.controller, machines(there, boot_seconds=1):
        yield there
    there.cluster.clear()


def applied(scene: Scene) -> None:
    """Apply the walkthrough, for the laboratory's cluster, and wait until its pods run."""
    lab = scene.lab
    tags = {"karpenter.sh/discovery": lab.cluster}
    scene.cluster.apply(*objects(subnetSelector=tags, securityGroupSelector=tags))
    eventually(lambda: scene.cluster.running() == 20, scene.summary, within=150)


def told(scene: Scene, instance: dict[str, Any]) -> dict[str, str]:
    """Return what an instance's bootstrap script is called with."""
    answer = scene.lab.client("ec2").describe_instance_attribute(
        InstanceId=instance["InstanceId"], Attribute="userData"
    )
    commands, arguments, more = powershell(base64.b64decode(answer["UserData"]["Value"]).decode())
    assert (commands, more) == ([], "")
    return arguments


def test_each_release_of_windows_gets_one_node_for_its_ten_pods_that_goes_when_they_do(scene: Scene) -> None:
    applied(scene)

    nodes = {node["metadata"]["name"]: node for node in scene.cluster.nodes()}
    by_pool = {node["metadata"]["labels"]["karpenter.sh/provisioner-name"]: node for node in nodes.values()}
    assert len(nodes) == 2
    assert set(by_pool) == set(BUILDS)
    for pool, build in BUILDS.items():
        labels = by_pool[pool]["metadata"]["labels"]
        assert labels["kubernetes.io/os"] == "windows"
        assert labels["node.kubernetes.io/windows-build"] == build
        assert int(by_pool[pool]["status"]["allocatable"][ADDRESS]) >= 10
    where = Counter(pod["spec"]["nodeName"] for pod in scene.cluster.pods())
    assert where == dict.fromkeys(nodes, 10)

    for instance in scene.instances():
        arguments = told(scene, instance)
        pool = next(tag["Value"] for tag in instance["Tags"] if tag["Key"] == "karpenter.sh/provisioner-name")
        assert f"windows{windows_releases()[instance['ImageId']]}" == pool
        assert arguments["EKSClusterName"] == scene.lab.cluster
        assert arguments["APIServerEndpoint"] == scene.cluster.plane.url
        assert arguments["DNSClusterIP"] == "172.20.0.10"
        assert f"karpenter.sh/provisioner-name={pool}" in arguments["KubeletExtraArgs"]
        assert "karpenter.sh/unregistered:NoExecute" in arguments["KubeletExtraArgs"]
        assert "--max-pods=110" in arguments["KubeletExtraArgs"]
        [root] = [d for d in instance["BlockDeviceMappings"] if d["DeviceName"] == "/dev/sda1"]
        volume = scene.lab.client("ec2").describe_volumes(VolumeIds=[root["Ebs"]["VolumeId"]])["Volumes"][0]
        assert volume["Size"] == 50

    for name in DEPLOYMENTS:
        scene.cluster.scale(name, 0)
    left = scene.cluster
    eventually(lambda: not (left.nodes() or left.claims() or scene.instances()), scene.summary, within=180)
