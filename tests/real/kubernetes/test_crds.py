from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import urllib3
from hypothesis import given, settings

from tests.adapters.api.builders import node_pool_tree, provisioner_tree
from tests.adapters.api.schema.refused_classes import REFUSED_CLASSES
from tests.adapters.api.schema.refused_pools import REFUSED_POOLS
from tests.adapters.api.schema.trees import KWOK, PROVIDER, asking, claim
from tests.adapters.api.strategies import claims
from tests.real.parts.control_plane import ControlPlane
from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.manifests import read_manifests, to_manifest
from treenail.adapters.api.reading import Reading
from treenail.adapters.api.schema.catalogue import DEFINITIONS
from treenail.adapters.api.schema.constraints import paths
from treenail.adapters.api.written.parts import Tree
from treenail.domain import labels
from treenail.domain.nodes import NodeClaim

ROOT: Final = Path(__file__).parents[3]
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLURALS: Final = {(f"{d.group}/{v.name}", d.kind): d.plural for d in DEFINITIONS for v in d.versions}
GOOD: Final = [
    m
    for m in read_manifests(
        [*sorted(ROOT.glob("examples/*.yaml")), ROOT / "tests/adapters/api/schema/everything.yaml"]
    )
    if (m.api_version, m.kind) in PLURALS
]
REFUSED: Final = REFUSED_POOLS | REFUSED_CLASSES
MERGE: Final = "application/merge-patch+json"
CONDITION: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "AllWell",
    "message": "",
    "lastTransitionTime": "2026-05-01T12:00:00Z",
}


def place(tree: Tree, name: str = "", subresource: str = "") -> str:
    """The path of all of a manifest's kind, or of one of them, or of its subresource."""
    plural = PLURALS[tree["apiVersion"], tree["kind"]]
    return "/".join(filter(None, ("/apis", tree["apiVersion"], plural, name, subresource)))


@pytest.fixture(scope="module")
def server(api_server: ControlPlane) -> Iterator[ControlPlane]:
    """An API server that has been given our definitions."""
    files = read_manifests(sorted((ROOT / "deploy/crds").glob("*.yaml")))
    for file in files:
        status, answer = api_server.request("POST", CRDS, msgspec.to_builtins(file.content))
        assert status == 201, answer
    for version, kind in PLURALS:
        await_status(api_server, place({"apiVersion": version, "kind": kind}), 200)
    yield api_server
    for file in files:
        api_server.request("DELETE", f"{CRDS}/{file.name}")
        await_status(api_server, f"{CRDS}/{file.name}", 404)


def await_status(server: ControlPlane, path: str, status: int) -> None:
    deadline = time.monotonic() + 20
    while server.request("GET", path)[0] != status:
        assert time.monotonic() < deadline, path
        time.sleep(0.02)


@pytest.fixture
def made(server: ControlPlane) -> Iterator[Any]:
    """Creates objects, which must be accepted; they are gone again after the test."""
    paths: list[str] = []

    def make(tree: Tree) -> Tree:
        paths.append(place(tree, tree["metadata"]["name"]))
        return ok(server.request("POST", f"{place(tree)}?fieldValidation=Strict", tree))

    yield make
    for path in paths:
        ok(server.request("DELETE", path))


def ok(answer: tuple[int, Any]) -> Tree:
    status, body = answer
    assert status in (200, 201), body
    return dict(body)


def refusal(server: ControlPlane, method: str, path: str, tree: Tree, kind: str = "application/json") -> Tree:
    """The fields that the API server names, each with what it says, where it refuses."""
    status, answer = server.request(method, path, tree, kind)
    assert status == 422, answer
    return {cause["field"]: cause["message"] for cause in answer["details"]["causes"]}


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_every_definition_is_taken_without_complaint(server: ControlPlane, definition: Any) -> None:
    status = ok(server.request("GET", f"{CRDS}/{definition.name}"))["status"]

    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert status["storedVersions"] == [definition.versions[-1].name]


@pytest.mark.parametrize("manifest", GOOD, ids=lambda m: f"{Path(m.file).stem} {m.kind} {m.name}")
def test_a_good_manifest_is_kept_as_it_is(server: ControlPlane, made: Any, manifest: Any) -> None:
    tree = msgspec.to_builtins(manifest.content)

    made(tree)
    kept = ok(server.request("GET", place(tree, manifest.name)))

    assert kept["spec"] == tree["spec"]
    kind = kind_of(manifest.api_version, manifest.kind)
    assert len(kind.read(kept, Reading()).objects) == len(kind.read(tree, Reading()).objects)


def test_the_examples_are_among_the_good_manifests() -> None:
    assert sum("examples" in m.file for m in GOOD) >= 11


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_bad_object_is_refused_with_the_field_that_is_wrong(server: ControlPlane, case: str) -> None:
    tree, field = REFUSED[case]

    assert field in refusal(server, "POST", f"{place(tree)}?dryRun=All", tree)


