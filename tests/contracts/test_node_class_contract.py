"""What every `Cloud` must say of node classes, and do for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.fake.ec2.rig import ZONES, request
from tests.contracts.clouds import NOWHERE, OF_ROLE, Setup, of_ec2
from treenail.domain.model import labels
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.fleets import LAUNCH_TAG
from treenail.domain.model.node_classes import Kubelet, SelectorTerm
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.model.placement_groups import NO_GROUP, PlacementGroupRef


@of_ec2
def test_a_node_class_stands_well_where_all_it_wants_is_there(setup: Setup) -> None:
    status = setup.cloud.node_class_status(OF_ROLE)

    assert {c.type: c.status.value for c in status.conditions} == {
        "AMIsReady": "True",
        "SubnetsReady": "True",
        "SecurityGroupsReady": "True",
        "InstanceProfileReady": "True",
    }
    meaning = status.meaning
    assert sorted({one.zone for one in meaning.subnets}) == list(ZONES)
    assert all(one.id.startswith("sg-") for one in meaning.security_groups)
    assert {"amd64", "arm64"} == {
        need.single for image in meaning.images for need in image.requirements if need.key == labels.ARCH
    }
    assert meaning.instance_profile.startswith("demo_")


@of_ec2
def test_what_a_node_class_lacks_is_false_and_the_rest_is_told_nevertheless(setup: Setup) -> None:
    status = setup.cloud.node_class_status(replace(OF_ROLE, subnet_terms=NOWHERE.subnet_terms))

    lacking = [c for c in status.conditions if c.status is not Status.TRUE]
    assert [(c.type, c.status, c.reason) for c in lacking] == [
        ("SubnetsReady", Status.FALSE, "SubnetsNotFound")
    ]
    assert status.meaning.subnets == ()
    assert status.meaning.security_groups
    assert status.meaning.images


@of_ec2
def test_instances_are_in_the_placement_group_that_their_class_names(setup: Setup) -> None:
    group = PlacementGroupRef(id=setup.group("close"), name="close")
    of = replace(OF_ROLE, placement_group=SelectorTerm(name="close"))

    status = setup.cloud.node_class_status(of)
    setup.cloud.launch(request(of=of))
    setup.cloud.launch(request(of=OF_ROLE, call="call-2"))
    setup.settle()

    assert Condition("PlacementGroupReady", Status.TRUE, "PlacementGroupReady") in status.conditions
    assert status.meaning.placement_group == group
    assert setup.cloud.node_class_status(OF_ROLE).meaning.placement_group == NO_GROUP
    told = {one.tags[LAUNCH_TAG]: one.placement_group for one in setup.cloud.instances()}
    assert told == {"call-1": group, "call-2": NO_GROUP}


@of_ec2
def test_a_placement_group_that_is_not_there_keeps_a_class_from_launching(setup: Setup) -> None:
    of = replace(OF_ROLE, placement_group=SelectorTerm(name="nowhere"))

    status = setup.cloud.node_class_status(of)

    (lacking,) = (c for c in status.conditions if c.status is not Status.TRUE)
    assert (lacking.type, lacking.reason) == ("PlacementGroupReady", "PlacementGroupNotFound")
    assert status.meaning.placement_group == NO_GROUP
    with pytest.raises(NodeClassNotReadyError, match=r"finds no group that is available \(name nowhere\)"):
        setup.cloud.instance_types(of, Kubelet())


@of_ec2
def test_a_role_that_is_not_there_keeps_a_class_from_launching(setup: Setup) -> None:
    of = replace(OF_ROLE, role="nobody")

    status = setup.cloud.node_class_status(of)

    (lacking,) = (c for c in status.conditions if c.status is not Status.TRUE)
    assert (lacking.type, lacking.reason) == ("InstanceProfileReady", "RoleNotFound")
    for ask in (
        lambda: setup.cloud.instance_types(of, Kubelet()),
        lambda: setup.cloud.launch(request(of=of)),
    ):
        with pytest.raises(NodeClassNotReadyError, match="there is no role nobody"):
            ask()


@of_ec2
def test_the_profile_of_a_role_serves_and_goes_with_the_class(setup: Setup) -> None:
    name = setup.cloud.node_class_status(OF_ROLE).meaning.instance_profile
    (launched,) = setup.cloud.launch(request(of=OF_ROLE)).instances
    assert setup.profiles() == [name]

    assert setup.cloud.collect_profiles((OF_ROLE,)) == ()
    setup.cloud.terminate((launched.id,))
    setup.settle()
    for _ in range(2):
        setup.cloud.release(OF_ROLE)

    assert setup.profiles() == []


@of_ec2
def test_a_profile_that_was_needed_within_the_hour_is_not_collected(setup: Setup) -> None:
    name = setup.cloud.node_class_status(OF_ROLE).meaning.instance_profile

    assert setup.cloud.collect_profiles(()) == ()
    assert setup.profiles() == [name]


def test_nothing_is_wrong_with_a_cloud_that_node_classes_mean_nothing_to(setup: Setup) -> None:
    setup.cloud.release(OF_ROLE)

    assert setup.cloud.collect_profiles(()) == ()
    assert all(c.status is Status.TRUE for c in setup.cloud.node_class_status(OF_ROLE).conditions)
