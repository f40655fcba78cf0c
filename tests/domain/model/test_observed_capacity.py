from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from tests.builders import at, claim, conditions, instance_type, node
from treenail.domain.model import labels
from treenail.domain.model.instance_types import Overhead
from treenail.domain.model.nodes import INITIALIZED, REGISTERED, NodeView
from treenail.domain.model.observed_capacity import (
    AllocatableObserved,
    MemoryObserved,
    ObservedCapacity,
    Sizes,
    allocatable_observation,
    memory_observation,
)
from treenail.domain.model.resources import MEMORY, Resources
from treenail.domain.model.template_hash import SIZED_BY

GIB = 2**30
HOUR, DAY = 3600, 86400
LARGE = instance_type("m5.large", 2, price=0.1)
GPU = "nvidia.com/gpu"


def view(
    memory: int = 7 * GIB,
    *,
    shown: Iterable[str] = (REGISTERED,),
    image: str = "ami-1",
    sized_by: str = "made",
    requests: Mapping[str, int] | None = None,
    room: Mapping[str, int] | None = None,
) -> NodeView:
    known = replace(
        claim("c1"),
        labels={labels.INSTANCE_TYPE: "m5.large"},
        annotations={SIZED_BY: sized_by},
        image_id=image,
        conditions=conditions(*shown),
        requests=Resources(requests or {}),
    )
    there = replace(node("n1"), capacity=Resources({MEMORY: memory}), allocatable=Resources(room or {}))
    return NodeView(claim=known, node=there)


IN_USE = (REGISTERED, INITIALIZED)


def room(
    name: str = "n1", *, seconds: float = 0, of: str = "m5.large", image: str = "ami-1", **amounts: int
) -> AllocatableObserved:
    return AllocatableObserved(
        instance_type=of,
        image_id=image,
        sized_by="made",
        node=name,
        came_at=at(seconds),
        room=Resources(amounts),
    )


def taught(*observations: AllocatableObserved) -> ObservedCapacity:
    learned = ObservedCapacity()
    for observation in observations:
        learned.learn(observation)
    return learned


def known(
    learned: ObservedCapacity, *, seconds: float = 1, image: str = "ami-1"
) -> dict[str, dict[str, int]]:
    sizes = learned.of({image}, "made", at(seconds))
    return {name: dict(had) for name, had in sizes.room}


# --- memory


def test_a_registered_node_teaches_how_much_memory_it_has() -> None:
    expected = MemoryObserved(instance_type="m5.large", image_id="ami-1", memory=7 * GIB)

    assert memory_observation(view()) == expected


@pytest.mark.parametrize(
    "nothing",
    [
        pytest.param(view(shown=()), id="a node that is not registered"),
        pytest.param(view(image=""), id="a node of which the image is not known"),
        pytest.param(view(0), id="a node that says nothing of its memory"),
        pytest.param(replace(view(), node=None), id="a claim without a node"),
        pytest.param(replace(view(), claim=None), id="a node of somebody else"),
    ],
)
def test_what_is_not_certain_teaches_nothing(nothing: NodeView) -> None:
    assert memory_observation(nothing) is None


def test_the_least_memory_that_was_seen_is_kept_and_only_less_is_news() -> None:
    learned = ObservedCapacity()
    seen = [MemoryObserved(instance_type="m5.large", image_id="ami-1", memory=n) for n in (7, 7, 8, 6, 7)]

    assert [learned.learn(one) for one in seen] == [True, False, False, True, False]
    assert learned.of({"ami-1"}, "", at(0)) == Sizes(memory=(("m5.large", 6),))


def test_memory_of_nodes_with_other_images_does_not_count() -> None:
    learned = ObservedCapacity()
    for name, image, memory in (("m5.large", "old", 5), ("m5.large", "new", 7), ("c5.large", "old", 3)):
        learned.learn(MemoryObserved(instance_type=name, image_id=image, memory=memory))

    assert learned.of({"new"}, "", at(0)).memory == (("m5.large", 7),)
    assert learned.of({"new", "old"}, "", at(0)).memory == (("c5.large", 3), ("m5.large", 5))
    assert learned.of((), "", at(0)) == Sizes()


def test_a_memory_disproves_those_who_say_something_else_of_its_type() -> None:
    said = LARGE.capacity.get(MEMORY, 0)
    same = MemoryObserved(instance_type="m5.large", image_id="ami-1", memory=said)

    assert not same.disproves((LARGE,))
    assert replace(same, memory=said + 1).disproves((LARGE,))
    assert not replace(same, memory=said + 1, instance_type="c5.large").disproves((LARGE,))


# --- room: who teaches what


def test_a_node_that_comes_into_use_teaches_how_much_room_it_has() -> None:
    coming = view(room={"cpu": 1900, "ephemeral-storage": 17 * GIB})

    observation = allocatable_observation(coming, coming=True)

    assert observation is not None
    assert (observation.instance_type, observation.image_id, observation.sized_by) == (
        "m5.large",
        "ami-1",
        "made",
    )
    assert dict(observation.room) == {"cpu": 1900, "ephemeral-storage": 17 * GIB}


