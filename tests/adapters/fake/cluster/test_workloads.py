from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.adapters.fake.cluster.builders import a_deployment, a_node, a_pod, a_spec, a_stateful_set
from tests.adapters.fake.cluster.rig import Rig
from treenail.adapters.api.workloads import (
    Deployment,
    PriorityClass,
    ReplicaSet,
)
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.pods import Pod
from treenail.domain.model.storage import PersistentVolumeClaim


def test_a_deployment_makes_its_pods_through_a_replica_set() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 5))

    rig.run(1)

    [replica_set] = rig.cluster.objects(ReplicaSet)
    pods = rig.cluster.pods()
    assert re.fullmatch(r"inflate-[bcdfghjklmnpqrstvwxz2456789]{10}", replica_set.name)
    assert len({pod.name for pod in pods}) == 5
    assert all(re.fullmatch(rf"{replica_set.name}-[bcdfghjklmnpqrstvwxz2456789]{{5}}", p.name) for p in pods)
    assert {(p.owner.kind, p.owner.uid) for p in pods if p.owner} == {("ReplicaSet", replica_set.uid)}
    assert all(p.labels == {"app": "inflate", "pod-template-hash": replica_set.name[8:]} for p in pods)


def test_pods_of_one_template_share_one_spec() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 5))

    rig.run(1)

    assert len({id(pod.spec) for pod in rig.cluster.pods()}) == 1


def test_equal_seeds_name_alike_and_others_do_not() -> None:
    def names(seed: int) -> list[str]:
        rig = Rig(seed=seed)
        rig.cluster.apply(a_deployment("inflate", 3))
        rig.run(1)
        return [pod.name for pod in rig.cluster.pods()]

    assert names(1) == names(1)
    assert names(1) != names(2)


def test_a_deployment_is_scaled_up_and_down() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 2))
    rig.run(1)

    rig.cluster.scale("inflate", 7)
    rig.run(1)
    up = len(rig.cluster.pods())
    rig.cluster.scale("inflate", 0)
    rig.run(1)

    assert (up, len(rig.cluster.pods())) == (7, 0)


def test_more_pods_than_are_made_at_once_are_made_all_the_same() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 1_203))

    rig.run(2)

    assert len(rig.cluster.pods()) == 1_203


def test_scaling_down_takes_pods_that_do_nothing_first_and_young_ones_next() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", cpu="3"), a_deployment("inflate", 2))
    rig.run(5)
    old = {pod.name for pod in rig.cluster.pods()}
    rig.cluster.scale("inflate", 3)
    rig.run(5)
    young = {pod.name for pod in rig.cluster.pods()} - old
    rig.cluster.scale("inflate", 4)
    rig.run(5)

    rig.cluster.scale("inflate", 3)
    rig.run(5)
    assert {pod.name for pod in rig.cluster.pods()} == old | young
    rig.cluster.scale("inflate", 2)
    rig.run(5)
    assert {pod.name for pod in rig.cluster.pods()} == old


def test_another_template_replaces_all_pods() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 3))
    rig.run(1)
    before = {pod.uid for pod in rig.cluster.pods()}

    rig.cluster.apply(a_deployment("inflate", 3, spec=a_spec(cpu="2")))
    rig.run(1)

    after = rig.cluster.pods()
    assert [pod.spec.requests["cpu"] for pod in after] == [2000] * 3
    assert not before & {pod.uid for pod in after}
    assert sorted(s.replicas for s in rig.cluster.objects(ReplicaSet)) == [0, 3]


def test_the_template_before_finds_its_replica_set_again() -> None:
    rig = Rig()
    for cpu in ("1", "2", "1"):
        rig.cluster.apply(a_deployment("inflate", 3, spec=a_spec(cpu=cpu)))
        rig.run(1)

    assert len(rig.cluster.objects(ReplicaSet)) == 2
    assert [pod.spec.requests["cpu"] for pod in rig.cluster.pods()] == [1000] * 3


def test_a_deleted_pod_comes_back_under_another_name() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 1))
    rig.run(1)
    [before] = rig.cluster.pods()

    rig.cluster.delete("Pod", before.name)
    rig.run(1)

    [after] = rig.cluster.pods()
    assert after.name != before.name


def test_a_replica_set_of_its_own_is_kept_at_its_size() -> None:
    rig = Rig()
    made_from = a_deployment("web", 2)
    rig.cluster.apply(
        ReplicaSet(name="web", replicas=2, selector=made_from.selector, template=made_from.template)
    )
    rig.run(1)
    before = len(rig.cluster.pods())

    rig.cluster.scale("web", 4, kind="ReplicaSet")
    rig.run(1)

    assert (before, len(rig.cluster.pods())) == (2, 4)


def test_a_deployment_undoes_what_others_do_to_its_replica_set() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 2))
    rig.run(1)
    [replica_set] = rig.cluster.objects(ReplicaSet)

    rig.cluster.scale(replica_set.name, 9, kind="ReplicaSet")
    rig.run(2)

    assert len(rig.cluster.pods()) == 2


def test_a_replica_set_that_is_deleted_under_its_deployment_is_made_anew() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 2))
    rig.run(1)
    [before] = rig.cluster.objects(ReplicaSet)

    rig.cluster.delete("ReplicaSet", before.name)
    rig.run(3)

    [after] = rig.cluster.objects(ReplicaSet)
    assert after.uid != before.uid
    assert {p.owner.uid for p in rig.cluster.pods() if p.owner} == {after.uid}
    assert len(rig.cluster.pods()) == 2


