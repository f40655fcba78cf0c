"""A cloud of somebody's own that lacks methods, or says nothing, is refused with what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.scenarios.manifests import node_class, node_pool, text
from treenail.testing import (
    Cloud,
    Conditions,
    DelegatingCloud,
    FleetAnswer,
    FleetRequest,
    InstanceState,
    InstanceType,
    Kubelet,
    NodeClass,
    Rehearsal,
    Resources,
)
from treenail.testing.contracts import CloudContract, CloudSubject


class Lazy(Cloud):
    """A cloud that can do one thing."""

    def instances(self) -> tuple[Any, ...]:
        return ()


class Duck:
    """The same, without a word about the port."""

    def instances(self) -> tuple[Any, ...]:
        return ()


class Empty(DelegatingCloud):
    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        del node_class, kubelet
        return ()


class WithoutAMachine(DelegatingCloud):
    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        types = super().instance_types(node_class, kubelet)
        return tuple(replace(one, capacity=Resources.parse({"cpu": "2"})) for one in types)

    def launch(self, request: FleetRequest) -> FleetAnswer:
        answer = super().launch(request)
        small = tuple(replace(i, allocatable=Resources.parse({"cpu": "1"})) for i in answer.instances)
        return replace(answer, instances=small)


def a_node_class() -> NodeClass:
    with Rehearsal() as rehearsal:
        [found] = rehearsal.apply(text(node_class(), node_pool())).node_classes
    return found


def subject(make: Callable[[Cloud], Cloud]) -> CloudSubject:
    with Rehearsal(seed=1) as rehearsal:
        return CloudSubject(
            cloud=make(rehearsal.ec2),
            settle=lambda: None,
            node_class=a_node_class(),
            instance_type="m5.large",
            zone="us-east-1a",
        )


def test_a_derived_cloud_without_all_methods_is_not_made() -> None:
    with pytest.raises(TypeError, match=r"abstract class Lazy with abstract methods collect_profiles, imp"):
        Lazy()  # type: ignore[abstract]


def test_a_cloud_that_only_looks_like_one_is_refused_with_what_it_lacks() -> None:
    lacks = r"cloud: Duck does not implement Cloud: it lacks collect_profiles, impairments, instance_types, "

    with pytest.raises(TypeError, match=lacks):
        Rehearsal(conditions=Conditions(cloud=lambda _: Duck()))  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match=lacks):
        subject(lambda _: Duck())  # type: ignore[arg-type, return-value]


def test_the_contract_refuses_an_empty_catalogue() -> None:
    with pytest.raises(AssertionError, match=r"instance_types\(\) names \[\] of 0"):
        CloudContract().test_what_it_sells_is_in_its_catalogue(subject(Empty))


def test_the_contract_says_which_resource_a_machine_lacks() -> None:
    with pytest.raises(AssertionError, match=r"m5.large: memory: capacity is 0, and allocatable 0"):
        CloudContract().test_what_it_sells_is_in_its_catalogue(subject(WithoutAMachine))
    with pytest.raises(AssertionError, match=r"i-\w+: memory: capacity is \d+, and allocatable 0"):
        CloudContract().test_what_is_launched_is_what_was_asked_for(subject(WithoutAMachine))


def test_a_state_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="'nope' is no state of instances: there are pending, running, shut"):
        InstanceState("nope")
