from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.adapters.ec2.launch.readers import bottlerocket_settings, node_config
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene, machines

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    metadata: {labels: {team: a}}
    spec:
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
      startupTaints: [{key: example.com/agent-not-ready, effect: PreferNoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: NAME}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: NAME}
spec:
  instanceProfile: PROFILE
  amiSelectorTerms: [{alias: NAME@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: CLUSTER}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: CLUSTER}}]
  kubelet: {maxPods: 17, clusterDNS: [172.20.0.53], evictionHard: {memory.available: 5%}}
  userData: ""
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: on-NAME}
spec:
  replicas: 2
  selector: {matchLabels: {app: on-NAME}}
  template:
    metadata: {labels: {app: on-NAME}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: NAME}
      containers: [{name: app, image: pause, resources: {requests: {cpu: 100m}}}]
"""
OWN = {
    "al2023": "kind: NodeConfig\napiVersion: node.eks.aws/v1alpha1\nspec: {kubelet: {flags: [--v=4]}}",
    "bottlerocket": '[settings.kubernetes.node-labels]\nown = "yes"\n',
}


@pytest.fixture
def scene(control_plane: ControlPlane, lab: Lab) -> Iterator[Scene]:
    there = Scene(control_plane, lab, None)
    there.cluster.install()
    with there.controller, machines(there, boot_seconds=1):
        yield there
    there.cluster.clear()


def applied(scene: Scene, name: str) -> None:
    lab = scene.lab
    text = POOL.replace("NAME", name).replace("CLUSTER", lab.cluster)
    for thing in yaml.safe_load_all(text.replace("PROFILE", str(lab.estate["instance_profile"]))):
        if thing["kind"] == "EC2NodeClass":
            thing["spec"]["userData"] = OWN[name]
        scene.cluster.apply(thing)


def booted(scene: Scene, node: dict[str, Any]) -> str:
    """Return the user data of a node's instance."""
    instance_id = node["spec"]["providerID"].rpartition("/")[2]
    ec2 = scene.lab.client("ec2")
    answer = ec2.describe_instance_attribute(InstanceId=instance_id, Attribute="userData")
    return base64.b64decode(answer["UserData"]["Value"]).decode()


def test_machines_of_each_family_join_as_they_are_told_in_its_words(scene: Scene) -> None:
    for name in OWN:
        applied(scene, name)
    eventually(lambda: scene.cluster.running() == 4, scene.summary, within=150)

    nodes = {node["metadata"]["labels"]["karpenter.sh/nodepool"]: node for node in scene.cluster.nodes()}
    assert set(nodes) == set(OWN)
    for node in nodes.values():
        assert node["metadata"]["labels"]["team"] == "a"
        assert node["status"]["capacity"]["pods"] == "17"
        assert "example.com/agent-not-ready" in {taint["key"] for taint in node["spec"]["taints"]}
    assert nodes["bottlerocket"]["metadata"]["labels"]["own"] == "yes"

    kubelet = node_config(booted(scene, nodes["al2023"]))["spec"]["kubelet"]
    assert (kubelet["config"]["maxPods"], kubelet["config"]["clusterDNS"]) == (17, ["172.20.0.53"])
    assert kubelet["config"]["evictionHard"] == {"memory.available": "5%"}
    told = bottlerocket_settings(booted(scene, nodes["bottlerocket"]))["kubernetes"]
    assert (told["cluster-name"], told["max-pods"]) == (scene.lab.cluster, 17)
    assert (told["cluster-dns-ip"], told["eviction-hard"]) == ("172.20.0.53", {"memory.available": "5%"})
