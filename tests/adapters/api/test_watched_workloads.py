"""ReplicaSets, Jobs and StatefulSets of a watch: how many pods they want, and what holds them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from treenail.adapters.api.items import Items
from treenail.adapters.api.reading import Reading
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.workloads import Workload

KINDS = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1"}


def read(kind: str, spec: dict[str, Any], status: dict[str, Any] | None = None, **meta: Any) -> Any:
    metadata = {"name": "w", "namespace": "shop", "uid": "u", "resourceVersion": "7", **meta}
    tree = {"kind": kind, "apiVersion": KINDS[kind], "metadata": metadata, "spec": spec, "status": status}
    return Items(KINDS[kind], kind, Kind(kind), Reading()).read(json.dumps(tree).encode())


def workload(kind: str, spec: dict[str, Any], status: dict[str, Any] | None = None, **meta: Any) -> Workload:
    [found] = read(kind, spec, status, **meta).objects
    assert isinstance(found, Workload)
    return found


def test_a_replica_set_wants_its_replicas_for_whoever_made_it() -> None:
    owner = {"kind": "Deployment", "name": "web", "uid": "d", "controller": True, "apiVersion": "apps/v1"}
    assert workload("ReplicaSet", {"replicas": 5}, ownerReferences=[owner]) == Workload(
        uid="u",
        kind="ReplicaSet",
        name="w",
        namespace="shop",
        resource_version=7,
        wanted=5,
        part_of="Deployment/web",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_says_no_number_wants_one_pod(kind: str) -> None:
    assert workload(kind, {}).wanted == 1


@pytest.mark.parametrize(
    ("kind", "spec", "status"),
    [
        ("ReplicaSet", {"replicas": 0}, {}),
        ("StatefulSet", {"replicas": 0}, {}),
        ("Job", {"parallelism": 0}, {}),
        ("Job", {"parallelism": 3, "completions": 5}, {"succeeded": 5}),
        ("Job", {"parallelism": 3}, {"succeeded": 1}),
        ("Job", {"parallelism": 3}, {"conditions": [{"type": "Failed", "status": "True"}]}),
        ("Job", {"parallelism": 3}, {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}),
    ],
)
def test_what_wants_no_pods_is_nothing(kind: str, spec: dict[str, Any], status: dict[str, Any]) -> None:
    item = read(kind, spec, status)
    assert item.idle
    assert item.objects == ()


@pytest.mark.parametrize(
    ("spec", "status", "wanted"),
    [
        ({"parallelism": 10}, {}, 10),
        ({"parallelism": 10, "completions": 25}, {"succeeded": 5}, 10),
        ({"parallelism": 10, "completions": 25}, {"succeeded": 18}, 7),
        (
            {"parallelism": 10, "completions": 10},
            {"succeeded": 3, "uncountedTerminatedPods": {"succeeded": ["a", "b"]}},
            5,
        ),
        ({"parallelism": 10, "completions": 10}, {"failedIndexes": "1,3-5", "succeeded": 1}, 5),
        ({"parallelism": 10, "podReplacementPolicy": "Failed"}, {"terminating": 4}, 6),
        ({"parallelism": 10, "podReplacementPolicy": "TerminatingOrFailed"}, {"terminating": 4}, 10),
        ({"parallelism": 10, "completions": None}, {"conditions": None}, 10),
    ],
)
def test_a_job_wants_as_many_as_run_beside_each_other(
    spec: dict[str, Any], status: dict[str, Any], wanted: int
) -> None:
    assert workload("Job", spec, status).wanted == wanted


@pytest.mark.parametrize(
    ("kind", "spec", "status", "held"),
    [
        ("Job", {"suspend": True}, {}, "suspended"),
        ("Job", {"managedBy": "kueue.x-k8s.io/multikueue"}, {}, "managed by kueue.x-k8s.io/multikueue"),
        (
            "ReplicaSet",
            {},
            {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}]},
            "its pods cannot be made: exceeded quota",
        ),
        ("ReplicaSet", {}, {"conditions": [{"type": "ReplicaFailure", "status": "False"}]}, ""),
    ],
)
def test_what_holds_its_pods_is_told(
    kind: str, spec: dict[str, Any], status: dict[str, Any], held: str
) -> None:
    assert workload(kind, spec, status).held == held


def test_a_job_says_how_many_of_its_pods_failed() -> None:
    assert workload("Job", {}, {"failed": 1, "uncountedTerminatedPods": {"failed": ["a"]}}).failed == 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_being_deleted_makes_no_pods(kind: str) -> None:
    assert workload(kind, {}, deletionTimestamp="2026-01-01T00:00:00Z").held == "deleted"


@pytest.mark.parametrize("kind", KINDS)
def test_people_may_say_that_no_node_is_wanted_before_the_pods(kind: str) -> None:
    assert workload(kind, {}, annotations={"treenail.sh/provision-for": "pods"}).for_pods_only
    assert workload(kind, {}, annotations={"treenail.sh/provision-for": "Pods"}).for_pods_only
    assert not workload(kind, {}, annotations={"treenail.sh/provision-for": "wishes"}).for_pods_only
    assert not workload(kind, {}).for_pods_only


def test_a_stateful_set_makes_pods_in_turn_unless_it_says_otherwise() -> None:
    assert workload("StatefulSet", {}).in_turn
    assert not workload("StatefulSet", {"podManagementPolicy": "Parallel"}).in_turn


@pytest.mark.parametrize(
    ("strategy", "replicas", "revision", "held"),
    [
        ({}, 5, "new", ""),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}, 5, "new", ""),
        ({"type": "OnDelete"}, 5, "new", ""),
        ({"rollingUpdate": {"partition": 5}}, 5, "old", ""),
        ({"rollingUpdate": {"partition": 2}}, 5, "old", "its next pods may be of either of two revisions"),
    ],
)
def test_the_next_pods_of_a_stateful_set_are_of_the_revision_that_its_strategy_says(
    strategy: dict[str, Any], replicas: int, revision: str, held: str
) -> None:
    spec = {"replicas": replicas, "updateStrategy": strategy}
    found = workload("StatefulSet", spec, {"currentRevision": "old", "updateRevision": "new"})
    assert (found.revision, found.held) == (revision, held)


def test_the_revision_of_a_stateful_set_counts_when_its_controller_has_seen_the_last_change() -> None:
    status = {"observedGeneration": 3, "updateRevision": "new"}
    assert workload("StatefulSet", {}, status, generation=4).held
    assert not workload("StatefulSet", {}, status, generation=3).held


def test_one_that_cannot_be_read_is_set_aside_under_its_uid() -> None:
    aside = read("ReplicaSet", {"replicas": "many"}).aside
    assert (aside.kind, aside.key) == (Kind.REPLICA_SET, "u")
    assert "spec.replicas" in aside.problem
