"""Identity maps of packing: values by object, and the one place that may ask for an identity."""

from __future__ import annotations

import ast
from itertools import count
from operator import itemgetter
from pathlib import Path

import numpy as np

from treenail.domain import packing
from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.identity import IdentityMap, Same, distinct, gather, grouping, numbering


def test_equal_objects_have_values_of_their_own() -> None:
    made: IdentityMap[list[int], list[int]] = grouping()
    one, other = [1, 2], [1, 2]
    made[one].append(1)
    made[other].append(2)
    made[one].append(3)
    assert list(made.values()) == [[1, 3], [2]]


def test_a_value_is_made_once() -> None:
    numbers = count()
    made: IdentityMap[Floats, int] = IdentityMap(lambda _: next(numbers))
    row = np.array([1.0, 2.0])
    assert [made[row], made[row]] == [0, 0]
    assert len(made) == next(numbers) == 1


def test_an_object_that_nobody_else_keeps_gives_its_identity_to_no_other() -> None:
    numbers = numbering()
    # Freed at once, arrays would take turns at a few addresses.
    assert len({numbers[np.zeros(3)] for _ in range(1000)}) == 1000


def test_objects_come_back_in_the_order_they_were_first_asked_for() -> None:
    words = [str(n) for n in (3, 1, 2)]
    numbers = numbering()
    for word in (*words, *reversed(words)):
        numbers[word]
    assert list(numbers.items()) == [(words[0], 0), (words[1], 1), (words[2], 2)]
    assert list(numbers) == words


def test_what_is_gathered_keeps_its_order_and_equal_keys_share_a_list() -> None:
    words = [("b", 1), ("a", 2), ("b", 3)]
    into: dict[str, list[tuple[str, int]]] = {}
    gather(words, itemgetter(0), into)
    assert into == {"b": [("b", 1), ("b", 3)], "a": [("a", 2)]}


def test_distinct_objects_are_told_apart_by_identity() -> None:
    one, other = [1], [1]
    assert [id(each) for each in distinct([one, other, one])] == [id(one), id(other)]


def test_a_key_is_the_same_as_another_of_the_very_same_object() -> None:
    types = [1, 2]
    assert Same(types) == Same(types)
    assert hash(Same(types)) == hash(Same(types))
    assert Same(types) != Same([1, 2])


def test_nothing_else_in_packing_calls_id() -> None:
    calling = {
        path.name
        for path in Path(packing.__path__[0]).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id == "id"
    }
    assert calling == {"identity.py"}
