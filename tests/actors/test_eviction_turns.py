"""Pods of nodes that one move gives up: the largest of all of them leave first."""

from __future__ import annotations

from dataclasses import replace

from tests.actors.ending import Ending, moved
from tests.builders import bound_pod, resources
from treenail.domain.disruption.disruption import DisruptNodes
from treenail.domain.model.causes import Cause
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pods import LabelSelector

LARGE = {"app": "large"}


class Moving(Ending):
    """Two nodes that one move gives up, c1 with a small pod and c2 with a large one."""

    def __init__(self) -> None:
        super().__init__()
        self.add("c2")
        self.put("small", "c1", cpu=1)
        self.put("large", "c2", cpu=2)
        self.run(90)

    def put(self, name: str, on: str, *, cpu: int) -> None:
        pod = bound_pod(name, f"node-{on}", owner="")
        spec = replace(pod.spec, requests=resources(cpu=cpu))
        self.api.apply(replace(pod, uid="", spec=spec, labels={"app": name}))

    def give_up(self, *ready: str) -> None:
        """Give both nodes up; the places of these pods are ready."""
        for name in ("c1", "c2"):
            on = [pod for pod in self.api.pods() if pod.node_name == f"node-{name}"]
            self.views.places[name] = {pod.uid: pod.name in ready for pod in on}
        nodes = tuple(self.views.mark_for_disruption(name) for name in ("c1", "c2"))
        order = DisruptNodes(
            nodes=nodes, cause=Cause.UNDERUTILIZED, replaced_first=True, bought=1, decided_at=self.now()
        )
        self.actor.tell(order)


def test_a_small_pod_waits_for_a_large_one_of_the_other_node() -> None:
    stage = Moving()

    stage.give_up("small", "large")
    stage.run(30)

    assert moved(stage) == ["evict_pod large", "evict_pod small"]


def test_it_waits_a_minute_for_one_that_its_budget_holds() -> None:
    stage = Moving()
    selector = LabelSelector(match_labels=tuple(LARGE.items()))
    stage.api.apply(PodDisruptionBudget(name="held", selector=selector, max_unavailable=Portion(0)))

    stage.give_up("small", "large")
    stage.run(50)
    assert "evict_pod small" not in moved(stage)

    stage.run(30)
    assert "evict_pod small" in moved(stage)


def test_it_waits_a_minute_for_a_node_whose_pods_have_no_place_that_is_ready() -> None:
    stage = Moving()

    stage.give_up("small")
    stage.run(50)
    assert moved(stage) == []

    stage.run(30)
    assert moved(stage) == ["evict_pod small"]
