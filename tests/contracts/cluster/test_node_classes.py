from __future__ import annotations

import pytest

from tests.adapters.fake.cluster.builders import a_class
from tests.adapters.fake.cluster.rig import Listener
from tests.builders import START
from tests.contracts.cluster.subject import Subject
from treenail.domain.cluster.cluster_facts import ObjectGone, ObjectSeen
from treenail.domain.model.capacity_reservations import CapacityReservation, MatchCriteria
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import (
    ImageMeant,
    NodeClassMeaning,
    SecurityGroupMeant,
    SubnetMeant,
)
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.nodes import READY, Condition, Status
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.model.reservations import Reservation

CLASS = ObjectRef("EC2NodeClass", "default")
FINALIZER = "karpenter.k8s.aws/termination"
WELL = (Condition(READY, Status.TRUE),)
MEANING = NodeClassMeaning(
    subnets=(SubnetMeant(id="subnet-1", zone="a", zone_id="use1-az1"), SubnetMeant(id="subnet-2", zone="b")),
    security_groups=(SecurityGroupMeant(id="sg-1", name="nodes"),),
    images=(
        ImageMeant(
            id="ami-1",
            name="al2023",
            requirements=(
                Requirement.of("karpenter.k8s.aws/instance-gpu-count", Operator.DOES_NOT_EXIST),
                Requirement.of("kubernetes.io/arch", Operator.IN, ("amd64",)),
            ),
        ),
        ImageMeant(id="ami-0", deprecated=True),
    ),
    reservations=(
        CapacityReservation(
            reservation=Reservation("cr-1", "capacity-block"),
            instance_type="p5.48xlarge",
            zone="a",
            owner_id="123456789012",
            match_criteria=MatchCriteria.TARGETED,
            ends_at=START,
        ),
        CapacityReservation(
            reservation=Reservation("cr-2"), instance_type="m5.large", zone="b", owner_id="1"
        ),
    ),
    instance_profile="demo_1",
)


def test_what_a_node_class_means_stands_in_its_status(subject: Subject) -> None:
    subject.apply(a_class("default"))

    subject.writer.set_conditions(CLASS, WELL, MEANING)

    assert subject.status(CLASS) == {
        "subnets": [{"id": "subnet-1", "zone": "a", "zoneID": "use1-az1"}, {"id": "subnet-2", "zone": "b"}],
        "securityGroups": [{"id": "sg-1", "name": "nodes"}],
        "amis": [
            {
                "id": "ami-1",
                "name": "al2023",
                "requirements": [
                    {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "DoesNotExist"},
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                ],
            },
            {"id": "ami-0", "deprecated": True, "requirements": []},
        ],
        "capacityReservations": [
            {
                "id": "cr-1",
                "availabilityZone": "a",
                "instanceType": "p5.48xlarge",
                "instanceMatchCriteria": "targeted",
                "ownerID": "123456789012",
                "endTime": "2026-01-01T00:00:00Z",
                "reservationType": "capacity-block",
                "state": "active",
            },
            {
                "id": "cr-2",
                "availabilityZone": "b",
                "instanceType": "m5.large",
                "instanceMatchCriteria": "open",
                "ownerID": "1",
                "reservationType": "default",
                "state": "active",
            },
        ],
        "instanceProfile": "demo_1",
    }
    assert [c.type for c in subject.conditions(CLASS)] == [READY]


def test_a_node_class_of_the_old_generation_shows_no_profile(subject: Subject) -> None:
    about = ObjectRef("AWSNodeTemplate", "older")
    subject.apply(NodeClass(ref=NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "older")))

    subject.writer.set_conditions(about, WELL, MEANING)

    status = subject.status(about)
    assert status is not None
    assert sorted(status) == ["amis", "securityGroups", "subnets"]
    assert [one["id"] for one in status["subnets"]] == ["subnet-1", "subnet-2"]


def test_what_it_means_no_more_goes_from_its_status(subject: Subject) -> None:
    subject.apply(a_class("default"))
    subject.writer.set_conditions(CLASS, WELL, MEANING)

    subject.writer.set_conditions(CLASS, WELL, NodeClassMeaning())

    status = subject.status(CLASS)
    assert status is not None
    assert not any(status.values())


def test_a_meaning_set_twice_alike_changes_nothing(subject: Subject) -> None:
    subject.apply(a_class("default"))
    subject.writer.set_conditions(CLASS, WELL, MEANING)
    listener = Listener()
    subject.reader.feed(listener)
    subject.settle()

    subject.writer.set_conditions(CLASS, WELL, MEANING)
    subject.settle()

    assert listener.of(ObjectSeen) == []


def test_a_node_class_that_is_held_goes_when_it_is_let_go(subject: Subject) -> None:
    subject.apply(a_class("default"))
    for _ in range(2):
        subject.writer.hold_node_class(CLASS, FINALIZER)
    listener = Listener()
    subject.reader.feed(listener)
    subject.settle()

    subject.delete(CLASS)
    subject.settle()
    (seen,) = listener.of(ObjectSeen)
    assert isinstance(seen.object, NodeClass)
    assert (seen.object.deleting, seen.object.finalizers) == (True, (FINALIZER,))
    assert listener.of(ObjectGone) == []
    subject.writer.release_node_class(CLASS, FINALIZER)
    subject.settle()

    assert [gone.key for gone in listener.of(ObjectGone)] == ["EC2NodeClass/default"]
    assert subject.status(CLASS) is None


def test_one_that_is_let_go_without_being_deleted_stays(subject: Subject) -> None:
    subject.apply(a_class("default"))
    subject.writer.hold_node_class(CLASS, FINALIZER)

    for _ in range(2):
        subject.writer.release_node_class(CLASS, FINALIZER)

    assert subject.status(CLASS) is not None
    subject.delete(CLASS)
    assert subject.status(CLASS) is None


def test_one_that_goes_already_is_not_held_any_more(subject: Subject) -> None:
    subject.apply(a_class("default"))
    subject.writer.hold_node_class(CLASS, "example.com/first")
    subject.delete(CLASS)

    subject.writer.hold_node_class(CLASS, FINALIZER)
    subject.writer.release_node_class(CLASS, "example.com/first")

    assert subject.status(CLASS) is None


def test_one_that_is_not_there_can_be_neither_held_nor_let_go(subject: Subject) -> None:
    for call in (subject.writer.hold_node_class, subject.writer.release_node_class):
        with pytest.raises(NotFoundError):
            call(CLASS, FINALIZER)


def test_other_objects_are_not_held(subject: Subject) -> None:
    with pytest.raises(InvalidError):
        subject.writer.hold_node_class(ObjectRef("NodePool", "default"), FINALIZER)
