"""What is kept of what was written: all of it, and the defaults of what was not."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.adapters.api.builders import node_class_tree, node_pool_tree, provisioner_tree
from tests.adapters.api.schema.trees import beta_claim, beta_class, beta_pool, claim, machine, template
from tests.real.kubernetes.definitions import GOOD, holds, ok, place
from tests.real.parts.control_plane import ControlPlane
from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.reading import Reading
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.api.written.parts import Tree
from treenail.domain.model.node_pools import NodePool

DISRUPTION: Final = {
    "consolidateAfter": "0s",
    "consolidationPolicy": "WhenEmptyOrUnderutilized",
    "budgets": [{"nodes": "10%"}],
}
WITH_DEFAULTS: Final = {**node_pool_tree({"expireAfter": "720h"})["spec"], "disruption": DISRUPTION}
METADATA: Final = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 1,
    "httpTokens": "required",
}
# What is left out of an object, and what the API server keeps in its place, by path of the field.
DEFAULTS: Final[dict[str, tuple[Tree, Tree]]] = {
    "a pool that says nothing": (node_pool_tree(), {"spec": WITH_DEFAULTS}),
    "a budget that says nothing": (
        node_pool_tree(disruption={"consolidationPolicy": "WhenEmpty", "budgets": [{}, {"nodes": "5"}]}),
        {
            "spec.disruption": {
                "consolidateAfter": "0s",
                "consolidationPolicy": "WhenEmpty",
                "budgets": [{"nodes": "10%"}, {"nodes": "5"}],
            }
        },
    ),
    "no budgets at all": (node_pool_tree(disruption={"budgets": []}), {"spec.disruption.budgets": []}),
    "a claim": (claim(), {"spec.expireAfter": "720h"}),
    "a node class": (node_class_tree(), {"spec.metadataOptions": METADATA}),
    "a part of the metadata options": (
        node_class_tree(metadataOptions={"httpTokens": "optional"}),
        {"spec.metadataOptions": {**METADATA, "httpTokens": "optional"}},
    ),
    "a pool of v1beta1": (
        beta_pool(),
        {
            "spec.disruption": {
                "consolidationPolicy": "WhenUnderutilized",
                "expireAfter": "720h",
                "budgets": [{"nodes": "10%"}],
            }
        },
    ),
    "a node class of v1beta1": (
        beta_class(),
        {"spec.metadataOptions": {**METADATA, "httpPutResponseHopLimit": 2}},
    ),
    "a claim of v1beta1": (beta_claim(), {"spec": beta_claim()["spec"]}),
    "a Provisioner": (provisioner_tree(), {"spec": provisioner_tree()["spec"]}),
    "a node template": (template(), {"spec": template()["spec"]}),
    "a Machine": (machine(), {"spec": {}}),
}


@pytest.mark.parametrize("manifest", GOOD, ids=lambda m: f"{Path(m.file).stem} {m.kind} {m.name}")
def test_a_good_manifest_is_kept_with_nothing_but_defaults_added(
    server: ControlPlane, made: Any, manifest: Any
) -> None:
    tree = msgspec.to_builtins(manifest.content)

    made(tree)
    kept = ok(server.request("GET", place(tree, manifest.name)))

    assert holds(kept["spec"], tree["spec"])
    assert meant({**tree, "spec": kept["spec"]}) == meant(tree)


def meant(tree: Tree) -> tuple[ApiObject, ...]:
    """What an object stands for, less what it is warned about."""
    objects = kind_of(tree["apiVersion"], tree["kind"]).read(tree, Reading()).objects
    return tuple(replace(one, not_acted_on=()) if isinstance(one, NodePool) else one for one in objects)


@pytest.mark.parametrize("case", sorted(DEFAULTS))
def test_what_is_left_out_is_kept_as_documented(server: ControlPlane, case: str) -> None:
    tree, expected = DEFAULTS[case]

    kept = ok(server.request("POST", f"{place(tree)}?dryRun=All", tree))

    assert {path: at(kept, path) for path in expected} == expected


def at(tree: Tree, path: str) -> Any:
    return reduce(getitem, path.split("."), tree)


def test_the_examples_are_among_the_good_manifests() -> None:
    assert sum("examples" in m.file for m in GOOD) >= 11


def test_a_field_that_is_null_is_one_that_is_not_there(made: Any) -> None:
    tree = node_pool_tree(weight=None, limits=None, disruption={"consolidateAfter": None, "budgets": None})

    assert made(tree)["spec"] == WITH_DEFAULTS


def test_a_field_that_nobody_knows_is_dropped_or_refused_as_the_user_wishes(server: ControlPlane) -> None:
    tree = node_pool_tree(wieght=5)

    status, answer = server.request("POST", f"{place(tree)}?dryRun=All&fieldValidation=Strict", tree)
    dropped = ok(server.request("POST", f"{place(tree)}?dryRun=All", tree))

    assert (status, "spec.wieght" in answer["message"]) == (400, True)
    assert dropped["spec"] == WITH_DEFAULTS
