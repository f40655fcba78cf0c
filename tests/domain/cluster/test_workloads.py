"""Workloads in the cluster model: kept as they are told of, forgotten when they are gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, ObjectSeen, Resynced
from treenail.domain.cluster.workloads import Workload

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEB = Workload(
    uid="u", kind="ReplicaSet", name="web-1", resource_version=3, wanted=5, part_of="Deployment/web"
)


def _model() -> ClusterModel:
    return ClusterModel(promise_lasts=timedelta(seconds=20))


def test_a_workload_is_known_until_it_is_gone() -> None:
    model = _model()
    model.learn(ObjectSeen(object=WEB), NOW)
    assert model.objects.workloads[Kind.REPLICA_SET] == {"u": WEB}
    model.learn(ObjectGone(kind=Kind.REPLICA_SET, key="u"), NOW)
    assert model.objects.workloads[Kind.REPLICA_SET] == {}


def test_a_workload_that_a_full_list_lacks_is_gone() -> None:
    model = _model()
    model.learn(ObjectSeen(object=WEB), NOW)
    model.learn(Resynced(revision=9, objects=()), NOW)
    assert model.objects.workloads[Kind.REPLICA_SET] == {}


def test_a_workload_is_told_of_as_what_people_wrote() -> None:
    assert WEB.told_as == "Deployment/web"
    assert Workload(uid="j", kind="Job", name="sum").told_as == "Job/sum"