@pytest.mark.parametrize(
    "nothing",
    [
        pytest.param(view(room={"cpu": 1}), id="a node that is not in use"),
        pytest.param(view(shown=IN_USE, image=""), id="a node of which the image is not known"),
        pytest.param(view(shown=IN_USE, sized_by=""), id="a node made from nobody knows what"),
        pytest.param(replace(view(shown=IN_USE), claim=None), id="a node of somebody else"),
        pytest.param(replace(view(shown=IN_USE), node=None), id="a claim whose node is gone"),
    ],
)
def test_nodes_that_nothing_is_certain_of_teach_no_room(nothing: NodeView) -> None:
    assert allocatable_observation(nothing, coming=False) is None


def test_what_plugins_tell_of_counts_where_it_was_waited_for_and_at_that_moment_alone() -> None:
    amounts = {"cpu": 1900, GPU: 3, "other.io/chip": 1}
    asking = view(shown=IN_USE, requests={"cpu": 100, GPU: 4}, room=amounts)

    at_once, later = (
        allocatable_observation(asking, coming=True),
        allocatable_observation(asking, coming=False),
    )

    assert at_once is not None
    assert later is not None
    assert dict(at_once.room) == {"cpu": 1900, GPU: 3}
    assert dict(later.room) == {"cpu": 1900}


def test_what_a_node_has_none_of_may_still_come_to_it() -> None:
    observation = allocatable_observation(view(room={"cpu": 1900, "ephemeral-storage": 0}), coming=True)

    assert observation is not None
    assert dict(observation.room) == {"cpu": 1900}


# --- room: what is made of it


def test_what_one_node_had_is_known_at_once_and_believed_for_an_hour() -> None:
    learned = taught(room(cpu=3))

    assert known(learned) == {"m5.large": {"cpu": 3}}
    assert known(learned, seconds=HOUR - 1) == {"m5.large": {"cpu": 3}}
    assert known(learned, seconds=HOUR) == {}


@pytest.mark.parametrize(("nodes", "until"), [(2, DAY), (3, 60 * DAY), (9, 60 * DAY)])
def test_the_more_nodes_say_so_the_longer_it_is_believed(nodes: int, until: float) -> None:
    learned = taught(*(room(f"n{n}", seconds=n / 10, cpu=3) for n in range(nodes)))

    assert known(learned, seconds=until) == {"m5.large": {"cpu": 3}}
    assert known(learned, seconds=until + 1) == {}


def test_a_node_that_came_up_badly_among_good_ones_is_no_measure() -> None:
    learned = taught(room("n1", cpu=4), room("n2", seconds=1, cpu=4), room("n3", seconds=2, cpu=1))

    assert known(learned) == {"m5.large": {"cpu": 4}}


def test_three_in_a_row_that_have_less_are() -> None:
    learned = taught(room("n0", cpu=4), *(room(f"n{n}", seconds=n, cpu=n) for n in (1, 2, 3)))

    assert known(learned) == {"m5.large": {"cpu": 3}}


def test_nodes_count_by_when_they_came_and_not_by_when_they_were_heard_of() -> None:
    bad = [room(f"n{n}", seconds=10 + n, cpu=3) for n in range(3)]

    assert known(taught(*bad, room("n9", cpu=4)), seconds=20) == {"m5.large": {"cpu": 3}}


def test_room_is_news_where_it_changes_what_is_known() -> None:
    learned = ObservedCapacity()
    told = [
        room("n1", cpu=3),
        room("n1", cpu=3),
        room("n2", seconds=1, cpu=3),
        room("n3", seconds=2, cpu=4),
        room("n4", seconds=3, cpu=3),
        room("n5", seconds=4, image="ami-2", cpu=2),
    ]

    assert [learned.learn(one) for one in told] == [True, False, False, True, False, True]


def test_what_a_node_comes_to_have_later_counts_and_what_it_loses_does_not() -> None:
    learned = taught(room("n1", cpu=3, memory=5))

    assert learned.learn(room("n1", cpu=4, memory=1))
    assert known(learned) == {"m5.large": {"cpu": 4, "memory": 5}}
    assert not learned.learn(room("n1", cpu=1))


def test_another_image_node_class_or_kubelet_knows_nothing_of_it() -> None:
    learned = taught(room(cpu=3))

    assert known(learned, image="ami-2") == {}
    assert learned.of({"ami-1"}, "another", at(1)) == Sizes()


def test_of_too_many_types_those_are_forgotten_that_were_heard_of_the_longest_ago() -> None:
    learned = taught(*(room(of=f"t{n}", cpu=3) for n in range(4096)))
    learned.learn(room("n2", of="t0", cpu=3))

    learned.learn(room(of="new", cpu=3))

    assert len(known(learned)) == 4096
    assert {"t0", "new"} <= known(learned).keys()
    assert "t1" not in known(learned)


# --- room: who is contradicted


def test_room_disproves_those_who_say_that_there_is_more() -> None:
    said = LARGE.allocatable["cpu"]

    assert not room(cpu=said).disproves((LARGE,))
    assert not room(cpu=said + 1).disproves((LARGE,))
    assert room(cpu=said - 1).disproves((LARGE,))
    assert room(cpu=said, chips=0).disproves((LARGE,)) is False
    assert not room(of="c5.large", cpu=said - 1).disproves((LARGE,))


def test_room_disproves_those_who_thought_there_was_less() -> None:
    short = replace(LARGE, overhead=Overhead(missing=Resources({"cpu": 500})))

    assert room(cpu=LARGE.allocatable["cpu"]).disproves((short,))
    assert not room(cpu=short.allocatable["cpu"]).disproves((short,))