def test_a_refusal_says_what_is_wrong(server: ControlPlane) -> None:
    tree = node_pool_tree(asking("karpenter.sh/capacity-type", "In", "on-sale"))

    said = refusal(server, "POST", place(tree), tree)

    assert said["spec.template.spec.requirements[0].values"].endswith(
        "one of them must be one of on-demand, reserved, spot"
    )


def test_a_field_that_is_null_is_one_that_is_not_there(made: Any) -> None:
    tree = node_pool_tree(weight=None, limits=None, disruption={"consolidateAfter": None, "budgets": None})

    assert made(tree)["spec"] == {**node_pool_tree()["spec"], "disruption": {}}


def test_a_field_that_nobody_knows_is_dropped_or_refused_as_the_user_wishes(server: ControlPlane) -> None:
    tree = node_pool_tree(wieght=5)

    status, answer = server.request("POST", f"{place(tree)}?dryRun=All&fieldValidation=Strict", tree)
    dropped = ok(server.request("POST", f"{place(tree)}?dryRun=All", tree))

    assert (status, "spec.wieght" in answer["message"]) == (400, True)
    assert dropped["spec"] == node_pool_tree()["spec"]


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
    assert (written["status"], written["spec"]) == (status, tree["spec"])
    assert written["metadata"]["generation"] == first["metadata"]["generation"]


def test_there_is_one_condition_of_a_type(server: ControlPlane, made: Any) -> None:
    tree = node_pool_tree()
    made(tree)

    said = refusal(
        server, "PATCH", place(tree, "default", "status"), {"status": {"conditions": [CONDITION] * 2}}, MERGE
    )

    assert said.keys() == {"status.conditions[1]"}


def test_kubectl_shows_a_pool_as_it_shows_karpenters(server: ControlPlane, made: Any) -> None:
    made(node_pool_tree(weight=7))
    status = {"nodes": 2, "resources": {"cpu": "16", "memory": "32Gi"}, "conditions": [CONDITION]}
    path = place(node_pool_tree(), "default")
    ok(server.request("PATCH", f"{path}/status", {"status": status}, MERGE))

    shown = table(server, path)

    assert shown.pop("Age")
    assert shown == {
        "Name": "default",
        "NodeClass": "default",
        "Nodes": "2",
        "Ready": "True",
        "Weight": 7,
        "CPU": "16",
        "Memory": "32Gi",
    }


def test_kubectl_shows_a_claim_as_it_shows_karpenters(server: ControlPlane, made: Any) -> None:
    tree = claim()
    own = {labels.INSTANCE_TYPE: "m5.large", labels.ZONE: "us-west-2a", labels.NODEPOOL: "general"}
    made({**tree, "metadata": {"name": "c", "labels": {**own, labels.CAPACITY_TYPE: "spot"}}})
    status = {"nodeName": "n", "providerID": "aws:///us-west-2a/i-1", "imageID": "ami-1"}
    path = place(tree, "c")
    ok(server.request("PATCH", f"{path}/status", {"status": status}, MERGE))

    shown = table(server, path)

    assert shown.pop("Age")
    assert shown == {
        "Name": "c",
        "Type": "m5.large",
        "Capacity": "spot",
        "Zone": "us-west-2a",
        "Node": "n",
        "Ready": None,
        "ImageID": "ami-1",
        "ID": "aws:///us-west-2a/i-1",
        "NodePool": "general",
        "NodeClass": "default",
        "Drifted": None,
    }


def table(server: ControlPlane, path: str) -> Tree:
    """What kubectl would print of the one object at `path`, by column."""
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    headers = accept | {"Authorization": f"Bearer {server.token}"}
    with urllib3.PoolManager(ca_certs=str(server.certificate)) as pool:
        answer = json.loads(pool.request("GET", server.url + path, headers=headers).data)
    columns = [column["name"] for column in answer["columnDefinitions"]]
    return dict(zip(columns, answer["rows"][0]["cells"], strict=True))


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
    assert read == replace(
        claim, uid=read.uid, resource_version=read.resource_version, created_at=read.created_at
    )


def with_version(server: ControlPlane, path: str, tree: Tree) -> Tree:
    version = ok(server.request("GET", path))["metadata"]["resourceVersion"]
    return {**tree, "metadata": {**tree["metadata"], "resourceVersion": version}}


def test_every_rule_is_broken_by_some_object_of_the_tables(server: ControlPlane) -> None:
    said = [
        message
        for tree, _ in REFUSED.values()
        for message in refusal(server, "POST", f"{place(tree)}?dryRun=All", tree).values()
    ]
    rules = {
        rule["message"]
        for definition in DEFINITIONS
        for _, schema in paths(definition.versions[-1].schema())
        for rule in schema.get("x-kubernetes-validations", ())
        if "oldSelf" not in rule["rule"]
    }

    assert sorted(rule for rule in rules if not any(message.endswith(rule) for message in said)) == []
