from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.fake.cluster.builders import a_daemon_set, a_deployment, a_node, a_pod, a_spec
from tests.adapters.fake.cluster.rig import Rig
from treenail.adapters.api.workloads import PriorityClass
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pods import HostPort, LabelSelector, Pod, PodAffinityTerm

HIGH = PriorityClass(name="high", value=1_000)
PATIENT = PriorityClass(name="patient", value=1_000, preempts=False)
LOW = PriorityClass(name="low", value=-10)
HOSTNAME = "kubernetes.io/hostname"


def low(name: str, cpu: str = "2", **fields: Any) -> Pod:
    return a_pod(name, spec=a_spec(cpu=cpu, priority_class="low", **fields), labels={"app": name})


def high(name: str, cpu: str = "4", **fields: Any) -> Pod:
    return a_pod(name, spec=a_spec(cpu=cpu, priority_class="high", **fields))


def a_full_node(*there: Pod) -> Rig:
    """A node of 4 CPU with pods that have run for a minute."""
    rig = Rig()
    rig.cluster.apply(HIGH, LOW, PATIENT, a_node("n-0", labels={HOSTNAME: "n-0"}), *there)
    rig.run(60)
    assert all(rig.pod(pod.name).node_name == "n-0" for pod in there)
    return rig


def names(rig: Rig) -> list[str]:
    return [pod.name for pod in rig.cluster.pods() if pod.active and pod.node_name]


def test_a_pod_of_higher_priority_takes_the_place_of_lesser_ones() -> None:
    rig = a_full_node(low("a"), low("b"))

    rig.cluster.apply(high("web"))
    rig.run(60)

    assert names(rig) == ["web"]
    assert rig.pod("web").nominated_node == ""
    assert rig.reasons("a") == [("Preempted", "Preempted by pod default/web on node n-0")]


def test_while_lesser_pods_leave_the_node_is_nominated_and_no_new_node_is_asked_for() -> None:
    rig = a_full_node(low("a"), low("b"))

    rig.cluster.apply(high("web"))
    rig.run(1)

    assert rig.pod("web").nominated_node == "n-0"
    assert rig.pod("web").unschedulable_since is not None
    assert not rig.pod("web").provisionable
    assert rig.pod("a").deleting_since is not None


def test_no_more_pods_go_than_must_and_the_least_important_first() -> None:
    rig = a_full_node(low("a"), a_pod("b", spec=a_spec(cpu="2")))

    rig.cluster.apply(high("web", cpu="2"))
    rig.run(60)

    assert names(rig) == ["b", "web"]


@pytest.mark.parametrize("priority_class", ["", "low", "patient"])
def test_pods_of_equal_priority_or_of_a_class_that_never_preempts_wait(priority_class: str) -> None:
    rig = a_full_node(a_pod("a", spec=a_spec(cpu="4", priority_class="low" if not priority_class else "")))
    if not priority_class:
        rig = a_full_node(a_pod("a", spec=a_spec(cpu="4")))

    rig.cluster.apply(a_pod("web", spec=a_spec(cpu="4", priority_class=priority_class)))
    rig.run(60)

    assert names(rig) == ["a"]
    assert rig.pod("web").provisionable


def test_nobody_goes_where_that_would_not_help() -> None:
    rig = a_full_node(low("a"))

    rig.cluster.apply(high("web", cpu="5"))
    rig.run(60)

    assert names(rig) == ["a"]
    assert rig.pod("web").provisionable


def test_the_node_whose_budgets_allow_it_is_taken_before_others() -> None:
    rig = Rig()
    budget = PodDisruptionBudget(
        name="keep", selector=LabelSelector(match_labels=(("app", "a"),)), min_available=Portion(1)
    )
    rig.cluster.apply(HIGH, LOW, a_node("n-0"), a_node("n-1"), low("a", cpu="4"), low("b", cpu="4"), budget)
    rig.run(60)

    rig.cluster.apply(high("web"))
    rig.run(60)

    assert names(rig) == ["a", "web"]


def test_a_budget_does_not_protect_from_the_scheduler_where_there_is_no_other_node() -> None:
    rig = a_full_node(low("a", cpu="4"))
    selector = LabelSelector(match_labels=(("app", "a"),))
    rig.cluster.apply(PodDisruptionBudget(name="keep", selector=selector, min_available=Portion(1)))

    rig.cluster.apply(high("web"))
    rig.run(60)

    assert names(rig) == ["web"]


def test_room_that_is_held_for_a_pod_goes_to_no_lesser_one() -> None:
    rig = a_full_node(low("a"), low("b", grace_seconds=60))
    rig.cluster.apply(high("web"))
    # The first of the two is gone: there is room for a small pod, but web waits for it.
    rig.run(45)

    rig.cluster.apply(a_pod("small", spec=a_spec(cpu="1")))
    rig.run(5)
    assert rig.pod("small").node_name == ""

    rig.run(60)
    assert names(rig) == ["web"]


def test_a_daemon_that_was_preempted_waits_behind_the_pod_that_took_its_room() -> None:
    rig = Rig()
    rig.cluster.apply(HIGH, a_daemon_set("headroom", cpu="3"), a_node("n-0"))
    rig.run(60)
    assert len(names(rig)) == 1

    rig.cluster.apply(high("web"))
    rig.run(120)

    assert names(rig) == ["web"]
    assert [p.node_name for p in rig.cluster.pods() if p.daemon] == [""]


def test_a_host_port_is_made_free_too() -> None:
    rig = a_full_node(low("a", cpu="1", host_ports=(HostPort(80),)))

    rig.cluster.apply(high("web", cpu="1", host_ports=(HostPort(80),)))
    rig.run(60)

    assert names(rig) == ["web"]


def test_a_pod_does_not_preempt_those_it_must_be_near() -> None:
    near = PodAffinityTerm(HOSTNAME, selector=LabelSelector(match_labels=(("app", "a"),)))
    rig = a_full_node(low("a"), low("b"))

    rig.cluster.apply(high("web", cpu="2", pod_affinity=(near,)))
    rig.run(60)

    assert names(rig) == ["a", "web"]


def test_a_nomination_ends_when_the_node_is_gone() -> None:
    rig = a_full_node(low("a", cpu="4"))
    rig.cluster.apply(high("web"))
    while not rig.pod("web").nominated_node:
        rig.run(0.01)

    rig.cluster.delete("Node", "n-0")
    rig.run(120)
    rig.cluster.apply(a_node("n-1", cpu="1"))
    rig.run(60)

    assert rig.pod("web").nominated_node == ""
    assert rig.pod("web").provisionable


def test_pods_of_a_deployment_preempt_one_by_one_and_all_get_a_place() -> None:
    rig = Rig()
    rig.cluster.apply(HIGH, LOW, *(a_node(f"n-{n}") for n in range(3)))
    rig.cluster.apply(a_deployment("dummy", 3, spec=a_spec(cpu="3", priority_class="low")))
    rig.run(60)

    rig.cluster.apply(a_deployment("web", 6, spec=a_spec(cpu="2", priority_class="high")))
    rig.run(120)

    assert sorted(p.node_name for p in rig.pods_of("web")) == ["n-0", "n-0", "n-1", "n-1", "n-2", "n-2"]
    assert all(p.provisionable for p in rig.pods_of("dummy"))
