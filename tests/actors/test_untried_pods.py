"""Pods that the scheduler has not reached yet, planned where it found no node for others that ask no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.cluster_rig import Knowing
from tests.builders import bound_pod, decided, pending_pod, planned_claim, resources
from treenail.domain.cluster.batch_window import PodBecamePending
from treenail.domain.cluster.planning import SnapshotTaken
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.pods import (
    Expression,
    HostPort,
    LabelSelector,
    NodeAffinity,
    Pod,
    PodAffinityTerm,
    TopologySpread,
)
from treenail.domain.model.requirements import Operator
from treenail.domain.model.taints import Toleration
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Reason, Refusal

WEB = Workload(uid="web", kind="ReplicaSet", name="web", resource_version=1, wanted=3)
MARKED = pending_pod("marked", owner="other")
UNTRIED = replace(pending_pod("p1"), unschedulable_since=None)
REACHED = Refusal(pool="default", reason=Reason.LIMIT_REACHED, detail="the limit of cpu is reached")
SOFT = TopologySpread(topology_key="zone", max_skew=1, hard=False)


def asking(pod: Pod, **other: Any) -> Pod:
    return replace(pod, spec=replace(pod.spec, **other))


def wait(stage: Knowing, seconds: float = 0.0) -> None:
    """Let time go by; close the batch window, under a new name, if it was opened for untried pods."""
    stage.run(seconds)
    asked = stage.batcher.of(PodBecamePending)
    stage.batcher.received.clear()
    if asked:
        stage.close_batch(f"d{len(stage.selector.of(SnapshotTaken)) + 1}")


def planned(stage: Knowing) -> list[str]:
    """Return the pods of the last snapshot, each of those that stand for others by its owner."""
    taken = stage.selector.of(SnapshotTaken)
    pods = taken[-1].snapshot.pods if taken else ()
    return [pod.uid if pod.uid == "marked" else pod.owners[0].uid for pod in pods]


def test_untried_pods_are_planned_with_those_to_come() -> None:
    stage = Knowing(MARKED, WEB)

    stage.see(UNTRIED)
    wait(stage)

    assert planned(stage) == ["marked", "web", "web", "web"]


def test_a_workload_is_planned_though_the_pod_that_asked_for_it_got_a_node_meanwhile() -> None:
    stage = Knowing(MARKED, WEB)
    stage.see(UNTRIED, replace(UNTRIED, uid="p2", name="p2"))
    asked = [one.uid for one in stage.batcher.of(PodBecamePending)]
    stage.see(bound_pod("p1", "node", version=2, owner="web"))

    wait(stage)

    assert asked == ["untried/web"]
    assert planned(stage) == ["marked", "web", "web"]


def test_untried_pods_take_the_places_that_were_planned_for_them() -> None:
    stage = Knowing(MARKED, WEB, UNTRIED)
    wait(stage)
    pods = [pod.uid for pod in stage.selector.of(SnapshotTaken)[-1].snapshot.pods]

    stage.decide(planned_claim(*pods), name=stage.selector.of(SnapshotTaken)[-1].decision.id)
    stage.see(replace(UNTRIED, unschedulable_since=UNTRIED.created_at, resource_version=2))
    wait(stage, 20)

    assert stage.model.promises.of("p1") is not None
    assert stage.model.promises.to_come("web") == 2
    assert len(stage.selector.of(SnapshotTaken)) == 1


def test_a_restart_finds_the_places_of_untried_pods_and_buys_none_twice() -> None:
    stage = Knowing(MARKED, WEB, UNTRIED)
    wait(stage)
    taken = stage.selector.of(SnapshotTaken)[-1]
    stage.decide(planned_claim(*(pod.uid for pod in taken.snapshot.pods)), name=taken.decision.id)
    made = stage.committed()[-1].claims[0]

    again = Knowing(MARKED, WEB, UNTRIED, replace(made, resource_version=5))
    wait(again)

    assert again.model.promises.of("p1") is not None
    assert again.selector.of(SnapshotTaken) == []


PREFERRED = NodeAffinity(preferred=((1, (Expression("a", Operator.EXISTS),)),))
REQUIRED = NodeAffinity(required=((Expression("a", Operator.EXISTS),),))
NEAR = PodAffinityTerm(topology_key="zone", selector=LabelSelector())


@pytest.mark.parametrize(
    "marked",
    [
        asking(MARKED, scheduler_name="another"),
        asking(MARKED, priority=-1),
        asking(MARKED, requests=resources(cpu=2, pods=1)),
        asking(MARKED, node_selector=(("a", "b"),)),
        asking(MARKED, node_affinity=REQUIRED),
        asking(MARKED, host_ports=(HostPort(port=80),)),
        asking(MARKED, spread=(replace(SOFT, hard=True),)),
        asking(MARKED, pod_affinity=(NEAR,)),
        replace(MARKED, nominated_node="node"),
        replace(MARKED, unschedulable_since=None),
        replace(MARKED, deleting_since=MARKED.created_at),
    ],
)
def test_a_pod_that_asks_for_more_or_does_not_wait_for_room_says_nothing_of_others(marked: Pod) -> None:
    stage = Knowing(marked, WEB)

    stage.see(UNTRIED)
    wait(stage, 2)

    assert "web" not in planned(stage)


@pytest.mark.parametrize(
    "untried",
    [
        asking(UNTRIED, requests=resources(cpu="500m", pods=1)),
        asking(UNTRIED, tolerations=(Toleration(key="a"),)),
        asking(UNTRIED, priority=1),
        asking(UNTRIED, scheduling_gates=("gate",)),
        replace(UNTRIED, nominated_node="node"),
        replace(UNTRIED, unread="its volumes"),
    ],
)
def test_a_pod_that_asks_for_less_or_is_held_back_waits_for_the_scheduler(untried: Pod) -> None:
    stage = Knowing(MARKED, WEB)

    stage.see(untried)
    wait(stage, 2)

    assert "web" not in planned(stage)


@pytest.mark.parametrize(
    "untried",
    [
        asking(UNTRIED, requests=resources(cpu=8, memory="1Gi", pods=1)),
        asking(UNTRIED, priority=-5),
        asking(UNTRIED, node_selector=(("a", "b"),)),
        asking(UNTRIED, node_affinity=REQUIRED),
        asking(UNTRIED, spread=(replace(SOFT, hard=True),)),
        asking(UNTRIED, node_affinity=PREFERRED),
    ],
)
def test_a_pod_that_asks_for_more_than_one_that_found_no_node_is_planned(untried: Pod) -> None:
    stage = Knowing(MARKED, WEB)

    stage.see(untried)
    wait(stage)

    assert planned(stage).count("web") == 3


@pytest.mark.parametrize(
    ("seconds", "untried", "number"),
    [
        (20, UNTRIED, 3),
        (31, UNTRIED, 0),
        (1, asking(UNTRIED, spread=(SOFT,)), 0),
        (1, asking(UNTRIED, node_affinity=PREFERRED), 0),
    ],
)
def test_a_shortage_is_believed_in_for_half_a_minute_after_it_and_not_by_pods_with_preferences(
    seconds: float, untried: Pod, number: int
) -> None:
    stage = Knowing(MARKED, WEB)
    stage.see(bound_pod("marked", "node", version=2, owner="other"))

    stage.run(seconds)
    stage.see(replace(untried, created_at=stage.now()))
    wait(stage, 1)

    assert planned(stage).count("web") == number


def test_a_waiting_pod_that_is_resized_says_what_it_asks_for_now() -> None:
    stage = Knowing(MARKED, WEB)
    larger = asking(MARKED, requests=resources(cpu=2, pods=1))

    stage.see(replace(larger, resource_version=2))
    stage.see(bound_pod("marked", "node", version=3, owner="other"))
    stage.run(31)
    stage.see(replace(MARKED, uid="again", spec=larger.spec), replace(UNTRIED, created_at=stage.now()))
    wait(stage, 1)

    assert "web" not in planned(stage)


@pytest.mark.parametrize(
    ("seconds", "scheduler", "number"),
    [(290, "default-scheduler", 3), (301, "default-scheduler", 0), (40, "another", 0)],
)
def test_a_shortage_is_believed_in_for_minutes_while_the_scheduler_is_behind(
    seconds: float, scheduler: str, number: int
) -> None:
    late = replace(UNTRIED, uid="late", owners=pending_pod("p", owner="unknown").owners)
    stage = Knowing(MARKED, WEB, asking(late, scheduler_name=scheduler))
    stage.see(bound_pod("marked", "node", version=2, owner="other"))

    stage.run(seconds)
    stage.see(replace(UNTRIED, created_at=stage.now()))
    wait(stage, 1)

    assert planned(stage).count("web") == number


@pytest.mark.parametrize("other", [{"wanted": 0}, {"held": "suspended"}, {"for_pods_only": True}])
def test_nothing_is_planned_for_untried_pods_of_a_workload_that_keeps_none(other: dict[str, Any]) -> None:
    stage = Knowing(MARKED, replace(WEB, **other))

    stage.see(UNTRIED)
    wait(stage, 2)

    assert "web" not in planned(stage)


def refuse(stage: Knowing) -> None:
    """Answer the last snapshot: there is nothing to be had for anybody in it."""
    taken = stage.selector.of(SnapshotTaken)[-1]
    group = RefusedClass(pods=tuple(pod.uid for pod in taken.snapshot.pods), refusals=(REACHED,))
    plan = decided(taken.snapshot, nominations={}, name=taken.decision.id)
    stage.tell(replace(plan, plan=replace(plan.plan, refused=(group,))))


def test_untried_pods_for_which_nothing_is_to_be_had_are_asked_for_again_after_a_minute() -> None:
    stage = Knowing(MARKED, WEB, UNTRIED)
    wait(stage)
    refuse(stage)

    for number in range(2, 5):
        stage.see(replace(UNTRIED, uid=f"p{number}", name=f"p{number}"))
        wait(stage, 10)

    assert len([one for one in stage.snapshots() if any("web" in pod for pod in one[1])]) == 1
