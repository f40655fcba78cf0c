from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import claim, conditions, instance_type, node
from treenail.domain import labels
from treenail.domain.learned_memory import LearnedMemory, MemoryLearned, lesson_of
from treenail.domain.nodes import REGISTERED, NodeView
from treenail.domain.resources import MEMORY, Resources

GIB = 2**30
LARGE = instance_type("m5.large", 2, price=0.1)


def view(memory: int = 7 * GIB, *, registered: bool = True, image: str = "ami-1") -> NodeView:
    known = replace(
        claim("c1"),
        labels={labels.INSTANCE_TYPE: "m5.large"},
        image_id=image,
        conditions=conditions(REGISTERED) if registered else (),
    )
    return NodeView(claim=known, node=replace(node("n1"), capacity=Resources({MEMORY: memory})))


def test_a_registered_node_teaches_what_it_has() -> None:
    assert lesson_of(view()) == MemoryLearned(instance_type="m5.large", image_id="ami-1", memory=7 * GIB)


@pytest.mark.parametrize(
    "nothing",
    [
        pytest.param(view(registered=False), id="a node that is not registered"),
        pytest.param(view(image=""), id="a node of which the image is not known"),
        pytest.param(view(0), id="a node that says nothing of its memory"),
        pytest.param(replace(view(), node=None), id="a claim without a node"),
        pytest.param(replace(view(), claim=None), id="a node of somebody else"),
    ],
)
def test_what_is_not_certain_teaches_nothing(nothing: NodeView) -> None:
    assert lesson_of(nothing) is None


def test_the_least_that_was_seen_is_kept_and_only_less_is_news() -> None:
    learned = LearnedMemory()

    news = [learned.learn("m5.large", "ami-1", memory) for memory in (7, 7, 8, 6, 7)]

    assert news == [True, False, False, True, False]
    assert learned.of({"ami-1"}) == {"m5.large": 6}


def test_what_nodes_with_other_images_have_does_not_count() -> None:
    learned = LearnedMemory()
    for name, image, memory in (("m5.large", "old", 5), ("m5.large", "new", 7), ("c5.large", "old", 3)):
        learned.learn(name, image, memory)

    assert learned.of({"new"}) == {"m5.large": 7}
    assert learned.of({"new", "old"}) == {"c5.large": 3, "m5.large": 5}
    assert learned.of(()) == {}


def test_a_lesson_disproves_those_who_say_something_else_of_its_type() -> None:
    said = LARGE.capacity.get(MEMORY, 0)
    same = MemoryLearned(instance_type="m5.large", image_id="ami-1", memory=said)

    assert not same.disproves((LARGE,))
    assert replace(same, memory=said + 1).disproves((LARGE,))
    assert not replace(same, memory=said + 1, instance_type="c5.large").disproves((LARGE,))
