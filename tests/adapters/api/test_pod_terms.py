from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.api.builders import deployment_tree, pod_tree, problem_of, read
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.api.workloads import Deployment
from treenail.adapters.api.written.pods import pod_manifest
from treenail.domain.model import labels
from treenail.domain.model.pods import Expression, LabelSelector, Pod, PodSpec
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import Resources

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = LabelSelector(match_labels=(("app", "web"),))
SELECTS_WEB = {"matchLabels": {"app": "web"}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def selecting(*terms: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    tree = pod_tree(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}})
    tree["metadata"] |= metadata
    return tree


def test_a_node_may_be_selected_by_its_name() -> None:
    name = {"matchFields": [expression("metadata.name", "In", "n-1")]}
    both = name | {"matchExpressions": [expression("a", "Exists")]}

    pod = read(selecting(name, both), Pod)

    assert pod.spec.node_affinity.required == (
        (Expression(labels.NODE_NAME, Operator.IN, ("n-1",)),),
        (Expression("a", Operator.EXISTS), Expression(labels.NODE_NAME, Operator.IN, ("n-1",))),
    )
    assert read(pod_manifest(pod), Pod).spec == pod.spec


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        (
            expression("spec.providerID", "In", "x"),
            '.key: "spec.providerID" is no field of nodes but metadata.name',
        ),
        (expression("metadata.name", "In", "a", "b"), ": needs In or NotIn, and exactly one value"),
        (expression("metadata.name", "Exists"), ": needs In or NotIn, and exactly one value"),
    ],
)
def test_nothing_else_of_a_node_may_be_selected_by(field: dict[str, Any], problem: str) -> None:
    assert problem_of(selecting({"matchFields": [field]})).endswith(
        f"nodeSelectorTerms[0].matchFields[0]{problem}"
    )


def test_that_the_pod_of_a_daemon_set_is_pinned_to_its_node_is_left_out() -> None:
    owner = {"kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    name = {"matchFields": [expression("metadata.name", "In", "n-1")]}

    pod = read(selecting(name, ownerReferences=[owner]), Pod)

    assert pod.spec == PodSpec(requests=Resources({"pods": 1}))
    assert pod.daemon


def near(keys: dict[str, Any], **own: str) -> LabelSelector | None:
    """What a pod with the labels `own` selects to be near to by those keys."""
    term = {"topologyKey": "zone", "labelSelector": SELECTS_WEB, **keys}
    tree = pod_tree(affinity={"podAffinity": {REQUIRED: [term]}})
    tree["metadata"]["labels"] = own
    (read_term,) = read(tree, Pod).spec.pod_affinity
    assert (read_term.match_label_keys, read_term.mismatch_label_keys) == ((), ())
    return read_term.selector


def test_label_keys_of_affinity_select_by_the_pods_own_labels() -> None:
    keys = {"matchLabelKeys": ["release", "gone"], "mismatchLabelKeys": ["tenant"]}

    assert near(keys, release="v1", tenant="a") == replace(
        WEB,
        expressions=(
            Expression("release", Operator.IN, ("v1",)),
            Expression("tenant", Operator.NOT_IN, ("a",)),
        ),
    )


def test_label_keys_that_the_api_server_has_written_out_add_nothing() -> None:
    written = {**SELECTS_WEB, "matchExpressions": [expression("release", "In", "v1")]}

    assert near({"matchLabelKeys": ["release"], "labelSelector": written}, release="v1") == replace(
        WEB, expressions=(Expression("release", Operator.IN, ("v1",)),)
    )


def test_label_keys_of_a_template_are_left_to_the_labels_of_its_pods() -> None:
    term = {"topologyKey": "zone", "labelSelector": SELECTS_WEB, "matchLabelKeys": ["release"]}
    pod_spec = pod_tree(affinity={"podAffinity": {REQUIRED: [term]}})["spec"]
    tree = deployment_tree()
    tree["spec"]["template"]["spec"] = pod_spec

    spec = read(tree, Deployment).template.spec

    assert spec.pod_affinity[0].match_label_keys == ("release",)
    assert spec.of_pod({"release": "v1"}).pod_affinity[0].selector == replace(
        WEB, expressions=(Expression("release", Operator.IN, ("v1",)),)
    )


def test_label_keys_need_a_selector() -> None:
    term = {"topologyKey": "zone", "mismatchLabelKeys": ["release"]}

    assert problem_of(pod_tree(affinity={"podAffinity": {REQUIRED: [term]}})).endswith(
        "mismatchLabelKeys: needs a labelSelector"
    )


def test_pods_whose_labels_fill_in_the_same_share_one_spec() -> None:
    term = {"topologyKey": "zone", "labelSelector": SELECTS_WEB, "matchLabelKeys": ["release"]}
    tree = pod_tree(affinity={"podAffinity": {REQUIRED: [term]}})
    trees = []
    for n, release in enumerate(("v1", "v1", "v2")):
        trees.append(tree | {"metadata": {"name": f"p{n}", "labels": {"release": release, "n": str(n)}}})

    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": trees}).encode()
    first, second, third = decode_all(parse_manifests(data, "x.json")).pods

    assert first.spec is second.spec
    assert first.spec is not third.spec
