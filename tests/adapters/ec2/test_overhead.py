from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.ec2.node_classes import instance_type, node_class, record
from treenail.adapters.ec2.capacity import NodeSizing, capacity_of
from treenail.adapters.ec2.node_settings import NodeSettings
from treenail.adapters.ec2.overhead import overhead_of
from treenail.domain.model.instance_types import Overhead
from treenail.domain.model.node_classes import AmiFamily, Kubelet
from treenail.domain.model.resources import Resources


def overhead(kubelet: Kubelet, family: AmiFamily = AmiFamily.AL2023, reserved_enis: int = 0) -> Overhead:
    settings = NodeSizing(reserved_enis=reserved_enis)
    return instance_type("c5.xlarge", node_class(family), kubelet, settings).overhead


def reserved_mib(family: AmiFamily, max_pods: int | None = None, reserved_enis: int = 0) -> float:
    found = overhead(Kubelet(max_pods=max_pods), family, reserved_enis)
    return found.kube_reserved["memory"] / 2**20


def test_the_kubelet_the_system_and_free_room_each_take_their_share() -> None:
    found = overhead(Kubelet(system_reserved=Resources.parse({"cpu": "100m", "pid": 1000})))

    assert found.kube_reserved.format() == {"cpu": "80m", "ephemeral-storage": "1Gi", "memory": "893Mi"}
    assert found.system_reserved.format() == {"cpu": "100m", "pid": "1000"}
    assert found.eviction_threshold.format() == {"ephemeral-storage": "2Gi", "memory": "100Mi"}


@pytest.mark.parametrize(
    ("cpus", "reserved"), [(1, 60), (2, 70), (3, 75), (4, 80), (5, 82), (6, 85), (8, 90), (96, 310)]
)
def test_the_kubelet_takes_of_every_further_core_a_smaller_share(cpus: int, reserved: int) -> None:
    one = record("x1.large", cpus=cpus)
    node = NodeSettings.of(node_class(), Kubelet())

    found = overhead_of(one, capacity_of(one, node, NodeSizing()), node)

    assert found.kube_reserved["cpu"] == reserved


@pytest.mark.parametrize("family", [AmiFamily.AL2, AmiFamily.AL2023, AmiFamily.UBUNTU, AmiFamily.CUSTOM])
def test_there_the_memory_reserved_follows_from_the_interfaces_alone(family: AmiFamily) -> None:
    by_interfaces = 11 * 58 + 255

    assert reserved_mib(family) == by_interfaces
    assert reserved_mib(family, max_pods=10) == by_interfaces
    assert reserved_mib(family, reserved_enis=2) == by_interfaces


@pytest.mark.parametrize("family", [AmiFamily.BOTTLEROCKET, AmiFamily.WINDOWS2019, AmiFamily.WINDOWS2022])
def test_there_the_memory_reserved_follows_from_the_pods_admitted(family: AmiFamily) -> None:
    assert reserved_mib(family, max_pods=10) == 11 * 10 + 255


def test_what_the_user_reserves_for_the_kubelet_replaces_ours_by_resource() -> None:
    found = overhead(Kubelet(kube_reserved=Resources.parse({"memory": "1Gi", "pid": 500})))

    assert found.kube_reserved.format() == {
        "cpu": "80m",
        "ephemeral-storage": "1Gi",
        "memory": "1Gi",
        "pid": "500",
    }


@pytest.mark.parametrize(
    ("threshold", "memory"),
    [("200Mi", "200Mi"), ("0", "0"), ("50%", "3788.5Mi"), ("0%", "0"), ("100%", "0"), ("7.5%", "595879527")],
)
def test_a_threshold_of_memory_is_as_written_or_a_share_rounded_up(threshold: str, memory: str) -> None:
    found = overhead(Kubelet(eviction_hard=(("memory.available", threshold),))).eviction_threshold

    assert found == Resources.parse({"memory": memory, "ephemeral-storage": "2Gi"})


def test_a_threshold_of_storage_is_of_the_volume() -> None:
    found = overhead(Kubelet(eviction_hard=(("nodefs.available", "25%"),))).eviction_threshold

    assert found == Resources.parse({"memory": "100Mi", "ephemeral-storage": "5Gi"})


def test_soft_thresholds_and_other_signals_take_nothing() -> None:
    kubelet = Kubelet(
        eviction_hard=(("pid.available", "10%"), ("imagefs.available", "50%")),
        eviction_soft=(("memory.available", "3Gi"),),
    )

    assert overhead(kubelet) == overhead(Kubelet())


@given(cpus=st.integers(1, 2000))
def test_a_larger_machine_never_has_less_for_pods(cpus: int) -> None:
    node = NodeSettings.of(node_class(), Kubelet())

    def left(count: int) -> int:
        one = record("x1.large", cpus=count)
        capacity = capacity_of(one, node, NodeSizing())
        return capacity["cpu"] - overhead_of(one, capacity, node).kube_reserved["cpu"]

    assert left(cpus) < left(cpus + 1)
