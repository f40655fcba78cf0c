from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

from hypothesis import given

from tests.adapters.api.conversion.drawn import of_v1, of_v1beta1
from treenail.adapters.api.conversion import converted
from treenail.adapters.api.manifests import decode, parse_manifests
from treenail.adapters.api.workloads import ApiObject
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim


def meant(tree: dict[str, Any]) -> list[ApiObject]:
    """What an object stands for, less what its own version calls its fields, and less its annotations."""
    (manifest,) = parse_manifests(json.dumps(tree).encode(), "x")
    return [_less_words(one) for one in decode(manifest)]


def _less_words(one: ApiObject) -> ApiObject:
    if isinstance(one, NodePool):
        return replace(one, not_acted_on=())
    return replace(one, annotations={}) if isinstance(one, NodeClaim) else one


@given(of_v1beta1)
def test_nothing_is_lost_from_v1beta1_to_v1_and_back(tree: dict[str, Any]) -> None:
    assert converted(converted(tree, "v1"), "v1beta1") == tree


@given(of_v1)
def test_nothing_is_lost_from_v1_to_v1beta1_and_back(tree: dict[str, Any]) -> None:
    assert converted(converted(tree, "v1beta1"), "v1") == tree


@given(of_v1beta1)
def test_an_object_of_v1beta1_means_what_the_one_of_v1_means(tree: dict[str, Any]) -> None:
    assert meant(converted(tree, "v1")) == meant(tree)


@given(of_v1beta1 | of_v1)
def test_what_is_converted_is_as_it_was_and_its_metadata_and_status_stay(tree: dict[str, Any]) -> None:
    before = deepcopy(tree)
    for to in ("v1", "v1beta1"):
        made = converted(tree, to)
        assert tree == before
        assert made["apiVersion"].endswith(f"/{to}")
        assert made.get("status") == tree.get("status")
        for key in ("name", "labels", "uid", "finalizers"):
            assert made["metadata"].get(key) == tree["metadata"].get(key)
        own = tree["metadata"].get("annotations", {})
        assert own.items() <= made["metadata"].get("annotations", {}).items()


@given(of_v1)
def test_an_object_of_v1_means_what_the_one_of_v1beta1_means_with_what_it_keeps(
    tree: dict[str, Any],
) -> None:
    assert meant(converted(tree, "v1beta1")) == meant(tree)
