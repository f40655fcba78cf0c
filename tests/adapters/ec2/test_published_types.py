from __future__ import annotations

import pytest

from tests.adapters.ec2.node_classes import device, instance_type, node_class
from tests.adapters.ec2.published import PUBLISHED, Published
from treenail.domain import labels
from treenail.domain.node_classes import AmiFamily
from treenail.domain.resources import amount_of

# Where a type is sold is not part of the reference.
OF_A_PLACE = {labels.REGION, labels.ZONE, labels.ZONE_ID, labels.CAPACITY_TYPE}


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda one: one.name)
def test_a_type_has_the_allocatable_that_karpenter_publishes(published: Published) -> None:
    assert instance_type(published.name).allocatable.format() == published.allocatable


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda one: one.name)
def test_a_type_has_the_labels_that_karpenter_publishes(published: Published) -> None:
    requirements = instance_type(published.name).requirements.values()

    known = {r.key: r.single for r in requirements if r.single is not None and r.key not in OF_A_PLACE}

    assert known == published.labels


@pytest.mark.parametrize(
    ("name", "cpu", "memory"),
    [
        ("t4g.small", "1930m", "1408312Ki"),
        ("t4g.medium", "1930m", "3377496Ki"),
        ("t4g.xlarge", "3920m", "15136012Ki"),
        ("m5.large", "1930m", "7220184Ki"),
    ],
)
def test_a_type_is_never_thought_larger_than_its_nodes_turn_out(name: str, cpu: str, memory: str) -> None:
    allocatable = instance_type(name).allocatable

    assert allocatable["cpu"] <= amount_of("cpu", cpu)
    assert allocatable["memory"] <= amount_of("memory", memory)


def test_a_windows_node_has_110_pods_and_an_address_for_each_but_one_of_an_interface() -> None:
    windows = instance_type("c6a.xlarge", node_class(AmiFamily.WINDOWS2022, device("/dev/sda1", 50)))

    assert windows.allocatable.format() == {
        "cpu": "3920m",
        "ephemeral-storage": "44Gi",
        "memory": "6012Mi",
        "pods": "110",
        "vpc.amazonaws.com/PrivateIPv4Address": "14",
        "vpc.amazonaws.com/pod-eni": "18",
    }
