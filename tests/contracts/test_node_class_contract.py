"""What every `Cloud` must say of node classes, and do for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.fake.ec2.rig import ZONES, request
from tests.contracts.clouds import NOWHERE, OF_ROLE, Setup, of_ec2
from treenail.domain import labels
from treenail.domain.node_classes import Kubelet
from treenail.domain.nodes import Status
from treenail.domain.ports import NodeClassNotReadyError


@of_ec2
def test_a_node_class_stands_well_where_all_it_wants_is_there(setup: Setup) -> None:
    standing = setup.cloud.standing(OF_ROLE)

    assert {c.type: c.status.value for c in standing.conditions} == {
        "AMIsReady": "True",
        "SubnetsReady": "True",
        "SecurityGroupsReady": "True",
        "InstanceProfileReady": "True",
    }
    meaning = standing.meaning
    assert sorted({one.zone for one in meaning.subnets}) == list(ZONES)
    assert all(one.id.startswith("sg-") for one in meaning.security_groups)
    assert {"amd64", "arm64"} == {
        need.single for image in meaning.images for need in image.requirements if need.key == labels.ARCH
    }
    assert meaning.instance_profile.startswith("demo_")


@of_ec2
def test_what_a_node_class_lacks_is_false_and_the_rest_is_told_nevertheless(setup: Setup) -> None:
    standing = setup.cloud.standing(replace(OF_ROLE, subnet_terms=NOWHERE.subnet_terms))

    lacking = [c for c in standing.conditions if c.status is not Status.TRUE]
    assert [(c.type, c.status, c.reason) for c in lacking] == [
        ("SubnetsReady", Status.FALSE, "SubnetsNotFound")
    ]
    assert standing.meaning.subnets == ()
    assert standing.meaning.security_groups
    assert standing.meaning.images


@of_ec2
def test_a_role_that_is_not_there_keeps_a_class_from_launching(setup: Setup) -> None:
    of = replace(OF_ROLE, role="nobody")

    standing = setup.cloud.standing(of)

    (lacking,) = (c for c in standing.conditions if c.status is not Status.TRUE)
    assert (lacking.type, lacking.reason) == ("InstanceProfileReady", "RoleNotFound")
    for ask in (
        lambda: setup.cloud.instance_types(of, Kubelet()),
        lambda: setup.cloud.launch(request(of=of)),
    ):
        with pytest.raises(NodeClassNotReadyError, match="there is no role nobody"):
            ask()


@of_ec2
def test_the_profile_of_a_role_serves_and_goes_with_the_class(setup: Setup) -> None:
    name = setup.cloud.standing(OF_ROLE).meaning.instance_profile
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
    name = setup.cloud.standing(OF_ROLE).meaning.instance_profile

    assert setup.cloud.collect_profiles(()) == ()
    assert setup.profiles() == [name]


def test_nothing_is_wrong_with_a_cloud_that_node_classes_mean_nothing_to(setup: Setup) -> None:
    setup.cloud.release(OF_ROLE)

    assert setup.cloud.collect_profiles(()) == ()
    assert all(c.status is Status.TRUE for c in setup.cloud.standing(OF_ROLE).conditions)
