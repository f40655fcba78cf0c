"""What a user sees who talks to the API server by kubectl."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import msgspec
import pytest

from tests.adapters.api.builders import node_class_tree, node_pool_tree, provisioner_tree
from tests.adapters.api.schema.trees import Tree, beta_claim, beta_class, beta_pool, claim, machine, template
from tests.real.kubernetes.definitions import GOOD, PLURALS, ROOT, holds, ok, place
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.kubectl import Kubectl
from tests.real.parts.objects import MERGE
from treenail.adapters.api.manifests import read_manifests
from treenail.domain.model import labels

WALKTHROUGHS: Final = sorted(ROOT.glob("examples/*.yaml"))
READY: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "Ready",
    "lastTransitionTime": "2026-05-01T12:00:00Z",
}
LABELS: Final = {labels.INSTANCE_TYPE: "m5.large", labels.ZONE: "us-west-2a", labels.CAPACITY_TYPE: "spot"}
LAUNCHED: Final = {"nodeName": "n", "providerID": "aws:///us-west-2a/i-1", "conditions": [READY]}
USED: Final = {"resources": {"cpu": "16", "memory": "32Gi"}, "conditions": [READY]}


def labelled(tree: Tree, **own: str) -> Tree:
    return {**tree, "metadata": {"name": "default", "labels": {**LABELS, **own}}}


# An object, its status, and what `kubectl get` and `kubectl get -o wide` show of it.
COLUMNS: Final[dict[str, tuple[Tree, Tree, dict[str, str], dict[str, str]]]] = {
    "a NodePool": (
        node_pool_tree(weight=7),
        {"nodes": 2, **USED},
        {"NODECLASS": "default", "NODES": "2", "READY": "True"},
        {"WEIGHT": "7", "CPU": "16", "MEMORY": "32Gi"},
    ),
    "a NodeClaim": (
        labelled(claim(), **{labels.NODEPOOL: "general"}),
        {**LAUNCHED, "imageID": "ami-1"},
        {"TYPE": "m5.large", "CAPACITY": "spot", "ZONE": "us-west-2a", "NODE": "n", "READY": "True"},
        {
            "IMAGEID": "ami-1",
            "ID": "aws:///us-west-2a/i-1",
            "NODEPOOL": "general",
            "NODECLASS": "default",
            "DRIFTED": "",
        },
    ),
    "an EC2NodeClass": (node_class_tree(), {"conditions": [READY]}, {"READY": "True"}, {"ROLE": "node"}),
    "a NodePool of v1beta1": (
        beta_pool(weight=7),
        USED,
        {"NODECLASS": "default", "READY": "True"},
        {"WEIGHT": "7"},
    ),
    "a NodeClaim of v1beta1": (
        labelled(beta_claim(), **{labels.NODEPOOL: "general"}),
        LAUNCHED,
        {"TYPE": "m5.large", "ZONE": "us-west-2a", "NODE": "n", "READY": "True"},
        {"CAPACITY": "spot", "NODEPOOL": "general", "NODECLASS": "default"},
    ),
    "an EC2NodeClass of v1beta1": (
        beta_class(),
        {"conditions": [READY]},
        {"READY": "True"},
        {"ROLE": "node"},
    ),
    "a Provisioner": (provisioner_tree(weight=7), USED, {"TEMPLATE": "default"}, {"WEIGHT": "7"}),
    "a Machine": (
        labelled(machine(machineTemplateRef={"name": "default"}), **{labels.PROVISIONER: "general"}),
        LAUNCHED,
        {"TYPE": "m5.large", "ZONE": "us-west-2a", "NODE": "n", "READY": "True"},
        {"CAPACITY": "spot", "PROVISIONER": "general", "TEMPLATE": "default"},
    ),
    "an AWSNodeTemplate": (template(), {"conditions": [READY]}, {}, {}),
}


@pytest.fixture(scope="module")
def kubectl(server: ControlPlane) -> Kubectl:
    return Kubectl(server.kubeconfig)


@pytest.fixture
def applied(kubectl: Kubectl) -> Iterator[Any]:
    """Applies a file, which must be accepted; what it made is gone again after the test."""
    files: list[str] = []

    def apply(file: str) -> list[Tree]:
        files.append(file)
        said = kubectl("apply", "-f", file)
        assert all(line.endswith(" created") for line in said.splitlines()), said
        kept = json.loads(kubectl("get", "-f", file, "-o", "json"))
        return list(kept.get("items", [kept]))

    yield apply
    for file in files:
        kubectl("delete", "-f", file, "--wait=false")


@pytest.mark.parametrize("file", WALKTHROUGHS, ids=lambda f: f.stem)
def test_a_walkthrough_is_applied_as_it_is_and_kept(applied: Any, file: Any) -> None:
    written = [msgspec.to_builtins(m.content) for m in read_manifests([file])]

    kept = applied(str(file))

    assert [(k["kind"], k["metadata"]["name"]) for k in kept] == [
        (w["kind"], w["metadata"]["name"]) for w in written
    ]
    # The API server writes the amounts of Deployments its own way.
    assert [
        w["kind"]
        for k, w in zip(kept, written, strict=True)
        if (w["apiVersion"], w["kind"]) in PLURALS and not holds(k["spec"], w["spec"])
    ] == []


@pytest.mark.parametrize("case", sorted(COLUMNS))
def test_an_object_has_the_columns_that_karpenters_have(
    server: ControlPlane, made: Any, kubectl: Kubectl, case: str
) -> None:
    tree, status, narrow, wide = COLUMNS[case]
    made(tree)
    ok(server.request("PATCH", place(tree, "default", "status"), {"status": status}, MERGE))
    group, _, version = tree["apiVersion"].partition("/")
    resource = f"{PLURALS[tree['apiVersion'], tree['kind']]}.{version}.{group}"
    plain = shown(kubectl("get", resource, "default"))
    more = shown(kubectl("get", resource, "default", "-o", "wide"))

    aged = {} if "AGE" not in plain else {"AGE": plain["AGE"]}
    assert plain == {"NAME": "default", **narrow, **aged}
    assert {k: v for k, v in more.items() if k != "AGE"} == {"NAME": "default", **narrow, **wide}


def shown(text: str) -> Mapping[str, str]:
    """The cells of the one line below a header, by its words."""
    header, line = text.splitlines()
    starts = [m.start() for m in re.finditer(r"\S+", header)]
    return {
        header[a:b].strip(): line[a:b].strip() for a, b in pairwise([*starts, max(len(header), len(line))])
    }


def test_all_kinds_go_by_one_category(made: Any, kubectl: Kubectl) -> None:
    first = {(m.api_version, m.kind): m for m in reversed(GOOD)}
    for number, manifest in enumerate(first.values()):
        tree = msgspec.to_builtins(manifest.content)
        # Versions of one kind share their names.
        tree["metadata"]["name"] = f"n{number}"
        made(tree)

    names = kubectl("get", "karpenter", "-o", "name").split()
    # The kind that other autoscalers share goes by the category that it has there.
    shared = kubectl("get", "autoscaling", "-o", "name").split()

    assert {name.partition("/")[0] for name in shared} == {"capacitybuffer.autoscaling.x-k8s.io"}
    assert {name.partition("/")[0] for name in (*names, *shared)} == {
        f"{kind.lower()}.{version.partition('/')[0]}" for version, kind in PLURALS
    }


def test_node_classes_go_by_short_names(made: Any, kubectl: Kubectl) -> None:
    made(node_class_tree())

    assert {kubectl("get", name, "-o", "name") for name in ("ec2nc", "ec2ncs")} == {
        "ec2nodeclass.karpenter.k8s.aws/default\n"
    }
