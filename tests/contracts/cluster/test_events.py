from __future__ import annotations

import pytest

from tests.adapters.fake.cluster.builders import CLASS, a_class, a_pool
from tests.adapters.fake.cluster.rig import Listener
from tests.contracts.cluster.subject import Subject, the_pod, unbound
from treenail.domain.cluster.cluster_facts import ObjectSeen
from treenail.domain.model.errors import NotFoundError
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import READY, Condition, Status, holds


def test_equal_events_are_counted(subject: Subject) -> None:
    event = ClusterEvent(ObjectRef("NodePool", "default"), "Refused", "no room", warning=True)
    other = ClusterEvent(ObjectRef("NodePool", "default"), "Refused", "no money", warning=True)

    for published in (event, other, event):
        subject.writer.publish(published)

    assert subject.events() == [(event, 2), (other, 1)]


def test_an_event_that_came_several_times_is_counted_as_often(subject: Subject) -> None:
    event = ClusterEvent(ObjectRef("NodePool", "default"), "Refused", "no room", warning=True)

    subject.writer.publish(event, 3)
    subject.writer.publish(event, 2)

    assert subject.events() == [(event, 5)]


@pytest.mark.parametrize(
    "about",
    [
        ObjectRef("NodePool", "default"),
        ObjectRef("EC2NodeClass", "default"),
        ObjectRef("Provisioner", "older"),
        ObjectRef("AWSNodeTemplate", "older"),
    ],
    ids=lambda ref: ref.kind,
)
def test_a_condition_is_set_and_replaced(subject: Subject, about: ObjectRef) -> None:
    older = NodeClassRef(CLASS.group, "AWSNodeTemplate", "older")
    subject.apply(a_pool("default"), a_class("default"))
    subject.apply(
        NodePool(name="older", generation=Generation.V1ALPHA5, node_class=older), NodeClass(ref=older)
    )

    subject.writer.set_conditions(about, (Condition(READY, Status.FALSE, "NoSubnets", "none match"),))
    subject.writer.set_conditions(about, (Condition("Valid", Status.TRUE), Condition(READY, Status.TRUE)))

    conditions = subject.conditions(about)
    assert sorted(c.type for c in conditions) == [READY, "Valid"]
    assert holds(conditions, READY)
    assert all(c.since is not None for c in conditions)


def test_a_condition_of_what_is_not_there_is_refused(subject: Subject) -> None:
    with pytest.raises(NotFoundError):
        subject.writer.set_conditions(ObjectRef("NodePool", "nobody"), (Condition(READY, Status.TRUE),))


def test_a_condition_set_twice_alike_changes_nothing(subject: Subject) -> None:
    about = ObjectRef("NodePool", "default")
    subject.apply(a_pool("default"))
    subject.writer.set_conditions(about, (Condition(READY, Status.FALSE, "NoSubnets", "none match"),))
    before = subject.conditions(about)
    listener = Listener()
    subject.reader.feed(listener)
    subject.settle()

    subject.writer.set_conditions(about, (Condition(READY, Status.FALSE, "NoSubnets", "none match"),))
    subject.settle()

    assert subject.conditions(about) == before
    assert listener.of(ObjectSeen) == []


def test_an_event_is_told_of_a_pod_in_its_namespace(subject: Subject) -> None:
    subject.apply(unbound("web"))
    about = ObjectRef("Pod", "web", "default", the_pod(subject, "web").uid)
    event = ClusterEvent(about, "Nominated", "should schedule on: c-0")

    subject.writer.publish(event)

    assert subject.events() == [(event, 1)]
