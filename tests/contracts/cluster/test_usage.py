"""What pools show of their nodes."""

from __future__ import annotations

import pytest

from tests.adapters.fake.cluster.rig import Listener
from tests.contracts.cluster.subject import Subject
from treenail.domain.cluster.cluster_facts import ObjectSeen
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.resources import Resources
from treenail.domain.status.pool_usage import PoolUsage

POOL = ObjectRef("NodePool", "default")
OLD = ObjectRef("Provisioner", "default")
SOME = PoolUsage(3, Resources.parse({"cpu": 12, "memory": "24Gi", "pods": 60, "example.com/chip": 2}))
LESS = PoolUsage(1, Resources.parse({"cpu": 4}))
REF = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")


def test_a_pool_shows_its_nodes_and_what_they_have(subject: Subject) -> None:
    subject.apply(NodePool(name="default", node_class=REF))

    subject.writer.set_usage(POOL, SOME)

    expected = {
        "cpu": "12",
        "memory": "24Gi",
        "pods": "60",
        "ephemeral-storage": "0",
        "example.com/chip": "2",
    }
    assert subject.status(POOL) == {"resources": {**expected, "nodes": "3"}, "nodes": 3}


def test_what_its_nodes_have_no_more_is_shown_no_more(subject: Subject) -> None:
    subject.apply(NodePool(name="default", node_class=REF))
    subject.writer.set_usage(POOL, SOME)

    subject.writer.set_usage(POOL, LESS)

    expected = {"cpu": "4", "memory": "0", "pods": "0", "ephemeral-storage": "0", "nodes": "1"}
    assert subject.status(POOL) == {"resources": expected, "nodes": 1}


def test_a_provisioner_shows_resources_alone(subject: Subject) -> None:
    subject.apply(
        NodePool(
            name="default",
            generation=Generation.V1ALPHA5,
            node_class=NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default"),
        )
    )

    subject.writer.set_usage(OLD, LESS)

    expected = {"cpu": "4", "memory": "0", "pods": "0", "ephemeral-storage": "0"}
    assert subject.status(OLD) == {"resources": expected}


def test_what_is_shown_already_is_not_written(subject: Subject) -> None:
    subject.apply(NodePool(name="default", node_class=REF))
    subject.writer.set_usage(POOL, SOME)
    listener = Listener()
    subject.reader.feed(listener)
    subject.settle()

    subject.writer.set_usage(POOL, SOME)
    subject.settle()

    assert listener.of(ObjectSeen) == []


def test_what_is_no_pool_or_is_not_there_shows_nothing(subject: Subject) -> None:
    with pytest.raises(InvalidError):
        subject.writer.set_usage(ObjectRef("EC2NodeClass", "default"), SOME)
    with pytest.raises(NotFoundError):
        subject.writer.set_usage(POOL, SOME)