def test_a_stateful_set_numbers_its_pods_and_gives_up_the_highest() -> None:
    rig = Rig()
    rig.cluster.apply(a_stateful_set("db", 3))
    rig.run(1)
    before = [pod.name for pod in rig.cluster.pods()]

    rig.cluster.scale("db", 2, kind="StatefulSet")
    rig.run(1)

    assert before == ["db-0", "db-1", "db-2"]
    assert [pod.name for pod in rig.cluster.pods()] == ["db-0", "db-1"]


def test_a_pod_of_a_stateful_set_comes_back_under_its_name_when_the_old_one_is_gone() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_stateful_set("db", 1))
    rig.run(5)
    before = rig.pod("db-0")

    rig.cluster.delete("Pod", "db-0")
    assert rig.pod("db-0").uid == before.uid
    rig.run(5)

    after = rig.pod("db-0")
    assert after.uid != before.uid
    assert after.ready


def test_another_template_replaces_the_pods_of_a_stateful_set() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_stateful_set("db", 2))
    rig.run(5)

    rig.cluster.apply(a_stateful_set("db", 2, spec=a_spec(cpu="2")))
    rig.run(10)

    assert [pod.spec.requests["cpu"] for pod in rig.cluster.pods()] == [2000, 2000]


def test_the_claims_of_a_stateful_set_are_volumes_of_its_pods() -> None:
    rig = Rig()
    rig.cluster.apply(a_stateful_set("db", 1, volume_claim_templates=(PersistentVolumeClaim(name="data"),)))

    rig.run(1)

    assert [volume.claim_name for volume in rig.pod("db-0").spec.volumes] == ["data-db-0"]


def test_the_priority_of_a_pod_is_that_of_its_class() -> None:
    rig = Rig()
    rig.cluster.apply(
        a_pod("web", spec=a_spec(priority_class="high")),
        a_pod("dns", spec=a_spec(priority_class="system-cluster-critical")),
        a_pod("other"),
        PriorityClass(name="high", value=1_000),
        PriorityClass(name="usual", value=10, global_default=True),
    )

    priorities = {pod.name: (pod.spec.priority_class, pod.spec.priority) for pod in rig.cluster.pods()}

    assert priorities == {
        "web": ("high", 1_000),
        "dns": ("system-cluster-critical", 2_000_000_000),
        "other": ("usual", 10),
    }


def test_pods_of_a_class_that_is_missing_are_made_once_it_is_there() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 2, spec=a_spec(priority_class="high")))
    rig.run(20)
    [event] = [r for r in rig.cluster.events() if r.event.reason == "FailedCreate"]
    before = rig.cluster.pods()

    rig.cluster.apply(PriorityClass(name="high", value=1_000))
    rig.run(20)

    assert before == ()
    assert event.count > 1
    assert "there is no PriorityClass high" in event.event.message
    assert [pod.spec.priority for pod in rig.cluster.pods()] == [1_000, 1_000]


def test_applying_the_same_again_changes_nothing() -> None:
    rig = Rig()
    things = (a_deployment("inflate", 2), a_pod("web"), a_node("n-0"), a_stateful_set("db", 1))
    rig.cluster.apply(*things)
    rig.run(5)
    before = rig.cluster.revision

    rig.cluster.apply(*things)

    assert rig.cluster.revision == before


@pytest.mark.parametrize(
    "impossible",
    [
        a_deployment("inflate", -1),
        a_deployment("inflate", 100_001),
        replace(a_deployment("inflate", 1), selector=a_deployment("other", 1).selector),
        a_deployment("inflate", 1, spec=a_spec(cpu="-1")),
    ],
    ids=["negative", "too many", "selects others", "negative requests"],
)
def test_workloads_that_could_not_be_are_refused(impossible: Deployment) -> None:
    rig = Rig()

    with pytest.raises(InvalidError):
        rig.cluster.apply(impossible)

    assert rig.cluster.objects(Deployment) == ()


def test_only_what_has_replicas_is_scaled() -> None:
    rig = Rig()
    rig.cluster.apply(a_pod("web"), a_deployment("inflate", 1))

    with pytest.raises(NotFoundError):
        rig.cluster.scale("nobody", 1)
    with pytest.raises(InvalidError):
        rig.cluster.scale("web", 1, kind="Pod")
    with pytest.raises(InvalidError):
        rig.cluster.scale("inflate", -1)


def test_a_pod_is_changed_in_its_labels_alone() -> None:
    rig = Rig()
    rig.cluster.apply(a_pod("web"))

    rig.cluster.apply(a_pod("web", labels={"a": "1"}))
    with pytest.raises(InvalidError):
        rig.cluster.apply(a_pod("web", spec=a_spec(cpu="2")))

    pod = rig.pod("web")
    assert (pod.labels, pod.spec.requests["cpu"]) == ({"a": "1"}, 1000)


def test_a_pod_that_runs_nowhere_or_on_no_node_is_refused() -> None:
    rig = Rig()
    running: Pod = replace(a_pod("web", node_name="n-0"))

    with pytest.raises(InvalidError):
        rig.cluster.apply(running)
    rig.cluster.apply(running, a_node("n-0"))

    assert rig.pod("web").node_name == "n-0"
