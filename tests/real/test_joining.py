"""Instances of the laboratory join a real cluster, whose kubelets KWOK plays."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.real.lab.joiner import NODES, SILENT, Joiner
from tests.real.lab.lab import Lab
from tests.real.lab.launching import described, fleet, ids, override, template
from tests.real.parts.binaries import NotBuiltError
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import says
from tests.real.sqs.reader import until
from treenail.adapters.kubernetes.connection import Connection

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


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster of which KWOK plays only the nodes whose machines have joined."""
    try:
        plane = ControlPlane()
    except NotBuiltError as error:
        pytest.skip(str(error))
    with plane:
        yield plane


@pytest.fixture
def joiner(lab: Lab, cluster: ControlPlane) -> Iterator[Joiner]:
    api = Connection.open(kubeconfig=cluster.kubeconfig, qps=100, burst=200)
    joiner, stopping = Joiner(lab.client("ec2"), api), threading.Event()
    thread = threading.Thread(target=joiner.run, args=(stopping,), name="joiner")
    thread.start()
    yield joiner
    stopping.set()
    thread.join(30)
    api.close()
    cluster.request("DELETE", NODES)


def launch(lab: Lab) -> dict[str, Any]:
    chosen = template(lab, user_data=NODE_CONFIG)
    return described(lab, *ids(fleet(lab, [override(lab, "c5.large")], template_id=chosen)))[0]


def node(cluster: ControlPlane, name: str) -> dict[str, Any]:
    code, found = cluster.request("GET", f"{NODES}/{name}")
    return dict(found) if code == 200 else {}


def ready(cluster: ControlPlane, name: str) -> bool:
    return says(node(cluster, name), "Ready")


def test_an_instance_becomes_a_ready_node_and_falls_silent_when_it_ends(
    lab: Lab, cluster: ControlPlane, joiner: Joiner
) -> None:
    assert joiner.broken == set()
    made = launch(lab)
    name = made["PrivateDnsName"]

    until(lambda: ready(cluster, name), seconds=60)
    joined = node(cluster, name)
    lab.client("ec2").terminate_instances(InstanceIds=[made["InstanceId"]])
    until(lambda: SILENT in node(cluster, name)["metadata"]["annotations"], seconds=60)

    assert joined["spec"]["providerID"] == f"aws:///us-east-1a/{made['InstanceId']}"
    assert {t["key"] for t in joined["spec"]["taints"]} >= {"karpenter.sh/unregistered"}
    assert joined["status"]["capacity"]["pods"] == "29"
    assert joined["status"]["allocatable"]["cpu"] == "1930m"


def test_a_node_that_was_made_before_its_machine_waits_for_it(lab: Lab, cluster: ControlPlane) -> None:
    made = launch(lab)
    name = made["PrivateDnsName"]
    early = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"own": "label"}},
        "spec": {"providerID": f"aws:///us-east-1a/{made['InstanceId']}"},
    }
    assert cluster.request("POST", NODES, early)[0] == 201
    api = Connection.open(kubeconfig=cluster.kubeconfig, qps=100, burst=200)
    try:
        threading.Event().wait(2)
        waiting = ready(cluster, name)
        Joiner(lab.client("ec2"), api).tick()
        until(lambda: ready(cluster, name), seconds=60)
    finally:
        api.close()
        adopted = node(cluster, name)
        cluster.request("DELETE", f"{NODES}/{name}")

    assert not waiting
    assert adopted["metadata"]["labels"].items() >= {"own": "label", "kubernetes.io/os": "linux"}.items()
    assert adopted["status"]["capacity"]["pods"] == "29"
    assert all(t["key"] != "karpenter.sh/unregistered" for t in adopted["spec"].get("taints", []))
