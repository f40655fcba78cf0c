from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.builders import instance_type
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.resources import Resources
from treenail.domain.scheduling.capacity_shortfalls import with_room

DISK, CPU, PODS = "ephemeral-storage", "cpu", "pods"


def sized(name: str, **amounts: int) -> InstanceType:
    known = {key.replace("_", "-"): amount for key, amount in amounts.items()}
    return replace(instance_type(name, 2, price=0.1), capacity=Resources(known))


def disks(**amounts: int) -> tuple[InstanceType, ...]:
    return tuple(sized(name, ephemeral_storage=amount) for name, amount in amounts.items())


def left(
    types: tuple[InstanceType, ...], resource: str, room: Mapping[str, Mapping[str, int]]
) -> dict[str, int]:
    """Return what types leave to pods of a resource, once it is known what nodes had."""
    shown = with_room(types, {name: Resources(had) for name, had in room.items()})
    return {one.name: one.allocatable[resource] for one in shown}


def test_a_type_has_no_more_than_its_nodes_had() -> None:
    types = disks(a=75, b=150)

    assert left(types, DISK, {"a": {DISK: 17}}) == {"a": 17, "b": 150}


def test_a_type_has_never_more_than_was_promised() -> None:
    types = disks(a=75)

    assert with_room(types, {"a": Resources({DISK: 99})}) == types


def test_types_that_nothing_is_missing_of_are_the_very_same() -> None:
    types = disks(a=75, b=150)

    shown = with_room(types, {"a": Resources({DISK: 17})})

    assert shown[1] is types[1]
    assert with_room(types, {}) is types


def test_capacity_stays_what_is_paid_for_and_what_is_missing_is_overhead() -> None:
    (short,) = with_room(disks(a=75), {"a": Resources({DISK: 17})})

    assert (short.capacity[DISK], short.overhead.missing) == (75, Resources({DISK: 58}))


def test_where_types_that_differ_had_the_same_others_are_taken_to_have_no_more() -> None:
    types = disks(a=50, b=75, c=300, small=10)

    assert left(types, DISK, {"a": {DISK: 17}, "b": {DISK: 17}}) == {"a": 17, "b": 17, "c": 17, "small": 10}


def test_that_says_nothing_of_types_that_are_far_larger() -> None:
    types = disks(a=50, b=75, c=600, huge=601)

    shown = left(types, DISK, {"a": {DISK: 17}, "b": {DISK: 17}})

    # They lack at least what the others do.
    assert (shown["c"], shown["huge"]) == (17, 601 - 33)


def test_one_larger_type_extends_it() -> None:
    types = disks(a=50, b=75, c=1200, huge=9000)

    shown = left(types, DISK, {"a": {DISK: 17}, "b": {DISK: 17}, "c": {DISK: 17}})

    assert shown["huge"] == 17


def test_where_alike_types_lack_the_same_others_lack_that_much() -> None:
    """Two types with two cores each say nothing of how much those with eight have left."""
    types = (sized("a", cpu=1930), sized("b", cpu=1930), sized("c", cpu=7910), sized("d", cpu=300))

    shown = left(types, CPU, {"a": {CPU: 1430}, "b": {CPU: 1430}})

    assert shown == {"a": 1430, "b": 1430, "c": 7410, "d": 0}


def test_of_what_types_lack_differently_others_lack_the_least() -> None:
    types = (sized("a", cpu=2000), sized("b", cpu=4000), sized("c", cpu=8000))

    assert left(types, CPU, {"a": {CPU: 1500}, "b": {CPU: 3700}})["c"] == 7700


def test_one_type_alone_says_nothing_of_others() -> None:
    types = (sized("a", cpu=2000), sized("b", cpu=4000))

    assert left(types, CPU, {"a": {CPU: 1500}})["b"] == 4000


@pytest.mark.parametrize(
    ("kept", "other"),
    [
        pytest.param({"d": {DISK: 300}}, 600, id="one that had more than the short ones"),
        pytest.param({"s": {DISK: 10}}, 17, id="one that was to have no more anyway"),
    ],
)
def test_a_type_that_keeps_its_promise_speaks_against_it(
    kept: Mapping[str, Mapping[str, int]], other: int
) -> None:
    types = disks(a=50, b=75, d=300, s=10, x=600)

    assert left(types, DISK, {"a": {DISK: 17}, "b": {DISK: 17}, **kept})["x"] == other


def test_a_node_that_did_not_tell_of_a_resource_says_nothing_of_it() -> None:
    types = (sized("a", cpu=2000, pods=29), sized("b", cpu=4000, pods=58))

    shown = left(types, PODS, {"a": {CPU: 2000}, "b": {CPU: 4000}})

    assert shown == {"a": 29, "b": 58}
