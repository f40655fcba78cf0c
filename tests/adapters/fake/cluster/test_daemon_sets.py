from __future__ import annotations

from dataclasses import replace

from tests.adapters.fake.cluster.builders import (
    a_daemon_set,
    a_deployment,
    a_node,
    a_pod,
    a_spec,
    join,
    provider_id,
)
from tests.adapters.fake.cluster.rig import Rig
from tests.scenarios.manifests import KEPT
from treenail.adapters.fake.cluster import EKS_DAEMONS, ClusterSettings
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import PodResourceClaim
from treenail.domain.model.resources import total
from treenail.domain.model.taints import UNREGISTERED, Effect, Taint, Toleration, TolerationOperator

GPU = Taint("team", Effect.NO_SCHEDULE, "gpu")
ANYTHING = Toleration(operator=TolerationOperator.EXISTS)


def where(rig: Rig, daemon: str) -> list[str]:
    return sorted(pod.node_name for pod in rig.pods_of(f"{daemon}-"))


def test_every_node_gets_a_pod_of_each_daemon_set() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("a"), a_daemon_set("log"))
    rig.run(1)
    rig.cluster.apply(a_node("b"), a_daemon_set("net"))
    rig.run(1)

    assert where(rig, "log") == ["a", "b"]
    assert where(rig, "net") == ["a", "b"]
    assert all(pod.daemon for pod in rig.cluster.pods())


def test_the_daemons_of_an_eks_cluster_ask_for_what_they_are_known_to() -> None:
    asked = total(daemon.spec.requests for daemon in EKS_DAEMONS).format()

    assert asked == {"cpu": "155m", "memory": "120Mi", "pods": "4"}


def test_system_daemons_run_from_the_time_a_node_joins() -> None:
    rig = Rig(settings=ClusterSettings(system_daemons=EKS_DAEMONS))
    join(rig, "n-0", taints=(UNREGISTERED,), ready_after=30.0)

    rig.run(5)

    pods = rig.cluster.pods()
    assert len(pods) == 4
    assert all(pod.ready and pod.node_name == "n-0" for pod in pods)
    assert {pod.spec.priority for pod in pods} == {2_000_001_000}
    assert {pod.namespace for pod in pods} == {"kube-system"}


def test_a_daemon_comes_when_its_node_no_longer_keeps_it_off() -> None:
    rig = Rig()
    rig.cluster.apply(a_daemon_set("log"))
    join(rig, "n-0", taints=(GPU,), ready_after=5.0)
    rig.run(10)
    assert where(rig, "log") == []

    rig.cluster.patch_node("n-0", NodePatch(remove_taints=(GPU,)))
    rig.run(1)

    assert where(rig, "log") == ["n-0"]


def test_a_daemon_runs_on_cordoned_nodes_too() -> None:
    rig = Rig()
    rig.cluster.apply(a_daemon_set("log"), a_node("n-0", unschedulable=True))

    rig.run(1)

    assert where(rig, "log") == ["n-0"]


def test_a_daemon_runs_only_where_it_is_meant_to() -> None:
    rig = Rig()
    rig.cluster.apply(
        a_daemon_set("log", node_selector=(("os", "linux"),)),
        a_node("a", labels={"os": "linux"}),
        a_node("b", labels={"os": "windows"}),
    )
    rig.run(1)
    before = where(rig, "log")

    rig.cluster.patch_node("a", NodePatch(labels={"os": "other"}))
    rig.cluster.patch_node("b", NodePatch(labels={"os": "linux"}))
    rig.run(5)

    assert before == ["a"]
    assert where(rig, "log") == ["b"]


def test_no_pod_takes_the_room_of_daemons_on_a_new_node() -> None:
    rig = Rig()
    rig.cluster.apply(a_daemon_set("log", cpu="500m"), a_deployment("web", 4, spec=a_spec(cpu="500m")))
    rig.run(1)

    rig.cluster.apply(a_node("n-0", cpu="2"))
    rig.run(1)

    assert where(rig, "log") == ["n-0"]
    assert where(rig, "web") == ["", "n-0", "n-0", "n-0"]


