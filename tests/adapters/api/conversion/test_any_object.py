"""Whatever stands in an object, it is converted or refused by its field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.api.conversion.drawn import of_v1, of_v1beta1
from treenail.adapters.api.conversion import KUBELET, NODE_CLASS_REFERENCE, UBUNTU, ConversionError, converted

Tree = dict[str, Any]

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
notes = st.fixed_dictionaries(
    {"at": st.lists(st.sampled_from(["disruption", "budgets", "template", "spec", 0, 1]), max_size=4)},
    optional={"found": anything, "original": anything},
)
objects: st.SearchStrategy[Tree] = of_v1beta1 | of_v1
kept = st.dictionaries(
    st.sampled_from(
        [KUBELET, NODE_CLASS_REFERENCE, UBUNTU, "treenail.sh/v1-fields", "treenail.sh/v1beta1-fields"]
    ),
    st.one_of(anything.map(json.dumps), st.lists(notes, max_size=2).map(json.dumps), st.text(max_size=5)),
)


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all that stands in a tree, itself not."""
    items: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, value in items:
        yield (*path, step)
        yield from places(value, (*path, step))


@st.composite
def broken(draw: st.DrawFn) -> Tree:
    """A valid object with anything in the place of something, and anything in our annotations."""
    tree = deepcopy(draw(objects))
    if draw(st.booleans()):
        tree["metadata"]["annotations"] = draw(kept)
    *way, last = draw(st.sampled_from(list(places(tree))))
    parent = tree
    for step in way:
        parent = parent[step]
    parent[last] = draw(anything)
    return tree


@given(broken(), st.sampled_from(["v1", "v1beta1"]))
def test_any_object_is_converted_or_refused(tree: Tree, to: str) -> None:
    before = deepcopy(tree)
    with suppress(ConversionError):
        converted(converted(tree, to), "v1beta1" if to == "v1" else "v1")

    assert tree == before
