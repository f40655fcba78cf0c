"""ResourceQuotas and LimitRanges of the fake cluster: defaults, refusals, what is used, and retries."""

from __future__ import annotations

from typing import Final

import pytest

from tests.adapters.fake.cluster.rig import Rig
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.api.workloads import ReplicaSet
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.pods import Pod
from treenail.domain.model.resource_quotas import ResourceQuota, shown

WEB: Final = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: x, resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {memory: 1Gi}}}
"""


def a_quota(hard: str, more: str = "", name: str = "small") -> str:
    return f"""
apiVersion: v1
kind: ResourceQuota
metadata: {{name: {name}}}
spec: {{hard: {{{hard}}}{more}}}
"""


def a_range(item: str) -> str:
    return f"""
apiVersion: v1
kind: LimitRange
metadata: {{name: bounds}}
spec: {{limits: [{{{item}}}]}}
"""


def a_pod(name: str, resources: str, more: str = "") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec: {{containers: [{{name: c, image: x, resources: {resources}}}]{more}}}
"""


def apply(rig: Rig, *texts: str) -> None:
    manifests = parse_manifests("---".join(texts).encode(), "test")
    rig.cluster.apply(*decode_all(manifests, keep_parts=True).objects())


def used(rig: Rig, name: str = "small") -> dict[str, str]:
    quota = rig.cluster.get("ResourceQuota", name)
    assert isinstance(quota, ResourceQuota)
    return {name: shown(name, amount) for name, amount in sorted(quota.used.items())}


def the_pod(rig: Rig, name: str) -> Pod:
    pod = rig.cluster.get("Pod", name)
    assert isinstance(pod, Pod)
    return pod


def test_a_workload_gets_as_many_pods_as_its_quota_lets_it_have() -> None:
    rig = Rig()
    apply(rig, a_quota("requests.cpu: 1500m, pods: 9"), WEB)
    rig.run(60)

    assert len(rig.cluster.pods()) == 3
    assert used(rig) == {"pods": "3", "requests.cpu": "1500m"}
    (held,) = rig.cluster.held_back()
    assert (held.workload, held.missing) == ("Deployment default/web", 1)
    assert "exceeded quota: small, requested: requests.cpu=500m, used: requests.cpu=1500m" in held.why
    (replica_set,) = rig.cluster.objects(ReplicaSet)
    assert "exceeded quota: small" in replica_set.failure
    assert any(r.event.reason == "FailedCreate" for r in rig.cluster.events())


def test_the_pauses_between_tries_grow_and_a_larger_quota_is_met_at_the_next_one() -> None:
    rig = Rig()
    apply(rig, a_quota("requests.cpu: 1500m"), WEB)
    rig.run(300)
    tries = sum(r.count for r in rig.cluster.events() if r.event.reason == "FailedCreate")
    apply(rig, a_quota("requests.cpu: 2"))
    rig.run(400)

    assert 10 <= tries <= 20
    assert len(rig.cluster.pods()) == 4
    assert rig.cluster.held_back() == ()
    assert not rig.cluster.objects(ReplicaSet)[0].failure


def test_what_a_pod_took_is_given_back_when_it_is_gone_or_has_ended() -> None:
    rig = Rig()
    apply(rig, a_quota("pods: 4, limits.memory: 4Gi"), WEB)
    rig.run(5)
    before = used(rig)
    rig.cluster.scale("web", 1)
    rig.run(60)

    assert before == {"limits.memory": "4Gi", "pods": "4"}
    assert used(rig) == {"limits.memory": "1Gi", "pods": "1"}


def test_a_quota_that_comes_later_counts_the_pods_that_are_there() -> None:
    rig = Rig()
    apply(rig, WEB)
    rig.run(5)
    apply(rig, a_quota("requests.memory: 2Gi"))
    rig.run(1)

    assert used(rig) == {"requests.memory": "4Gi"}
    assert len(rig.cluster.pods()) == 4


def test_a_limit_range_gives_defaults_that_a_quota_counts() -> None:
    rig = Rig()
    item = "type: Container, default: {cpu: 1, memory: 1Gi}, defaultRequest: {cpu: 250m}"
    apply(rig, a_range(item), a_quota("requests.cpu: 1, limits.cpu: 2"), a_pod("p", "{}"))

    spec = the_pod(rig, "p").spec
    assert dict(spec.requests.format()) == {"cpu": "250m", "memory": "1Gi", "pods": "1"}
    assert dict(spec.limits.format()) == {"cpu": "1", "memory": "1Gi"}
    assert spec.parts is None
    assert used(rig) == {"limits.cpu": "1", "requests.cpu": "250m"}


def test_objects_are_counted_by_kind() -> None:
    rig = Rig()
    apply(rig, a_quota("count/deployments.apps: 1, count/replicasets.apps: 0, count/pods: 7"), WEB)
    rig.run(5)

    assert used(rig) == {"count/deployments.apps": "1", "count/pods": "0", "count/replicasets.apps": "0"}
    (held,) = rig.cluster.held_back()
    assert held.workload == "Deployment default/web"
    assert "count/replicasets.apps=1" in held.why
    with pytest.raises(InvalidError, match="exceeded quota: small"):
        apply(rig, WEB.replace("name: web", "name: two"))


def test_entries_of_what_is_not_kept_here_are_warned_of() -> None:
    manifests = parse_manifests(a_quota("requests.storage: 10Gi, services: 3, pods: 2").encode(), "q.yaml")

    assert [w.partition(": is ")[0] for w in decode_all(manifests).warnings] == [
        "q.yaml: ResourceQuota small: spec.hard[requests.storage]",
        "q.yaml: ResourceQuota small: spec.hard.services",
    ]
