from __future__ import annotations

import random
from dataclasses import replace
from threading import Barrier

import pytest

from tests.agenda import HeapAgenda
from treenail.adapters.api.manifests import decode, parse_manifests
from treenail.adapters.fake.cluster import ClusterFaults, FakeCluster
from treenail.adapters.kwok.cloud import KwokCloud
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError, UnavailableError
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, FleetRequest, InstanceState, Override
from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.nodes import Node
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.taints import UNREGISTERED

KWOK_CLASS = NodeClass(ref=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default"))
EC2_CLASS = NodeClass(ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"))
A, B = "test-zone-a", "test-zone-b"


def request(
    *overrides: tuple[str, str],
    call: str = "call1",
    count: int = 1,
    capacity_type: str = labels.ON_DEMAND,
) -> FleetRequest:
    return FleetRequest(
        token=call,
        node_class=KWOK_CLASS,
        capacity_type=capacity_type,
        overrides=tuple(Override(t, z, 1.0) for t, z in overrides or [("s-2x-amd64-linux", A)]),
        count=count,
        labels={labels.NODEPOOL: "default", labels.CAPACITY_TYPE: capacity_type},
        taints=(UNREGISTERED,),
        tags={CLUSTER_TAG: "demo", LAUNCH_TAG: call},
    )


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(agenda=HeapAgenda(), dice=random.Random(1))


@pytest.fixture
def cloud(cluster: FakeCluster) -> KwokCloud:
    return KwokCloud(cluster, cluster)


class Meeting(FakeCluster):
    """A cluster that answers no creation of a node before three of them are under way."""

    barrier = Barrier(3, timeout=10)

    def create_node(self, node: Node) -> Node:
        self.barrier.wait()
        return node


def test_the_nodes_of_one_request_are_created_at_the_same_time() -> None:
    cluster = Meeting(agenda=HeapAgenda(), dice=random.Random(1))

    bought = KwokCloud(cluster, cluster, at_once=3).launch(request(count=3))

    assert [instance.id for instance in bought.instances] == [f"kwok-call1-000{n}" for n in range(3)]


def test_a_machine_is_a_node_that_kwok_knows_as_its_own(cluster: FakeCluster, cloud: KwokCloud) -> None:
    (instance,) = cloud.launch(request()).instances

    (node,) = cluster.nodes()
    assert node.name == instance.id == instance.node_name == "kwok-call1-0000"
    assert node.provider_id == instance.provider_id == "kwok:///test-zone-a/kwok-call1-0000"
    assert node.annotations["kwok.x-k8s.io/node"] == "fake"
    assert UNREGISTERED in node.taints
    assert node.capacity["cpu"] == 2000
    assert node.allocatable["cpu"] == 1900
    assert (
        node.labels.items()
        >= {
            labels.NODEPOOL: "default",
            labels.INSTANCE_TYPE: "s-2x-amd64-linux",
            labels.ZONE: A,
            labels.CAPACITY_TYPE: "on-demand",
            labels.ARCH: "amd64",
            labels.OS: "linux",
            labels.HOSTNAME: node.name,
            "karpenter.kwok.sh/instance-family": "s",
        }.items()
    )


def test_the_cheapest_override_is_taken(cloud: KwokCloud) -> None:
    dear_and_cheap = (("s-4x-amd64-linux", A), ("c-2x-amd64-linux", B), ("s-2x-amd64-linux", A))

    (instance,) = cloud.launch(request(*dear_and_cheap)).instances

    assert (instance.instance_type, instance.zone) == ("c-2x-amd64-linux", B)


def test_spot_is_bought_at_the_price_of_spot(cloud: KwokCloud) -> None:
    (spot,) = cloud.launch(request(call="a", capacity_type=labels.SPOT)).instances
    (dear,) = cloud.launch(request(call="b")).instances

    assert spot.labels[labels.CAPACITY_TYPE] == labels.SPOT
    assert spot.price == pytest.approx(0.7 * dear.price)


def test_what_is_not_on_offer_has_run_out(cloud: KwokCloud) -> None:
    answer = cloud.launch(request(("s-2x-amd64-linux", "moon"), count=2))

    assert answer.instances == ()
    assert [(e.capacity, e.instance_type, e.zone) for e in answer.errors] == [
        (True, "s-2x-amd64-linux", "moon")
    ]


def test_a_launch_that_was_cut_short_is_finished_under_its_token(
    cluster: FakeCluster, cloud: KwokCloud
) -> None:
    cloud.launch(request(count=3))
    lost = cluster.nodes()[1]
    cluster.delete_node(lost.name, uid=lost.uid)

    again = cloud.launch(request(count=3))

    assert [i.id for i in again.instances] == [f"kwok-call1-000{n}" for n in range(3)]
    assert len(cluster.nodes()) == 3


def test_what_was_given_back_is_not_given_out_again(cluster: FakeCluster, cloud: KwokCloud) -> None:
    kept, ended = cloud.launch(request(count=2)).instances
    cluster.patch_node(ended.id, NodePatch(add_finalizers=(labels.TERMINATION_FINALIZER,)))
    cloud.terminate((ended.id,))

    assert [i.id for i in cloud.launch(request(count=2)).instances] == [kept.id]


def test_a_machine_that_was_given_back_is_none_while_its_node_waits_for_a_finalizer(
    cluster: FakeCluster, cloud: KwokCloud
) -> None:
    (instance,) = cloud.launch(request()).instances
    cluster.patch_node(instance.id, NodePatch(add_finalizers=(labels.TERMINATION_FINALIZER,)))

    cloud.terminate((instance.id,))

    (node,) = cluster.nodes()
    assert node.deleting_since is not None
    assert cloud.instances() == cloud.launched_by("call1") == ()


def test_a_machine_lives_on_while_its_node_is_only_being_deleted(
    cluster: FakeCluster, cloud: KwokCloud
) -> None:
    (instance,) = cloud.launch(request()).instances
    node = cluster.patch_node(instance.id, NodePatch(add_finalizers=(labels.TERMINATION_FINALIZER,)))

    cluster.delete_node(node.name, uid=node.uid)

    (found,) = cloud.instances()
    assert (found.id, found.state) == (instance.id, InstanceState.RUNNING)


def test_labels_that_somebody_changed_change_no_machine(cluster: FakeCluster, cloud: KwokCloud) -> None:
    (instance,) = cloud.launch(request()).instances

    cluster.patch_node(instance.id, NodePatch(labels={labels.ZONE: "moon", labels.INSTANCE_TYPE: "x"}))

    assert cloud.instances() == (instance,)


def test_nodes_that_are_not_ours_are_no_machines(cluster: FakeCluster, cloud: KwokCloud) -> None:
    other = b"apiVersion: v1\nkind: Node\nmetadata: {name: x, annotations: {treenail.sh/kwok-machine: y}}\n"
    (manifest,) = parse_manifests(other, "nodes")
    cluster.apply(*decode(manifest))

    assert cloud.instances() == ()
    assert len(cluster.nodes()) == 1


def test_a_machine_of_a_type_that_is_offered_no_more_is_still_a_machine(
    cluster: FakeCluster, cloud: KwokCloud
) -> None:
    (instance,) = cloud.launch(request()).instances

    (found,) = KwokCloud(cluster, cluster, types=()).instances()

    assert replace(found, labels={}) == replace(instance, labels={})
    assert found.labels[labels.INSTANCE_TYPE] == "s-2x-amd64-linux"


def test_node_classes_of_any_kind_are_offered_the_same(cloud: KwokCloud) -> None:
    assert cloud.instance_types(KWOK_CLASS, Kubelet()) == cloud.instance_types(EC2_CLASS, Kubelet())


@pytest.mark.parametrize("token", ["", "UPPER", "x" * 60, "with space"])
def test_a_token_that_makes_no_name_of_a_node_is_refused(cloud: KwokCloud, token: str) -> None:
    with pytest.raises(InvalidError, match="token"):
        cloud.launch(request(call=token))


def test_an_api_server_that_does_not_answer_is_a_cloud_that_does_not() -> None:
    faults = ClusterFaults(unavailable=1.0)
    cluster = FakeCluster(agenda=HeapAgenda(), dice=random.Random(1), faults=faults)
    cloud = KwokCloud(cluster, cluster)

    for call in (lambda: cloud.launch(request()), cloud.instances, lambda: cloud.terminate(("x",))):
        with pytest.raises(UnavailableError):
            call()
