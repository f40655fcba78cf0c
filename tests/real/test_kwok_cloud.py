"""The cloud of played nodes, on a real API server with a real KWOK."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.adapters.kubernetes.writer import KubernetesWriter
from treenail.adapters.kwok.cloud import KwokCloud
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import LAUNCH_TAG, FleetRequest, Override
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.nodes import Node
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.taints import UNREGISTERED
from treenail.domain.ports import ClusterReader, ClusterWriter

NODES = "/api/v1/nodes"


@dataclass(frozen=True, slots=True)
class Setup:
    cloud: KwokCloud
    reader: ClusterReader
    writer: ClusterWriter

    def node(self, name: str) -> Node | None:
        return next((n for n in self.reader.list_nodes() if n.name == name), None)


def until(true: Callable[[], bool], *, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.02)


def crash(error: BaseException) -> None:
    raise error


@pytest.fixture
def setup(control_plane: ControlPlane) -> Iterator[Setup]:
    connection = Connection.open(kubeconfig=control_plane.kubeconfig, qps=1000, burst=1000)
    reader = KubernetesReader(
        connection, congested=lambda: False, failed=crash, log=lambda _message, /, **_fields: None
    )
    writer = KubernetesWriter(connection, clock=SystemClock(), dice=SystemDice())
    setup = Setup(KwokCloud(reader, writer), reader, writer)
    try:
        yield setup
        for node in control_plane.request("GET", NODES)[1]["items"]:
            free = {"metadata": {"finalizers": None}}
            control_plane.request("PATCH", f"{NODES}/{node['metadata']['name']}", free, MERGE)
        control_plane.request("DELETE", NODES)
    finally:
        connection.close()


def request(call: str, count: int = 1) -> FleetRequest:
    return FleetRequest(
        token=call,
        node_class=NodeClass(ref=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")),
        capacity_type=labels.ON_DEMAND,
        overrides=(Override("s-4x-amd64-linux", "test-zone-a", 0.1),),
        count=count,
        labels={labels.NODEPOOL: "default"},
        taints=(UNREGISTERED,),
        tags={LAUNCH_TAG: call, "eks:eks-cluster-name": "demo"},
    )


def test_machines_that_are_launched_join_and_are_listed_as_they_were_launched(setup: Setup) -> None:
    launched = setup.cloud.launch(request("joins", 2)).instances
    until(lambda: sum(n.ready for n in setup.reader.list_nodes()) == 2)

    assert [i.id for i in launched] == ["kwok-joins-0000", "kwok-joins-0001"]
    assert setup.cloud.instances() == launched == setup.cloud.launched_by("joins")
    assert setup.cloud.launch(request("joins", 2)).instances == launched
    node = setup.node(launched[0].id)
    assert node is not None
    assert node.provider_id == launched[0].provider_id
    assert (node.capacity["cpu"], node.allocatable["cpu"]) == (4000, 3900)
    assert UNREGISTERED in node.taints
    with pytest.raises(InvalidError):
        setup.cloud.launch(request("joins", 3))


def test_a_terminated_machine_is_none_while_a_finalizer_holds_its_node(setup: Setup) -> None:
    (instance,) = setup.cloud.launch(request("ends")).instances
    setup.writer.patch_node(instance.id, NodePatch(add_finalizers=(labels.TERMINATION_FINALIZER,)))

    setup.cloud.terminate((instance.id, "kwok-never-0000"))
    setup.cloud.terminate((instance.id,))

    assert setup.cloud.instances() == ()
    held = setup.node(instance.id)
    assert held is not None
    assert held.deleting_since is not None
    setup.writer.patch_node(instance.id, NodePatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    until(lambda: setup.node(instance.id) is None)
