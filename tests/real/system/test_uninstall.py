"""Pools and node classes deleted, as before an uninstall: nothing of theirs is left in AWS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.controller import eventually
from tests.real.system.loners import loners
from tests.real.system.scene import Scene, machines

NODE_CLASS = ("karpenter.k8s.aws/v1", "EC2NodeClass")
NODE_POOL = ("karpenter.sh/v1", "NodePool")


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab) -> Iterator[Scene]:
    scene = Scene(control_plane, lab, None)
    scene.cluster.install()
    with machines(scene, boot_seconds=0.2):
        with scene.controller:
            yield scene
        scene.cluster.clear()


def templates(scene: Scene) -> list[dict[str, Any]]:
    return list(scene.lab.client("ec2").describe_launch_templates()["LaunchTemplates"])


def profiles(scene: Scene) -> list[str]:
    """Return the instance profiles that were made for node classes."""
    found = scene.lab.client("iam").list_instance_profiles()["InstanceProfiles"]
    return [one["InstanceProfileName"] for one in found if one["Path"].startswith("/karpenter/")]


def test_nothing_is_left_in_aws_once_pools_and_node_classes_are_deleted(scene: Scene) -> None:
    cluster = scene.cluster
    cluster.apply(loners(scene.lab.cluster, replicas=2, role=scene.lab.estate["role"]))
    eventually(lambda: cluster.running() == 2, scene.summary, within=120)
    assert len(scene.instances()) == 2
    assert templates(scene)
    assert len(profiles(scene)) == 1

    cluster.delete(*NODE_CLASS, "default")
    cluster.delete(*NODE_POOL, "default")
    eventually(lambda: not cluster.all(*NODE_CLASS), scene.summary, within=180)

    assert scene.instances() == []
    assert templates(scene) == []
    assert profiles(scene) == []
    assert cluster.claims() == []
    assert scene.controller.running
