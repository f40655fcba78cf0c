"""Of the joiner, with an API server of two tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.real.lab.joiner import NODES, PODS, SILENT, Joiner
from tests.real.lab.lab import Lab
from tests.real.lab.launching import described, fleet, ids, override, template
from treenail.domain.model.errors import AlreadyExistsError, NotFoundError

NODE_CONFIG = """
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config:
      maxPods: 29
      registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]
    flags: ["--node-labels=karpenter.sh/nodepool=default"]
"""


class Nodes:
    """The nodes of an API server: what was created, and what was patched."""

    def __init__(self) -> None:
        self.by_name: dict[str, dict[str, Any]] = {}

    def request(
        self, method: str, path: str, *, body: bytes | None = None, content_type: str = "application/json"
    ) -> bytes:
        if path.startswith(PODS):
            return b'{"items": []}'
        said = json.loads(body or b"{}")
        name = said["metadata"]["name"] if method == "POST" else path.removeprefix(f"{NODES}/").split("/")[0]
        if method == "POST":
            if name in self.by_name:
                raise AlreadyExistsError(name)
            self.by_name[name] = said
            return b"{}"
        if name not in self.by_name:
            raise NotFoundError(name)
        if method == "GET":
            return json.dumps(self.by_name[name]).encode()
        if method == "DELETE":
            del self.by_name[name]
        else:
            assert content_type == "application/merge-patch+json"
            _merge(self.by_name[name], said)
        return b"{}"


def _merge(into: dict[str, Any], change: dict[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


class Rig:
    def __init__(self, lab: Lab, **settings: Any) -> None:
        self.lab = lab
        self.now = 0.0
        self.nodes = Nodes()
        self.joiner = Joiner(lab.client("ec2"), self.nodes, monotonic=lambda: self.now, **settings)

    def launch(self, instance_type: str = "c5.large") -> dict[str, Any]:
        chosen = template(self.lab, user_data=NODE_CONFIG)
        answer = fleet(self.lab, [override(self.lab, instance_type)], template_id=chosen)
        return described(self.lab, *ids(answer))[0]


def test_a_running_instance_becomes_the_node_its_user_data_describes(lab: Lab) -> None:
    rig = Rig(lab)
    made = rig.launch()

    rig.joiner.tick()

    node = rig.nodes.by_name[made["PrivateDnsName"]]
    assert node["spec"]["providerID"] == f"aws:///us-east-1a/{made['InstanceId']}"
    assert node["spec"]["taints"] == [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}]
    assert node["metadata"]["labels"] == {
        "karpenter.sh/nodepool": "default",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": made["PrivateDnsName"],
        "node.kubernetes.io/instance-type": "c5.large",
        "topology.kubernetes.io/zone": "us-east-1a",
        "topology.kubernetes.io/region": "us-east-1",
    }
    assert node["status"]["capacity"]["cpu"] == "2"
    assert node["status"]["capacity"]["pods"] == "29"
    assert node["status"]["allocatable"]["cpu"] == "1930m"


def test_a_machine_takes_its_time_to_boot_and_does_not_join_before_it_runs(lab: Lab) -> None:
    lab.set_pace(pending=3600)
    rig = Rig(lab)
    rig.launch()
    rig.joiner.tick()
    pending = dict(rig.nodes.by_name)
    lab.reset()

    slow = Rig(lab, boot_seconds=30)
    made = slow.launch()
    slow.joiner.tick()
    slow.now = 29
    slow.joiner.tick()
    booting = dict(slow.nodes.by_name)
    slow.now = 30
    slow.joiner.tick()

    assert pending == booting == {}
    assert list(slow.nodes.by_name) == [made["PrivateDnsName"]]


def test_a_node_that_is_there_already_is_taken_over_with_its_taints_as_they_are(lab: Lab) -> None:
    rig = Rig(lab)
    made = rig.launch()
    early = {
        "metadata": {"name": made["PrivateDnsName"], "labels": {"own": "label"}},
        "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]},
    }
    rig.nodes.by_name[made["PrivateDnsName"]] = early

    rig.joiner.tick()

    assert early["metadata"]["labels"].items() >= {"own": "label", "kubernetes.io/arch": "amd64"}.items()
    assert early["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    assert early["status"]["capacity"]["pods"] == "29"


@pytest.mark.parametrize("deletes", [False, True])
def test_the_node_of_a_machine_that_ended_falls_silent_or_goes(lab: Lab, *, deletes: bool) -> None:
    rig = Rig(lab, deletes_nodes=deletes)
    made = rig.launch()
    rig.joiner.tick()

    lab.client("ec2").terminate_instances(InstanceIds=[made["InstanceId"]])
    rig.joiner.tick()
    rig.joiner.tick()

    left = {name: SILENT in node["metadata"]["annotations"] for name, node in rig.nodes.by_name.items()}
    assert left == ({} if deletes else {made["PrivateDnsName"]: True})


def test_a_machine_waits_while_a_node_of_its_name_is_another_machines_or_on_its_way_out(lab: Lab) -> None:
    rig = Rig(lab)
    made = rig.launch()
    name = made["PrivateDnsName"]
    others = {"metadata": {"name": name}, "spec": {"providerID": "aws:///us-east-1a/i-other"}}
    rig.nodes.by_name[name] = others
    rig.joiner.tick()
    assert "labels" not in others["metadata"]
    others["spec"] = {}
    others["metadata"]["deletionTimestamp"] = "2026-08-03T00:00:00Z"
    rig.joiner.tick()
    assert "labels" not in others["metadata"]
    del rig.nodes.by_name[name]

    rig.joiner.tick()

    assert rig.nodes.by_name[name]["spec"]["providerID"].endswith(made["InstanceId"])


def test_a_broken_machine_never_joins(lab: Lab) -> None:
    rig = Rig(lab)
    rig.joiner.broken.add(rig.launch()["InstanceId"])

    rig.joiner.tick()

    assert rig.nodes.by_name == {}
