from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.kubectl import Kubectl
from tests.real.system.bad_objects import Tree, but
from tests.real.system.cluster import PATHS, Cluster
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene

EC2_NODE_CLASS = ("karpenter.k8s.aws/v1", "EC2NodeClass")
NODE_POOL = ("karpenter.sh/v1", "NodePool")
POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
"""
CLASS = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  instanceProfile: PROFILE
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {kubernetes.io/cluster/CLUSTER: "*"}}]
  securityGroupSelectorTerms: [{tags: {kubernetes.io/cluster/CLUSTER: "*"}}]
"""
NOWHERE = [{"tags": {"discovery": "nowhere"}}]


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab) -> Iterator[Scene]:
    there = Scene(control_plane, lab, None)
    there.cluster.install()
    with there.controller:
        yield there
    there.cluster.clear()


def good_class(lab: Lab) -> Tree:
    text = CLASS.replace("PROFILE", str(lab.estate["instance_profile"])).replace("CLUSTER", lab.cluster)
    made: Tree = yaml.safe_load(text)
    return made


def called(tree: Tree, name: str) -> Tree:
    return but(tree, "metadata.name", name)


def shown(cluster: Cluster, kind: tuple[str, str], name: str) -> dict[str, tuple[str, str, str]]:
    """Return (status, reason, message) by the type of the condition."""
    _, thing = cluster.plane.request("GET", f"{PATHS[kind]}/{name}")
    conditions: list[dict[str, Any]] = thing.get("status", {}).get("conditions", [])
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in conditions}


def test_a_node_class_that_nothing_can_be_launched_from_says_why_and_is_used_when_it_can(
    scene: Scene, kubectl: Kubectl
) -> None:
    cluster, good = scene.cluster, good_class(scene.lab)
    wrong = {
        "lost": but(good, "spec.subnetSelectorTerms", NOWHERE),
        "open": but(good, "spec.securityGroupSelectorTerms", NOWHERE),
        "blank": but(but(good, "spec.amiFamily", "AL2023"), "spec.amiSelectorTerms", NOWHERE),
        "plain": {**good, "spec": {**good["spec"], "role": "node-role"}},
    }
    del wrong["plain"]["spec"]["instanceProfile"]
    told = {
        "lost": ("SubnetsNotFound", "spec.subnetSelectorTerms: its selector of subnets finds nothing"),
        "open": (
            "SecurityGroupsNotFound",
            "spec.securityGroupSelectorTerms: its selector of security groups finds nothing",
        ),
        "blank": ("AMINotFound", "spec.amiSelectorTerms: its selector of images finds nothing"),
        "plain": ("NodeClassNotReady", "it names the role node-role"),
    }
    pool = yaml.safe_load(POOL)

    cluster.apply(good, pool)
    for name, manifest in wrong.items():
        cluster.apply(called(manifest, name))
        cluster.apply(but(called(pool, name), "spec.template.spec.nodeClassRef.name", name))

    for name, (reason, message) in told.items():
        eventually(
            lambda name=name: shown(cluster, NODE_POOL, name).get("Ready", "")[:1] == ("False",),  # type: ignore[misc]
            scene.controller.last_lines,
        )
        ready = shown(cluster, EC2_NODE_CLASS, name)["Ready"]
        of_pool = shown(cluster, NODE_POOL, name)["NodeClassReady"]
        assert ready[:2] == of_pool[:2] == ("False", reason)
        assert ready[2].startswith(message)
        assert of_pool[2] == f"EC2NodeClass/{name}: {ready[2]}"
        for kind in ("ec2nodeclass", "nodepool"):
            described = kubectl("describe", kind, name)
            assert reason in described.partition("Events:")[2]
            assert message in described.partition("Events:")[2]
    eventually(
        lambda: shown(cluster, NODE_POOL, "default").get("Ready", "")[:1] == ("True",),
        scene.controller.last_lines,
    )
    assert scene.controller.metric("treenail_objects_set_aside_total") == 2 * len(wrong)

    for name in wrong:
        cluster.apply(called(good, name))
    for name in wrong:
        eventually(
            lambda name=name: shown(cluster, NODE_POOL, name)["Ready"][0] == "True",  # type: ignore[misc]
            scene.controller.last_lines,
        )
        assert shown(cluster, EC2_NODE_CLASS, name)["Ready"] == ("True", "Ready", "")
