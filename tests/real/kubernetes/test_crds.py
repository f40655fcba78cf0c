from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings

from tests.adapters.api.builders import node_pool_tree, provisioner_tree
from tests.adapters.api.schema.trees import KWOK, PROVIDER, claim
from tests.adapters.api.strategies import claims
from tests.real.kubernetes.definitions import CRDS, GOOD, PLURALS, ok, place, refusal
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.manifests import to_manifest
from treenail.adapters.api.reading import Reading
from treenail.adapters.api.schema.catalogue import DEFINITIONS
from treenail.adapters.api.written.parts import Tree
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import NodeClaim

CONDITION: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "AllWell",
    "message": "",
    "lastTransitionTime": "2026-05-01T12:00:00Z",
}


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_every_definition_is_taken_without_complaint(server: ControlPlane, definition: Any) -> None:
    status = ok(server.request("GET", f"{CRDS}/{definition.name}"))["status"]

    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert status["storedVersions"] == [definition.versions[-1].name]


def test_a_provider_keeps_what_nobody_knows_for_reading_to_refuse(made: Any) -> None:
    spec = {"provider": {**PROVIDER, "instanceProfil": "x"}}

    assert made({**provisioner_tree(), "spec": spec})["spec"] == spec


def test_a_pool_may_not_change_the_kind_of_its_node_class(server: ControlPlane, made: Any) -> None:
    made(node_pool_tree())
    path = place(node_pool_tree(), "default")
    other = {"spec": {"template": {"spec": {"nodeClassRef": KWOK}}}}
    another = {"spec": {"template": {"spec": {"nodeClassRef": {"name": "another"}}}}}

    said = refusal(server, "PATCH", path, other, MERGE)

    ref = "spec.template.spec.nodeClassRef"
    assert said.keys() == {f"{ref}.group", f"{ref}.kind"}
    assert said[f"{ref}.kind"].endswith("must not be changed")
    ok(server.request("PATCH", path, another, MERGE))


def test_a_pool_stays_static_or_dynamic(server: ControlPlane, made: Any) -> None:
    made(node_pool_tree())
    path = place(node_pool_tree(), "default")

    assert "spec.replicas" in refusal(server, "PATCH", path, {"spec": {"replicas": 1}}, MERGE)


def test_a_static_pool_can_be_scaled(server: ControlPlane, made: Any) -> None:
    made(node_pool_tree(replicas=1))
    path = place(node_pool_tree(), "default")

    ok(server.request("PATCH", f"{path}/scale", {"spec": {"replicas": 3}}, MERGE))

    assert ok(server.request("GET", path))["spec"]["replicas"] == 3


def test_what_is_wanted_of_a_claim_never_changes(server: ControlPlane, made: Any) -> None:
    made(claim(expireAfter="1h"))
    path = place(claim(), "default")

    said = refusal(server, "PATCH", path, {"spec": {"expireAfter": "2h"}}, MERGE)

    assert said.keys() == {"spec"}
    ok(server.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE))


@pytest.mark.parametrize("version", sorted(PLURALS))
def test_a_status_is_written_apart(server: ControlPlane, made: Any, version: tuple[str, str]) -> None:
    manifest = next(m for m in GOOD if (m.api_version, m.kind) == version)
    tree = msgspec.to_builtins(manifest.content)
    old = "alpha" in tree["apiVersion"] and "kwok" not in tree["apiVersion"]
    status = {"conditions": [CONDITION if old else {**CONDITION, "observedGeneration": 1}]}

    first = made({**tree, "status": status})
    path = place(tree, manifest.name, "status")
    written = ok(server.request("PATCH", path, {"spec": None, "status": status}, MERGE))

    assert "status" not in first
    assert (written["status"], written["spec"]) == (status, first["spec"])
    assert written["metadata"]["generation"] == first["metadata"]["generation"]


def test_there_is_one_condition_of_a_type(server: ControlPlane, made: Any) -> None:
    tree = node_pool_tree()
    made(tree)

    said = refusal(
        server, "PATCH", place(tree, "default", "status"), {"status": {"conditions": [CONDITION] * 2}}, MERGE
    )

    assert said.keys() == {"status.conditions[1]"}


@given(claim=claims())
@settings(max_examples=40)
def test_a_claim_of_ours_is_kept_with_nothing_lost(server: ControlPlane, claim: NodeClaim) -> None:
    # What the API server itself gives, and owners and finalizers for which it would wait.
    claim = replace(claim, uid="", resource_version=0, owners=(), finalizers=(), deleting_since=None)
    tree = to_manifest(claim)
    path = place(tree, claim.name)

    ok(server.request("POST", f"{place(tree)}?fieldValidation=Strict", tree))
    try:
        ok(server.request("PUT", f"{path}/status?fieldValidation=Strict", with_version(server, path, tree)))
        kept = ok(server.request("GET", path))
    finally:
        ok(server.request("DELETE", path))

    (read,) = kind_of(tree["apiVersion"], tree["kind"]).read(kept, Reading()).objects
    assert isinstance(read, NodeClaim)
    # Of a claim that does not say how long it lives the API server does.
    life = timedelta(hours=720) if claim.generation is Generation.V1 else None
    assert read == replace(
        claim,
        uid=read.uid,
        resource_version=read.resource_version,
        created_at=read.created_at,
        expire_after=claim.expire_after or life,
    )


def with_version(server: ControlPlane, path: str, tree: Tree) -> Tree:
    version = ok(server.request("GET", path))["metadata"]["resourceVersion"]
    return {**tree, "metadata": {**tree["metadata"], "resourceVersion": version}}
