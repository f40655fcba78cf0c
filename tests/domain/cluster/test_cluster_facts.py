from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import pytest

from treenail.domain.cluster.cluster_facts import ClusterObject, says_the_same

REVISION = "resource_version"


def filled(of: type[ClusterObject], **other: object) -> Any:
    """An object of which each field holds its own name, but for some."""
    made = object.__new__(of)
    for one in fields(of):
        object.__setattr__(made, one.name, other.get(one.name, one.name))
    return made


@pytest.mark.parametrize("of", get_args(ClusterObject))
def test_an_object_says_the_same_unless_a_field_that_counts_has_changed(of: type[ClusterObject]) -> None:
    count = {one.name: says_the_same(filled(of, **{one.name: 0}), filled(of)) for one in fields(of)}

    assert count == {one.name: one.name == REVISION or not one.compare for one in fields(of)}
    assert REVISION in count


def test_an_object_says_something_else_than_one_of_another_kind_or_none() -> None:
    first, second = (filled(of) for of in get_args(ClusterObject)[:2])

    assert not says_the_same(first, second)
    assert not says_the_same(first, None)
