from __future__ import annotations

import io
import json
import sys
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adapters.api.builders import (
    decoded,
    deployment_tree,
    node_class_tree,
    node_pool_tree,
    pod_tree,
    problem_of,
    provisioner_tree,
)
from treenail.adapters.api.manifests import decode_all, parse_manifests, read_manifests
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.resources import Resources

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n-1"}}


def named(tree: dict[str, Any], name: str, **metadata: str) -> dict[str, Any]:
    return {**tree, "metadata": {"name": name, **metadata}}


def dumped(*trees: dict[str, Any]) -> str:
    return yaml.safe_dump_all(trees)


def test_objects_are_sorted_by_kind_and_keep_their_order() -> None:
    set_ = decoded(
        dumped(
            named(pod_tree(), "b"),
            NODE,
            node_pool_tree(),
            named(pod_tree(), "a"),
            node_class_tree(),
            deployment_tree(),
        )
    )

    assert [p.name for p in set_.pods] == ["b", "a"]
    assert [n.name for n in set_.nodes] == ["n-1"]
    assert [type(one).__name__ for one in set_.objects()] == [
        "NodeClass",
        "NodePool",
        "Node",
        "Deployment",
        "Pod",
        "Pod",
    ]


def test_a_set_of_objects_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        decoded(dumped(NODE)).nodes = ()  # type: ignore[misc]


def test_lists_are_taken_apart_however_deep_they_stand() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [NODE]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [named(NODE, "n-0"), inner]}

    for data in (json.dumps(outer), yaml.safe_dump(outer)):
        assert [n.name for n in decoded(data).nodes] == ["n-0", "n-1"]


def test_an_empty_list_is_no_error() -> None:
    assert decoded("{apiVersion: v1, kind: List, items: []}").objects() == ()


def test_files_and_standard_input_are_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(dumped(named(NODE, "n-1"), named(NODE, "n-2")))
    (tmp_path / "b.json").write_text(json.dumps(named(NODE, "n-3")))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(dumped(named(NODE, "n-4")).encode())))

    manifests = read_manifests([tmp_path / "a.yaml", "-", str(tmp_path / "b.json")])

    assert [(m.name, m.number, m.kind) for m in manifests] == [
        ("n-1", 1, "Node"),
        ("n-2", 2, "Node"),
        ("n-4", 1, "Node"),
        ("n-3", 1, "Node"),
    ]
    assert [m.file for m in manifests] == [
        str(tmp_path / "a.yaml"),
        str(tmp_path / "a.yaml"),
        "stdin",
        str(tmp_path / "b.json"),
    ]


@pytest.mark.parametrize(
    ("trees", "expected"),
    [
        (
            (node_class_tree(), node_class_tree()),
            "EC2NodeClass default: metadata.name: another of this name stands in x.yaml already",
        ),
        (
            (pod_tree(), named(pod_tree(), "p", namespace="default")),
            "Pod p: metadata.name: another of this name stands in x.yaml already",
        ),
        (
            (node_class_tree(), node_pool_tree(), provisioner_tree()),
            "Provisioner default: metadata.name: a NodePool of this name stands in x.yaml already",
        ),
        (
            (named(pod_tree(), "p", namespace="a"), named(pod_tree(), "p", namespace="a")),
            "Pod a/p: metadata.name: another of this name stands in x.yaml already",
        ),
    ],
)
def test_no_two_objects_have_one_kind_and_name(trees: tuple[dict[str, Any], ...], expected: str) -> None:
    assert problem_of(*trees) == expected


def test_namespaces_and_kinds_tell_objects_of_one_name_apart() -> None:
    set_ = decoded(
        dumped(
            pod_tree(), named(pod_tree(), "p", namespace="b"), named(deployment_tree(), "p"), named(NODE, "p")
        )
    )

    assert len(set_.pods) == 2


def test_the_node_class_of_a_pool_may_stand_after_it_or_elsewhere_if_that_is_said() -> None:
    assert decoded(dumped(node_pool_tree(), node_class_tree())).node_pools
    assert decoded(dumped(node_pool_tree()), node_classes_optional=True).node_pools