def test_a_daemon_without_room_waits_for_it_and_is_nobodys_to_provision() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", cpu="1"), a_pod("web"))
    rig.run(5)
    rig.cluster.apply(a_daemon_set("log"))
    rig.run(1)
    [waiting] = rig.pods_of("log-")
    assert waiting.node_name == ""
    assert waiting.unschedulable_since is not None
    assert not waiting.provisionable
    assert rig.reasons(waiting.name) == [("FailedScheduling", "on its node n-0: Insufficient cpu")]

    rig.cluster.delete("Pod", "web")
    rig.run(5)

    [bound] = rig.pods_of("log-")
    assert (bound.uid, bound.node_name) == (waiting.uid, "n-0")


def test_a_waiting_daemon_goes_with_the_node_it_waits_for() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", cpu="1"), a_daemon_set("log", cpu="2"))
    rig.run(1)
    assert len(rig.pods_of("log-")) == 1

    rig.cluster.delete("Node", "n-0")
    rig.run(1)

    assert rig.pods_of("log-") == []


def test_a_daemon_that_is_deleted_or_fails_comes_back() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_daemon_set("log"))
    rig.run(5)
    [before] = rig.pods_of("log-")

    rig.cluster.delete("Pod", before.name)
    rig.run(5)

    [after] = rig.pods_of("log-")
    assert after.uid != before.uid
    assert after.ready


def test_another_spec_replaces_the_daemons() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("a"), a_node("b"), a_daemon_set("log"))
    rig.run(5)

    rig.cluster.apply(a_daemon_set("log", cpu="200m"))
    rig.run(10)

    assert [pod.spec.requests["cpu"] for pod in rig.pods_of("log-")] == [200, 200]


def test_the_pods_of_a_daemon_set_are_as_its_template_says_and_are_made_anew_when_that_changes() -> None:
    rig = Rig()
    plain = a_daemon_set("log")
    rig.cluster.apply(a_node("a"), replace(plain, template_labels={"app": "log"}))
    rig.run(1)
    (first,) = rig.pods_of("log-")

    rig.cluster.apply(replace(plain, template_labels={"app": "log"}, template_annotations=KEPT))
    rig.run(60)

    (second,) = rig.pods_of("log-")
    assert first.labels["app"] == second.labels["app"] == "log"
    assert (first.annotations, second.annotations) == ({}, KEPT)
    assert second.uid != first.uid


def test_the_daemons_go_with_their_set() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("a"), a_daemon_set("log"))
    rig.run(5)

    rig.cluster.delete("DaemonSet", "log")
    rig.run(5)
    rig.cluster.apply(a_node("b"))
    rig.run(1)

    assert rig.cluster.pods() == ()


def test_daemons_of_a_node_that_is_gone_go_too_and_return_with_it() -> None:
    rig = Rig()
    rig.cluster.apply(a_daemon_set("log"))
    join(rig, "n-0", ready_after=1.0)
    rig.run(5)
    rig.cluster.leave(provider_id("n-0"))
    rig.run(30)
    gone = rig.cluster.pods()

    join(rig, "n-0", ready_after=1.0)
    rig.run(5)

    assert gone == ()
    assert where(rig, "log") == ["n-0"]


def test_daemons_a_node_had_already_are_not_made_twice() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_daemon_set("log"))
    rig.run(5)
    rig.cluster.delete("Node", "n-0")
    rig.cluster.apply(a_node("n-0"))

    rig.run(5)

    assert where(rig, "log") == ["n-0"]


def test_what_is_not_simulated_keeps_a_daemon_waiting() -> None:
    rig = Rig()
    rig.cluster.apply(
        a_node("n-0"), a_daemon_set("log", resource_claims=(PodResourceClaim("gpu", "shared"),))
    )

    rig.run(5)

    [waiting] = rig.pods_of("log-")
    assert waiting.node_name == ""
    assert "resource claims" in rig.reasons(waiting.name)[0][1]


def test_a_daemon_stays_through_what_it_tolerates() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_daemon_set("log", tolerations=(ANYTHING,)), a_daemon_set("net"))
    rig.run(5)

    rig.cluster.patch_node("n-0", NodePatch(add_taints=(Taint("out", Effect.NO_EXECUTE),)))
    rig.run(10)

    assert where(rig, "log") == ["n-0"]
    assert where(rig, "net") == []
