from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.fake.cluster.builders import a_deployment, a_node, a_pod, a_spec
from tests.adapters.fake.cluster.rig import Rig
from treenail.domain.cluster.cluster_facts import ObjectSeen, Resynced
from treenail.domain.model.errors import TooManyRequestsError
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pods import LabelSelector, Phase

WEB = LabelSelector(match_labels=(("app", "web"),))


def a_budget(name: str = "web", **fields: object) -> PodDisruptionBudget:
    return replace(PodDisruptionBudget(name=name, selector=WEB), **fields)  # type: ignore[arg-type]


def with_pods(number: int, *budgets: PodDisruptionBudget) -> Rig:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", cpu="64"), a_deployment("web", number, spec=a_spec(grace_seconds=300)))
    rig.cluster.apply(*budgets)
    rig.run(5)
    return rig


def evicted(rig: Rig) -> int:
    """Evict every pod there is as far as that is allowed; count those that were."""
    count = 0
    for pod in rig.cluster.pods():
        try:
            rig.cluster.evict_pod(pod.namespace, pod.name, uid=pod.uid)
        except TooManyRequestsError:
            continue
        count += 1
    return count


@pytest.mark.parametrize(
    ("budget", "allowed"),
    [
        (a_budget(min_available=Portion(3)), 4),
        (a_budget(min_available=Portion(7)), 0),
        (a_budget(min_available=Portion(0)), 7),
        (a_budget(min_available=Portion(50, percent=True)), 3),
        (a_budget(min_available=Portion(100, percent=True)), 0),
        (a_budget(max_unavailable=Portion(2)), 2),
        (a_budget(max_unavailable=Portion(0)), 0),
        (a_budget(max_unavailable=Portion(30, percent=True)), 3),
        (a_budget(max_unavailable=Portion(100, percent=True)), 7),
        (a_budget(), 0),
        (a_budget(selector=None, max_unavailable=Portion(0)), 7),
        (a_budget(selector=LabelSelector(), max_unavailable=Portion(1)), 1),
        (a_budget(namespace="other", max_unavailable=Portion(0)), 7),
    ],
)
def test_a_budget_allows_so_many_of_seven(budget: PodDisruptionBudget, allowed: int) -> None:
    rig = with_pods(7, budget)

    assert evicted(rig) == allowed


def test_a_budget_allows_more_when_new_pods_are_ready() -> None:
    rig = with_pods(3, a_budget(max_unavailable=Portion(1)))
    first = evicted(rig)
    at_once = evicted(rig)

    rig.run(10)

    assert (first, at_once) == (1, 1)
    assert evicted(rig) == 1


def test_pods_that_are_not_ready_count_as_gone() -> None:
    rig = with_pods(2, a_budget(max_unavailable=Portion(1)))
    rig.cluster.scale("web", 3)
    rig.run(0.3)

    assert [pod.phase for pod in rig.cluster.pods()].count(Phase.PENDING) == 1
    ready = [pod for pod in rig.cluster.pods() if pod.ready]
    with pytest.raises(TooManyRequestsError):
        rig.cluster.evict_pod("default", ready[0].name, uid=ready[0].uid)


def test_a_pod_that_has_not_started_is_evicted_without_asking() -> None:
    rig = with_pods(2, a_budget(max_unavailable=Portion(0)))
    rig.cluster.scale("web", 3)
    rig.run(0.3)
    [starting] = [pod for pod in rig.cluster.pods() if pod.phase is Phase.PENDING]

    rig.cluster.evict_pod("default", starting.name, uid=starting.uid)

    assert starting.uid not in {pod.uid for pod in rig.cluster.pods() if pod.active}


@pytest.mark.parametrize("allowed", [True, False])
def test_a_pod_that_runs_without_being_ready_goes_if_the_budget_says_so(*, allowed: bool) -> None:
    rig = Rig()
    sick = a_pod("sick", node_name="n-0", phase=Phase.RUNNING, labels={"app": "web"})
    budget = a_budget(min_available=Portion(2), always_allow_unhealthy=allowed)
    well = a_pod("well", node_name="n-0", phase=Phase.RUNNING, ready=True, labels={"app": "web"})
    rig.cluster.apply(a_node("n-0"), sick, well, budget)

    count = evicted(rig)

    assert (count == 1) is allowed
    assert rig.pod("well").active


def test_a_pod_that_runs_without_being_ready_goes_while_enough_are() -> None:
    rig = Rig()
    sick = a_pod("sick", node_name="n-0", phase=Phase.RUNNING, labels={"app": "web"})
    well = a_pod("well", node_name="n-0", phase=Phase.RUNNING, ready=True, labels={"app": "web"})
    rig.cluster.apply(a_node("n-0"), sick, well, a_budget(min_available=Portion(1)))

    assert evicted(rig) == 1
    assert not rig.pod("sick").active


def test_a_pod_of_two_budgets_is_not_evicted() -> None:
    rig = with_pods(3, a_budget("a", max_unavailable=Portion(3)), a_budget("b", max_unavailable=Portion(3)))

    assert evicted(rig) == 0


def test_a_budget_that_goes_or_changes_is_heeded_no_more() -> None:
    rig = with_pods(3, a_budget(max_unavailable=Portion(0)))
    before = evicted(rig)

    rig.cluster.apply(a_budget(max_unavailable=Portion(1)))
    changed = evicted(rig)
    rig.cluster.delete("PodDisruptionBudget", "web")

    assert (before, changed) == (0, 1)
    assert evicted(rig) == 3


def test_a_pod_whose_labels_change_leaves_its_budget() -> None:
    rig = Rig()
    pod = a_pod("web", node_name="n-0", phase=Phase.RUNNING, ready=True, labels={"app": "web"})
    rig.cluster.apply(a_node("n-0"), pod, a_budget(max_unavailable=Portion(0)))
    before = evicted(rig)

    rig.cluster.apply(replace(pod, labels={"app": "other"}))

    assert (before, evicted(rig)) == (0, 1)


def test_a_budget_says_how_many_evictions_it_allows() -> None:
    rig = with_pods(3, a_budget(max_unavailable=Portion(1)))
    listener = rig.watched()
    rig.run(1)

    rig.cluster.delete("Pod", rig.cluster.pods()[0].name)
    rig.run(0.5)
    rig.cluster.apply(a_budget(max_unavailable=Portion(2)))
    rig.run(0.5)

    (listed,) = (t for t in listener.of(Resynced)[0].objects if isinstance(t, PodDisruptionBudget))
    told = [fact.object for fact in listener.of(ObjectSeen) if isinstance(fact.object, PodDisruptionBudget)]
    assert listed.disruptions_allowed == 1
    assert [budget.disruptions_allowed for budget in told] == [0, 0, 1]
