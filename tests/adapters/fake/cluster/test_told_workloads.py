"""Workloads on the fake watch, and the pace at which pods are made of them."""

from __future__ import annotations

from dataclasses import replace

from tests.adapters.fake.cluster.builders import a_deployment, a_stateful_set
from tests.adapters.fake.cluster.rig import Listener, Rig
from treenail.adapters.fake.cluster import ClusterFaults, ClusterSettings
from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, ObjectSeen, Resynced
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.resources import Resources


def workloads(listener: Listener) -> list[Workload]:
    return [f.object for f in listener.of(ObjectSeen) if isinstance(f.object, Workload)]


def test_a_replica_set_is_told_of_with_the_pods_it_wants_and_what_made_it() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)
    rig.cluster.apply(a_deployment("web", 5))
    rig.run(1)

    [seen] = workloads(listener)
    assert (seen.kind, seen.wanted, seen.held, seen.told_as) == ("ReplicaSet", 5, "", "Deployment/web")


def test_one_that_is_scaled_to_nothing_is_told_to_be_gone() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.cluster.apply(a_deployment("web", 5))
    rig.run(1)
    rig.cluster.scale("web", 0)
    rig.run(1)

    assert [gone.kind for gone in listener.of(ObjectGone)].count(Kind.REPLICA_SET) == 1


def test_the_revision_of_a_stateful_set_is_that_of_its_pods() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)
    rig.cluster.apply(a_stateful_set("db", 2, parallel=True))
    rig.run(1)

    last = workloads(listener)[-1]
    revisions = {pod.labels["controller-revision-hash"] for pod in rig.cluster.pods()}
    assert (last.held, last.in_turn, {last.revision}) == ("", False, revisions)


def test_nothing_is_told_of_workloads_where_the_role_does_not_allow_it() -> None:
    rig = Rig(settings=ClusterSettings(tells_workloads=False))
    rig.cluster.apply(a_deployment("web", 5))
    listener = rig.watched()
    rig.run(1)
    rig.cluster.scale("web", 7)
    rig.run(1)

    assert workloads(listener) == []
    [listed] = listener.of(Resynced)
    assert not any(isinstance(thing, Workload) for thing in listed.objects)


def test_pods_are_made_no_faster_than_the_controller_manager_writes() -> None:
    rig = Rig(settings=ClusterSettings(pod_writes=20))
    rig.cluster.apply(a_deployment("web", 200))

    rig.run(1)
    first = len(rig.cluster.pods())
    rig.run(4)
    later = len(rig.cluster.pods())
    rig.run(6)

    assert 30 <= first <= 50
    assert later - first == 80
    assert len(rig.cluster.pods()) == 200


def test_pods_of_stateful_sets_are_made_at_the_same_pace_and_share_it() -> None:
    rig = Rig(settings=ClusterSettings(pod_writes=20))
    rig.cluster.apply(a_deployment("web", 200), a_stateful_set("db", 200, parallel=True))

    rig.run(5)
    there = [pod.name.split("-")[0] for pod in rig.cluster.pods()]
    rig.run(20)

    assert 100 <= len(there) <= 150
    assert 40 <= there.count("db") <= 80
    assert len(rig.cluster.pods()) == 400


def test_one_that_is_scaled_up_while_its_pods_are_made_gets_the_rest_after_them() -> None:
    rig = Rig(settings=ClusterSettings(pod_writes=20))
    rig.cluster.apply(a_deployment("web", 60))
    rig.run(1)
    rig.cluster.scale("web", 100)
    rig.run(10)

    assert len(rig.cluster.pods()) == 100


def test_a_quota_stops_the_batch_and_is_told_until_it_is_lifted() -> None:
    rig = Rig(settings=ClusterSettings(pod_writes=1000), faults=ClusterFaults(pod_quota=5))
    listener = rig.watched()
    rig.cluster.apply(a_deployment("web", 100))
    rig.run(2)

    assert len(rig.cluster.pods()) == 5
    refused = [r for r in rig.cluster.events() if r.event.reason == "FailedCreate"]
    # Batches of 1, 2 and 4: of the last, two find no room; and then one each after 5 ms, 10 ms... 1.28 s.
    assert 3 <= sum(r.count for r in refused) <= 2 + 10
    assert "exceeded quota" in workloads(listener)[-1].held

    rig.cluster.faults = replace(rig.cluster.faults, pod_quota=None)
    rig.run(10)

    assert len(rig.cluster.pods()) == 100
    assert not workloads(listener)[-1].held


def test_pods_that_a_webhook_refuses_are_made_later() -> None:
    rig = Rig(faults=ClusterFaults(pods_refused=0.3))
    rig.cluster.apply(a_deployment("web", 20))
    # Pauses grow to 1,000 s.
    rig.run(10_000)

    assert len(rig.cluster.pods()) == 20


def test_a_quota_is_told_of_with_what_is_used_of_it() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)
    rig.cluster.apply(ResourceQuota(name="small", hard=Resources({"pods": 3})), a_deployment("web", 5))
    rig.run(5)

    told = [f.object for f in listener.of(ObjectSeen) if isinstance(f.object, ResourceQuota)]
    assert [one.used.get("pods") for one in told] == [None, 0, 1, 2, 3]


def test_nothing_is_told_of_quotas_where_nodes_are_made_for_pods_alone() -> None:
    rig = Rig(settings=ClusterSettings(tells_workloads=False))
    rig.cluster.apply(ResourceQuota(name="small", hard=Resources({"pods": 3})))
    listener = rig.watched()
    rig.run(1)

    assert not any(isinstance(one, ResourceQuota) for one in listener.of(Resynced)[0].objects)
