"""Workloads on the watch: known as long as they want pods, done without where they may not be seen."""

from __future__ import annotations

from dataclasses import replace

from tests.adapters.kubernetes.objects import meta, node
from tests.adapters.kubernetes.rig import FAST, Rig, keys, middle
from tests.adapters.kubernetes.scripted import Tree, status
from treenail.adapters.kubernetes.resources import (
    JOB,
    NODE,
    REPLICA_SET,
    RESOURCE_QUOTA,
    STATEFUL_SET,
    WORKLOADS,
)
from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, ObjectSeen
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.resource_quotas import ResourceQuota


def replica_set(name: str, version: int, replicas: int, ready: int = 0) -> Tree:
    spec: Tree = {"replicas": replicas, "selector": {}, "template": {"spec": {"containers": [{"name": "c"}]}}}
    tree = meta(name, version, namespace="default")
    return {
        **_kind("ReplicaSet", "apps/v1"),
        "metadata": tree,
        "spec": spec,
        "status": {"readyReplicas": ready},
    }


def _kind(kind: str, api_version: str) -> Tree:
    return {"kind": kind, "apiVersion": api_version}


def test_old_replica_sets_are_not_told_of() -> None:
    with Rig() as rig:
        old = (replica_set(f"old-{n}", n + 1, 0) for n in range(10))
        rig.server.serve(REPLICA_SET, *old, replica_set("new", 20, 3), revision=20)

        assert keys(rig.start()) == ["uid-new"]


def test_workloads_of_all_kinds_are_told_of() -> None:
    with Rig() as rig:
        rig.server.serve(REPLICA_SET, replica_set("r", 1, 3))
        rig.server.serve(
            STATEFUL_SET, {**_kind("StatefulSet", "apps/v1"), "metadata": meta("s", 1), "spec": {}}
        )
        rig.server.serve(JOB, {**_kind("Job", "batch/v1"), "metadata": meta("j", 1), "spec": {}})

        told = [thing for thing in rig.start().objects if isinstance(thing, Workload)]

    assert [(one.kind, one.wanted) for one in told] == [("ReplicaSet", 3), ("StatefulSet", 1), ("Job", 1)]


def test_one_that_is_scaled_to_nothing_is_gone_and_comes_again() -> None:
    with Rig() as rig:
        rig.server.serve(REPLICA_SET, replica_set("r", 1, 3))
        rig.start()
        watch = rig.server.watch(REPLICA_SET)
        watch.send("MODIFIED", replica_set("r", 2, 0))
        assert rig.heard.next(ObjectGone) == ObjectGone(kind=Kind.REPLICA_SET, key="uid-r")
        watch.send("MODIFIED", replica_set("r", 3, 7))
        seen = rig.heard.next(ObjectSeen).object

    assert isinstance(seen, Workload)
    assert seen.wanted == 7


def test_how_many_of_its_pods_are_ready_is_no_news() -> None:
    with Rig() as rig:
        rig.server.serve(REPLICA_SET, replica_set("r", 1, 3))
        rig.start()
        watch = rig.server.watch(REPLICA_SET)
        watch.send("MODIFIED", replica_set("r", 2, 3, ready=1))
        watch.send("MODIFIED", replica_set("r", 3, 4, ready=1))
        seen = rig.heard.next(ObjectSeen).object

    assert isinstance(seen, Workload)
    assert seen.wanted == 4


def test_they_are_done_without_where_the_role_does_not_allow_them_and_each_is_said_once() -> None:
    with Rig(replace(FAST, withheld=(60.0, 60.0))) as rig:
        rig.server.serve(NODE, node("n-0", 1))
        for resource in WORKLOADS:
            rig.server.lists(resource, *[status(403, "Forbidden", f"{resource} is forbidden")] * 4)

        listed = rig.start()

    assert keys(listed) == ["n-0"]
    assert listed.unreadable == {Kind.REPLICA_SET, Kind.JOB, Kind.STATEFUL_SET}
    assert sorted((message, fields["resource"]) for message, fields in rig.log) == [
        ("not allowed to read", "jobs.batch"),
        ("not allowed to read", "replicasets.apps"),
        ("not allowed to read", "statefulsets.apps"),
    ]


