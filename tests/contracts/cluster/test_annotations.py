from __future__ import annotations

import pytest

from tests.adapters.fake.cluster.builders import a_class, a_pool
from tests.adapters.fake.cluster.rig import Listener
from tests.contracts.cluster.subject import Subject
from treenail.domain.cluster.cluster_facts import ObjectSeen
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.nodes import READY, Condition, Status

POOL = ObjectRef("NodePool", "default")
CLASS = ObjectRef("EC2NodeClass", "default")
HASHED = {"karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "v"}


@pytest.mark.parametrize("about", [POOL, CLASS], ids=str)
def test_an_object_keeps_its_annotations_beside_new_ones(subject: Subject, about: ObjectRef) -> None:
    subject.apply(a_class("default"), a_pool("default"))

    subject.writer.annotate(about, {"example.com/a": "1"})
    subject.writer.annotate(about, HASHED)
    subject.writer.annotate(about, {"example.com/a": "2"})

    assert subject.annotations(about).items() >= {**HASHED, "example.com/a": "2"}.items()


def test_annotations_that_are_there_change_nothing(subject: Subject) -> None:
    subject.apply(a_class("default"), a_pool("default"))
    subject.writer.annotate(POOL, HASHED)
    listener = Listener()
    subject.reader.feed(listener)
    subject.settle()

    subject.writer.annotate(POOL, dict(list(HASHED.items())[:1]))
    subject.settle()

    assert listener.of(ObjectSeen) == []


def test_what_is_not_there_cannot_be_annotated(subject: Subject) -> None:
    with pytest.raises(NotFoundError):
        subject.writer.annotate(ObjectRef("NodePool", "nobody"), HASHED)


def test_others_are_not_annotated(subject: Subject) -> None:
    with pytest.raises(InvalidError):
        subject.writer.annotate(ObjectRef("ConfigMap", "web"), HASHED)


def test_a_pool_says_of_which_generation_of_its_node_class_its_conditions_tell(subject: Subject) -> None:
    subject.apply(a_class("default"), a_pool("default"))
    well = (Condition(READY, Status.TRUE, READY),)

    subject.writer.set_conditions(POOL, well, class_generation=3)
    assert subject.class_generation(POOL) == 3

    subject.writer.set_conditions(POOL, well)
    assert subject.class_generation(POOL) == 3
