from __future__ import annotations

import pytest

from tests.adapters.fake.ec2.rig import Rig, request
from treenail.adapters.fake.ec2 import Shortfall
from treenail.domain.model.node_classes import Kubelet
from treenail.domain.model.observed_capacity import AllocatableObserved
from treenail.domain.model.resources import Resources
from treenail.domain.model.template_hash import sizing_hash

EIGHT = Resources({"pods": 8})


def test_nodes_come_up_with_what_their_instances_promise() -> None:
    rig = Rig()
    instance = rig.launch_one()

    assert rig.ec2.node_size(instance) == (instance.capacity, instance.allocatable)


def test_of_what_they_have_at_most_neither_capacity_nor_room_is_more() -> None:
    rig = Rig()
    rig.ec2.set_shortfalls(Shortfall(at_most=EIGHT))

    capacity, allocatable = rig.ec2.node_size(rig.launch_one())

    assert (capacity["pods"], allocatable["pods"]) == (8, 8)


def test_what_is_reserved_pods_do_not_get() -> None:
    rig = Rig()
    instance = rig.launch_one()
    rig.ec2.set_shortfalls(Shortfall(less=Resources({"cpu": 500, "memory": 2**60})))

    capacity, allocatable = rig.ec2.node_size(instance)

    assert capacity == instance.capacity
    assert allocatable == Resources({**instance.allocatable, "cpu": 1430, "memory": 0})


@pytest.mark.parametrize(
    "other",
    [Shortfall(at_most=EIGHT, instance_type="c5.large"), Shortfall(at_most=EIGHT, node_class="other")],
)
def test_other_types_and_node_classes_are_as_they_were(other: Shortfall) -> None:
    rig = Rig()
    instance = rig.launch_one()
    rig.ec2.set_shortfalls(other)

    assert rig.ec2.node_size(instance) == (instance.capacity, instance.allocatable)


def test_what_was_learned_of_nodes_changes_what_is_promised_and_no_node() -> None:
    rig = Rig()
    first = rig.launch_one()
    made_from = request().node_class
    observation = AllocatableObserved(
        instance_type="m5.large",
        image_id=first.image_id,
        sized_by=sizing_hash(made_from, Kubelet()),
        node="n1",
        came_at=rig.agenda.now(),
        room=Resources({"cpu": 1000}),
    )

    rig.ec2.learn(observation)
    (second,) = rig.ec2.launch(request(call="call-2")).instances

    assert second.allocatable["cpu"] == 1000
    assert rig.ec2.node_size(second)[1] == first.allocatable