def test_they_are_told_of_when_the_role_allows_them_at_last() -> None:
    with Rig() as rig:
        rig.server.serve(REPLICA_SET, replica_set("r", 1, 3))
        rig.server.lists(REPLICA_SET, *[status(403, "Forbidden", "replicasets is forbidden")] * 20)

        rig.start()
        listed = rig.heard.next_full_list()

    assert keys(listed) == ["uid-r"]
    assert listed.unreadable == frozenset()


def test_they_are_asked_for_ever_less_often_while_the_role_does_not_allow_them() -> None:
    pauses: list[float] = []

    def soon(low: float, high: float) -> float:
        if high not in {30, 60, 120, 240, 480, 900} or low != high / 2:
            return middle(low, high)
        pauses.append(high)
        return 0.001

    with Rig(replace(FAST, withheld=(30.0, 900.0)), uniform=soon) as rig:
        rig.server.lists(REPLICA_SET, *[status(403, "Forbidden", "replicasets is forbidden")] * 20)
        rig.start()
        rig.heard.next_full_list()

    assert pauses[:7] == [30, 60, 120, 240, 480, 900, 900]


def test_nobody_asks_for_them_where_nodes_are_made_for_pods_alone() -> None:
    with Rig(workloads=False) as rig:
        rig.server.serve(REPLICA_SET, replica_set("r", 1, 3))
        rig.server.serve(NODE, node("n-0", 1))

        listed = rig.start()

    assert keys(listed) == ["n-0"]
    assert listed.unreadable == frozenset()
    unasked = {resource.path() for resource in (*WORKLOADS, RESOURCE_QUOTA)}
    assert not {asked.path for asked in rig.server.asked} & unasked


def quota(version: int, hard: Tree, **status: Tree) -> Tree:
    tree = {**_kind("ResourceQuota", "v1"), "metadata": meta("small", version, namespace="shop")}
    return {**tree, "spec": {"hard": hard}, "status": status}


def test_quotas_are_told_of_with_what_is_used_of_them() -> None:
    with Rig() as rig:
        rig.server.serve(RESOURCE_QUOTA, quota(1, {"pods": "10"}))
        (new,) = rig.start().objects
        rig.server.watch(RESOURCE_QUOTA).send(
            "MODIFIED",
            quota(2, {"pods": "10", "requests.cpu": "2"}, used={"pods": "3", "requests.cpu": "1500m"}),
        )
        seen = rig.heard.next(ObjectSeen).object

    assert isinstance(new, ResourceQuota)
    assert isinstance(seen, ResourceQuota)
    assert (new.key, dict(new.hard), dict(new.used)) == ("shop/small", {"pods": 10}, {})
    assert dict(seen.hard) == {"pods": 10, "requests.cpu": 2_000}
    assert dict(seen.used) == {"pods": 3, "requests.cpu": 1_500}


def test_a_quota_that_is_not_understood_is_set_aside_by_its_namespace_and_name() -> None:
    with Rig() as rig:
        rig.server.serve(RESOURCE_QUOTA, quota(1, {"pods": "many"}))
        (aside,) = rig.start().set_aside

    assert (aside.kind, aside.key) == (Kind.RESOURCE_QUOTA, "shop/small")
    assert "spec.hard.pods" in aside.problem


def test_quotas_are_done_without_where_the_role_does_not_allow_them_and_it_is_said_once() -> None:
    with Rig(replace(FAST, withheld=(60.0, 60.0))) as rig:
        rig.server.serve(REPLICA_SET, replica_set("r", 1, 3))
        rig.server.lists(RESOURCE_QUOTA, *[status(403, "Forbidden", "resourcequotas is forbidden")] * 4)

        listed = rig.start()

    assert keys(listed) == ["uid-r"]
    assert listed.unreadable == {Kind.RESOURCE_QUOTA}
    assert [(message, fields["resource"]) for message, fields in rig.log] == [
        ("not allowed to read", "resourcequotas")
    ]
