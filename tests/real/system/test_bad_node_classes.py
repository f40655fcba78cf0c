from __future__ import annotations

from collections.abc import Iterator
from functools import partial
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


def of_role(tree: Tree, role: str) -> Tree:
    """Return a class that names a role in place of a profile."""
    spec = {field: value for field, value in tree["spec"].items() if field != "instanceProfile"}
    return {**tree, "spec": {**spec, "role": role}}


def describes(kubectl: Kubectl, kind: str, name: str, words: tuple[str, ...]) -> bool:
    """Return whether the events of an object say all that."""
    events = kubectl("describe", kind, name).partition("Events:")[2]
    return all(word in events for word in words)


def called(tree: Tree, name: str) -> Tree:
    return but(tree, "metadata.name", name)


def shown(cluster: Cluster, kind: tuple[str, str], name: str) -> dict[str, tuple[str, str, str]]:
    """Return (status, reason, message) by the type of the condition."""
    _, thing = cluster.plane.request("GET", f"{PATHS[kind]}/{name}")
    conditions: list[dict[str, Any]] = thing.get("status", {}).get("conditions", [])
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in conditions}


def is_ready(cluster: Cluster, kind: tuple[str, str], name: str, status: str) -> bool:
    """Return whether this is what the condition Ready says."""
    return shown(cluster, kind, name).get("Ready", ("",))[0] == status


def test_a_node_class_that_nothing_can_be_launched_from_says_why_and_is_used_when_it_can(
    scene: Scene, kubectl: Kubectl
) -> None:
    cluster, good = scene.cluster, good_class(scene.lab)
    wrong = {
        "lost": but(good, "spec.subnetSelectorTerms", NOWHERE),
        "open": but(good, "spec.securityGroupSelectorTerms", NOWHERE),
        "blank": but(but(good, "spec.amiFamily", "AL2023"), "spec.amiSelectorTerms", NOWHERE),
        "plain": of_role(good, "nobody"),
        "long": but(good, "spec.userData", "#" * 16_385),
    }
    told = {
        "lost": ("SubnetsNotFound", "spec.subnetSelectorTerms: its selector of subnets finds nothing"),
        "open": (
            "SecurityGroupsNotFound",
            "spec.securityGroupSelectorTerms: its selector of security groups finds nothing",
        ),
        "blank": ("AMINotFound", "spec.amiSelectorTerms: its selector of images finds nothing"),
        "plain": ("RoleNotFound", "spec.role: there is no role nobody in IAM"),
        "long": ("UserDataSizeLimitExceeded", "spec.userData: "),
    }
    part = {
        "lost": "SubnetsReady",
        "open": "SecurityGroupsReady",
        "blank": "AMIsReady",
        "plain": "InstanceProfileReady",
        "long": "ValidationSucceeded",
    }
    pool = yaml.safe_load(POOL)

    cluster.apply(good, pool)
    for name, manifest in wrong.items():
        cluster.apply(called(manifest, name))
        cluster.apply(but(called(pool, name), "spec.template.spec.nodeClassRef.name", name))

    for name, (reason, message) in told.items():
        for shows in (NODE_POOL, EC2_NODE_CLASS):
            eventually(partial(is_ready, cluster, shows, name, "False"), scene.controller.last_lines)
        ready = shown(cluster, EC2_NODE_CLASS, name)["Ready"]
        of_pool = shown(cluster, NODE_POOL, name)["NodeClassReady"]
        assert ready[:2] == of_pool[:2] == ("False", reason)
        assert ready[2].startswith(message)
        assert shown(cluster, EC2_NODE_CLASS, name)[part[name]] == ready
        assert of_pool[2] == f"EC2NodeClass/{name}: {ready[2]}"
        for kind in ("ec2nodeclass", "nodepool"):
            told_by_event = partial(describes, kubectl, kind, name, (reason, message))
            eventually(told_by_event, scene.controller.last_lines)
    eventually(partial(is_ready, cluster, NODE_POOL, "default", "True"), scene.controller.last_lines)
    assert scene.controller.metric("treenail_objects_set_aside_total") == 2 * len(wrong)

    for name in wrong:
        cluster.apply(called(good, name))
    for name in wrong:
        for shows in (NODE_POOL, EC2_NODE_CLASS):
            eventually(partial(is_ready, cluster, shows, name, "True"), scene.controller.last_lines)
        assert shown(cluster, EC2_NODE_CLASS, name)["Ready"] == ("True", "Ready", "")


def test_a_node_class_says_what_it_means_and_takes_its_profile_along(scene: Scene) -> None:
    cluster, lab = scene.cluster, scene.lab
    path = f"{PATHS[EC2_NODE_CLASS]}/default"
    iam = lab.client("iam")

    cluster.apply(of_role(good_class(lab), str(lab.estate["role"])))
    eventually(partial(is_ready, cluster, EC2_NODE_CLASS, "default", "True"), scene.controller.last_lines)
    _, there = cluster.plane.request("GET", path)
    profile = iam.get_instance_profile(InstanceProfileName=there["status"]["instanceProfile"])
    cluster.plane.request("DELETE", path)
    eventually(lambda: cluster.plane.request("GET", path)[0] == 404, scene.controller.last_lines)

    assert there["metadata"]["finalizers"] == ["karpenter.k8s.aws/termination"]
    observed = {c["observedGeneration"] for c in there["status"]["conditions"]}
    assert observed == {there["metadata"]["generation"]}
    assert {one["id"] for one in there["status"]["securityGroups"]} == set(lab.estate["security_groups"])
    assert {one["zone"] for one in there["status"]["subnets"]} == set(lab.estate["subnets"])
    assert all(one["requirements"] for one in there["status"]["amis"])
    assert [role["RoleName"] for role in profile["InstanceProfile"]["Roles"]] == [lab.estate["role"]]
    left = iam.list_instance_profiles()["InstanceProfiles"]
    assert [one for one in left if one["Path"].startswith("/karpenter/")] == []
