"""What every `Cloud` must do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.adapters.fake.ec2.rig import node_class, request
from tests.contracts.clouds import NOWHERE, OF_ROLE, Setup, of_ec2
from treenail.domain.interruption.impairments import Impairments
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError, NodeClassNotReadyError, NotFoundError
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import DEFAULT_KUBELET, Kubelet
from treenail.domain.model.observed_capacity import AllocatableObserved, MemoryObserved
from treenail.domain.model.resources import Resources
from treenail.domain.model.template_hash import sizing_hash
from treenail.domain.ports import Cloud
from treenail.testing.contracts import CloudContract, CloudSubject

OTHER_KUBELET = Kubelet(max_pods=20)


def test_types_are_sorted_by_name_and_offered_where_the_class_has_subnets(setup: Setup) -> None:
    types = setup.cloud.instance_types(node_class(), Kubelet())

    assert [t.name for t in types] == sorted(t.name for t in types)
    offered = {(o.zone, o.capacity_type) for t in types for o in t.offerings}
    assert {way for _, way in offered} == {labels.SPOT, labels.ON_DEMAND}
    assert len({zone for zone, _ in offered}) == 3
    assert all(o.price > 0 for t in types for o in t.offerings if o.available)


def test_spot_is_offered_for_less_than_on_demand(setup: Setup) -> None:
    types = setup.cloud.instance_types(node_class(), Kubelet())

    for found in types:
        prices = {(o.zone, o.capacity_type): o.price for o in found.offerings if o.available}
        for (zone, way), price in prices.items():
            if way == labels.SPOT:
                assert price < prices[zone, labels.ON_DEMAND]


@of_ec2
def test_a_class_whose_selectors_find_nothing_is_not_ready(setup: Setup) -> None:
    with pytest.raises(NodeClassNotReadyError, match="subnet-00000000000000000"):
        setup.cloud.instance_types(NOWHERE, Kubelet())
    with pytest.raises(NodeClassNotReadyError):
        setup.cloud.launch(request(of=NOWHERE))


def memory_of(cloud: Cloud, name: str) -> int:
    return {t.name: t.capacity["memory"] for t in cloud.instance_types(node_class(), Kubelet())}[name]


def others(types: tuple[InstanceType, ...]) -> tuple[InstanceType, ...]:
    return tuple(t for t in types if t.name != "m5.large")


@of_ec2
def test_the_least_memory_that_nodes_had_takes_the_place_of_the_estimate(setup: Setup) -> None:
    cloud = setup.cloud
    before = cloud.instance_types(node_class(), Kubelet())
    (instance,) = cloud.launch(request()).instances
    estimate = memory_of(cloud, "m5.large")
    real = (estimate + 2**28, estimate - 2**28, estimate)

    news = [
        cloud.learn(MemoryObserved(instance_type="m5.large", image_id=instance.image_id, memory=memory))
        for memory in real
    ]

    assert news == [True, True, False]
    assert memory_of(cloud, "m5.large") == estimate - 2**28
    assert others(cloud.instance_types(node_class(), Kubelet())) == others(before)


def test_what_nodes_of_other_images_had_changes_nothing(setup: Setup) -> None:
    before = setup.cloud.instance_types(node_class(), Kubelet())

    for name, image in (("m5.large", "ami-of-nobody"), ("no-such-type.large", "")):
        setup.cloud.learn(MemoryObserved(instance_type=name, image_id=image, memory=2**20))
        setup.cloud.learn(room(setup, cpu=1, of=name, image=image))

    assert setup.cloud.instance_types(node_class(), Kubelet()) == before


def room(
    setup: Setup, *, cpu: int, of: str = "m5.large", image: str = "", kubelet: Kubelet = DEFAULT_KUBELET
) -> AllocatableObserved:
    """Return that a node of the class has so much for pods; it has come just now."""
    return AllocatableObserved(
        instance_type=of,
        image_id=image,
        sized_by=sizing_hash(node_class(), kubelet),
        node="n1",
        came_at=setup.now(),
        room=Resources({"cpu": cpu}),
    )


@of_ec2
def test_types_have_no_more_room_than_nodes_of_the_class_had(setup: Setup) -> None:
    cloud = setup.cloud
    (instance,) = cloud.launch(request()).instances
    before = cloud.instance_types(node_class(), DEFAULT_KUBELET)
    other = cloud.instance_types(node_class(), OTHER_KUBELET)
    observation = room(setup, cpu=1400, image=instance.image_id)

    news = [cloud.learn(observation), cloud.learn(observation)]

    after = cloud.instance_types(node_class(), DEFAULT_KUBELET)
    assert news == [True, False]
    (short,) = [t for t in after if t.name == "m5.large"]
    assert (
        short.allocatable["cpu"] == 1400 < next(t for t in before if t.name == "m5.large").allocatable["cpu"]
    )
    assert short.capacity["cpu"] == 2000
    assert others(after) == others(before)
    assert cloud.instance_types(node_class(), OTHER_KUBELET) == other


@of_ec2
def test_nodes_that_had_more_room_than_was_expected_change_nothing(setup: Setup) -> None:
    (instance,) = setup.cloud.launch(request()).instances
    before = setup.cloud.instance_types(node_class(), DEFAULT_KUBELET)

    setup.cloud.learn(room(setup, cpu=2000, image=instance.image_id))

    assert setup.cloud.instance_types(node_class(), DEFAULT_KUBELET) == before


def test_what_is_launched_is_what_was_asked_for(setup: Setup) -> None:
    answer = setup.cloud.launch(request("m5.large/a", "m5.large/b", count=2))

    assert len(answer.instances) == 2
    assert answer.fleet_id
    for instance in answer.instances:
        assert instance.instance_type == "m5.large"
        assert instance.zone in ("us-east-1a", "us-east-1b")
        assert instance.capacity_type == labels.ON_DEMAND
        assert instance.provider_id.endswith(f":///{instance.zone}/{instance.id}")
        assert instance.live
        assert instance.price > 0
        assert instance.tags.items() >= request().tags.items()
        assert instance.labels[labels.INSTANCE_TYPE] == "m5.large"
        assert instance.capacity["cpu"] == 2000
        assert 0 < instance.allocatable["memory"] < instance.capacity["memory"]


@of_ec2
def test_an_instance_says_which_image_it_runs_and_that_it_is_of_aws(setup: Setup) -> None:
    (instance,) = setup.cloud.launch(request()).instances

    assert instance.image_id
    assert instance.provider_id == f"aws:///{instance.zone}/{instance.id}"


@of_ec2
def test_an_instance_says_which_instance_profile_it_has(setup: Setup) -> None:
    profile = setup.cloud.node_class_status(OF_ROLE).meaning.instance_profile
    (bought,) = setup.cloud.launch(request(of=OF_ROLE)).instances
    setup.settle()

    (listed,) = setup.cloud.instances()
    assert profile.startswith("demo_")
    assert (bought.instance_profile, listed.instance_profile) == (profile, profile)


@of_ec2
@pytest.mark.parametrize(("dedicated", "tenancy"), [(False, "default"), (True, "dedicated")])
def test_an_instance_says_whose_hardware_it_runs_on(
    setup: Setup,
    dedicated: bool,  # noqa: FBT001
    tenancy: str,
) -> None:
    (bought,) = setup.cloud.launch(replace(request(), dedicated=dedicated)).instances
    setup.settle()

    (listed,) = setup.cloud.instances()
    assert bought.labels[labels.INSTANCE_TENANCY] == listed.labels[labels.INSTANCE_TENANCY] == tenancy


@of_ec2
def test_a_listing_says_where_in_the_network_an_instance_is(setup: Setup) -> None:
    setup.cloud.launch(request())
    setup.settle()

    (listed,) = setup.cloud.instances()

    meant = setup.cloud.node_class_status(node_class()).meaning
    assert listed.subnet_id in {subnet.id for subnet in meant.subnets}
    assert listed.security_groups == tuple(sorted(group.id for group in meant.security_groups))


@of_ec2
def test_tags_come_beside_those_there_are_and_in_place_of_their_like(setup: Setup) -> None:
    tagged, other = setup.cloud.launch(request(count=2)).instances
    setup.settle()

    setup.cloud.tag(tagged.id, {"Name": "first", "karpenter.sh/nodeclaim": "c1"})
    setup.cloud.tag(tagged.id, {"Name": "second"})
    setup.settle()

    listed = {one.id: one.tags for one in setup.cloud.instances()}
    named = {"Name": "second", "karpenter.sh/nodeclaim": "c1"}
    assert listed[tagged.id].items() >= {**tagged.tags, **named}.items()
    assert "karpenter.sh/nodeclaim" not in listed[other.id]


# The laboratory tags what is not there.
@pytest.mark.parametrize("setup", ["fake"], indirect=True)
def test_what_never_was_cannot_be_tagged(setup: Setup) -> None:
    with pytest.raises(NotFoundError):
        setup.cloud.tag("i-00000000000000000", {"Name": "nobody"})


@of_ec2
def test_instances_are_well_that_nothing_is_known_of(setup: Setup) -> None:
    setup.cloud.launch(request())
    setup.settle()

    assert setup.cloud.impairments() == Impairments()


@of_ec2
def test_what_is_wrong_with_an_instance_is_told_until_it_is_terminated(setup: Setup) -> None:
    checked, hosted, planned, well = setup.cloud.launch(request(count=4)).instances
    setup.settle()
    setup.fail_check(checked.id, InterruptionKind.INSTANCE_STATUS)
    setup.fail_check(hosted.id, InterruptionKind.SYSTEM_STATUS)
    setup.plan_event(planned.id)

    found = {one.instance_id: one for one in setup.cloud.impairments().found}

    assert {name: one.kind for name, one in found.items()} == {
        checked.id: InterruptionKind.INSTANCE_STATUS,
        hosted.id: InterruptionKind.SYSTEM_STATUS,
        planned.id: InterruptionKind.EVENT_STATUS,
    }
    assert list(found) == sorted(found)
    since, deadline = found[checked.id].since, found[planned.id].deadline
    assert since is not None
    assert deadline is not None
    assert timedelta(minutes=59) < deadline - since < timedelta(minutes=61)

    setup.cloud.terminate((checked.id, hosted.id, planned.id, well.id))
    setup.settle()
    assert setup.cloud.impairments() == Impairments()


@of_ec2
def test_instances_of_other_clusters_are_none_of_ours(setup: Setup) -> None:
    with pytest.raises(InvalidError):
        setup.cloud.launch(request(cluster="other"))
    setup.settle()

    assert setup.cloud.instances() == ()


class TestEveryCloud(CloudContract):
    @pytest.fixture
    def subject(self, setup: Setup) -> CloudSubject:
        return CloudSubject(
            cloud=setup.cloud,
            settle=setup.settle,
            node_class=node_class(),
            instance_type="m5.large",
            zone="us-east-1a",
        )
