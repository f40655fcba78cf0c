from __future__ import annotations

import pytest

from tests.adapters.fake.cluster.builders import a_class, a_pool
from tests.contracts.cluster.subject import Subject
from treenail.domain.events import ClusterEvent, ObjectRef
from treenail.domain.nodes import READY, Condition, Status, holds
from treenail.domain.ports import NotFoundError


def test_equal_events_are_counted(subject: Subject) -> None:
    event = ClusterEvent(ObjectRef("NodePool", "default"), "Refused", "no room", warning=True)
    other = ClusterEvent(ObjectRef("NodePool", "default"), "Refused", "no money", warning=True)

    for published in (event, other, event):
        subject.writer.publish(published)

    assert subject.events() == [(event, 2), (other, 1)]


@pytest.mark.parametrize("about", [ObjectRef("NodePool", "default"), ObjectRef("EC2NodeClass", "default")])
def test_a_condition_is_set_and_replaced(subject: Subject, about: ObjectRef) -> None:
    subject.apply(a_pool("default"), a_class("default"))

    subject.writer.set_condition(about, Condition(READY, Status.FALSE, "NoSubnets", "none match"))
    subject.writer.set_condition(about, Condition("Valid", Status.TRUE))
    subject.writer.set_condition(about, Condition(READY, Status.TRUE))

    conditions = subject.conditions(about)
    assert sorted(c.type for c in conditions) == [READY, "Valid"]
    assert holds(conditions, READY)
    assert all(c.since is not None for c in conditions)


def test_a_condition_of_what_is_not_there_is_refused(subject: Subject) -> None:
    with pytest.raises(NotFoundError):
        subject.writer.set_condition(ObjectRef("NodePool", "nobody"), Condition(READY, Status.TRUE))