def test_a_node_class_of_another_kind_is_not_the_one() -> None:
    assert problem_of(node_class_tree(), provisioner_tree()) == (
        "Provisioner default: spec.providerRef: there is no AWSNodeTemplate default"
    )


def test_bound_pods_need_their_node() -> None:
    assert decoded(dumped(pod_tree(nodeName="n-1"), NODE)).pods[0].node_name == "n-1"
    assert problem_of(pod_tree(nodeName="n-2"), NODE) == "Pod p: spec.nodeName: there is no Node n-2"


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "Service"),
        ("networking.k8s.io/v1", "Ingress"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ],
)
def test_what_a_chart_has_beside_pods_is_passed_over(version: str, kind: str) -> None:
    beside = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": {"anything": 1}}

    assert [p.name for p in decoded(dumped(beside, named(pod_tree(), "p"), beside)).pods] == ["p"]


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("", "Service"),
        ("/v1", "Service"),
        ("apps/v1", "Service"),
        ("v1", "Servis"),
        ("v1", "ReplicationController"),
    ],
)
def test_what_is_no_such_kind_is_a_mistake_and_what_makes_pods_is_missed(version: str, kind: str) -> None:
    beside = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}

    assert f'kind: "{kind}" is not known' in problem_of(beside)


def test_a_lenient_reading_sets_bad_objects_aside_and_goes_on() -> None:
    set_ = decoded(
        dumped(
            named(pod_tree(), "fine"),
            named(pod_tree(containers=[]), "bad", namespace="prod"),
            named(pod_tree(nodeName="gone"), "lost"),
            node_pool_tree(),
            NODE,
            NODE,
            {"kind": "Unknown"},
        ),
        lenient=True,
    )

    assert [p.name for p in set_.pods] == ["fine"]
    assert len(set_.nodes) == 1
    assert set_.node_pools == ()
    assert [str(e).removeprefix("x.yaml: ")[:60] for e in set_.set_aside] == [
        "Pod prod/bad: spec.containers: needs at least 1 item(s)",
        'Unknown (number 7): kind: "Unknown" is not known; known are ',
        "Node n-1: metadata.name: another of this name stands in x.ya",
        "NodePool default: spec.template.spec.nodeClassRef: there is ",
        "Pod lost: spec.nodeName: there is no Node gone",
    ]
    assert [e.about for e in set_.set_aside][:3] == [
        ObjectRef("Pod", "bad", "prod"),
        None,
        ObjectRef("Node", "n-1"),
    ]


def test_what_does_not_say_when_it_was_created_is_as_old_as_the_reading_says() -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)

    set_ = decode_all(parse_manifests(dumped(NODE, pod_tree()).encode(), "x.yaml"), at=noon)

    assert set_.nodes[0].created_at == set_.pods[0].created_at == noon


def test_yaml_is_read_as_kubernetes_reads_it() -> None:
    text = """
        apiVersion: v1
        kind: Node
        metadata:
          name: n-1
          creationTimestamp: 2026-05-01T12:00:00Z
          labels: {build: 10.0.20348, 1: one}
          annotations: {day: 2026-05-01, ports: 80:80}
        spec: {unschedulable: yes}
        status: {capacity: {cpu: 0.5, memory: 1_024}}
        """

    (node,) = decoded(text).nodes

    assert node.labels == {"build": "10.0.20348", "1": "one"}
    assert node.annotations == {"day": "2026-05-01", "ports": "80:80"}
    assert node.created_at == datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert node.unschedulable
    assert node.capacity == Resources({"cpu": 500, "memory": 1024})


def test_a_merged_mapping_gives_way_to_what_stands_beside_it() -> None:
    text = """
        kind: Node
        apiVersion: v1
        metadata: {name: n-1, labels: &labels {a: "1", b: "1"}, annotations: {<<: *labels, b: "2"}}
        """

    assert decoded(text).nodes[0].annotations == {"a": "1", "b": "2"}


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    manifests = parse_manifests(b"\xef\xbb\xbf" + dumped(NODE).encode(), "x.yaml")

    assert manifests[0].name == "n-1"
