from __future__ import annotations

from dataclasses import replace

import pytest

from tests.actors.cluster_rig import IN_USE, LASTS, Knowing
from tests.builders import (
    START,
    at,
    bound_pod,
    claim,
    decided,
    node_class,
    node_pool,
    pending_pod,
    planned_claim,
    resources,
)
from tests.domain.storages import storage_claim, using
from treenail.domain.cluster.changes import PodBound, PodChanged, TryAgain
from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside, PoolsSeen, Resynced
from treenail.domain.cluster.planning import PlanCommitted, SnapshotTaken
from treenail.domain.cluster.refused_pods import MoreToBuy
from treenail.domain.cluster.set_aside import ObjectUnderstood
from treenail.domain.model.claims import PROMISED
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.pods import Pod
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Reason, Refusal
from treenail.domain.telemetry.metrics import UNSCHEDULABLE_PODS

P1, P2 = pending_pod("p1"), pending_pod("p2")
CORDONED = {"unschedulable": True}


# --- planning


def test_a_batch_is_given_a_snapshot() -> None:
    stage = Knowing(P1, *IN_USE)

    stage.close_batch()

    (taken,) = stage.selector.of(SnapshotTaken)
    assert taken.decision.id == "d1"
    assert [p.uid for p in taken.snapshot.pods] == ["p1"]
    assert [r.name for r in taken.snapshot.existing_nodes] == ["c1"]
    assert taken.snapshot.revision == stage.model.revision


def test_nothing_is_planned_before_the_first_full_list() -> None:
    stage = Knowing(P1, synced=False)

    stage.close_batch()
    assert stage.snapshots() == []
    stage.tell(Resynced(revision=9, objects=(node_pool(), node_class(), P1)))

    assert stage.snapshots() == [("d1", ["p1"])]


def test_a_batch_without_a_pod_to_place_is_not_planned() -> None:
    stage = Knowing()

    stage.close_batch()

    assert stage.snapshots() == []


def refusing(stage: Knowing, pod: Pod, reason: Reason = Reason.TOO_LARGE) -> None:
    """Let a decision refuse a pod."""
    stage.close_batch()
    snapshot = stage.selector.of(SnapshotTaken)[-1].snapshot
    group = RefusedClass(pods=(pod.uid,), refusals=(Refusal("default", reason, ""),))
    stage.tell(decided(snapshot, refused=(group,)))
    stage.pod_watcher.received.clear()


def test_the_number_of_refused_pods_is_measured_until_they_are_gone() -> None:
    def measured() -> float | None:
        return stage.telemetry.gauged(UNSCHEDULABLE_PODS.name, controller="provisioner")

    stage = Knowing(P1)
    refusing(stage, P1)
    assert measured() == 1

    stage.lose(Kind.POD, P1.uid)

    assert measured() == 0


def test_refused_pods_are_tried_again_when_the_storage_they_wait_for_changes() -> None:
    stage = Knowing(using("data"))
    refusing(stage, using("data"), Reason.VOLUME_CLAIM)

    stage.see(storage_claim())
    stage.run(0.5)

    assert stage.pod_watcher.received == [TryAgain(uids=("p1",))]


def test_a_refused_pod_is_left_out_of_decisions_until_it_is_tried_again() -> None:
    stage = Knowing(P1)
    refusing(stage, P1)

    stage.see(P2)
    stage.close_batch("d2")
    stage.decide(planned_claim("p2"), name="d2")
    stage.run(36)
    stage.close_batch("d3")

    assert stage.pod_watcher.of(TryAgain) == [TryAgain(uids=("p1",))]
    assert stage.snapshots() == [("d1", ["p1"]), ("d2", ["p2"]), ("d3", ["p1"])]


def test_a_refused_pod_is_tried_again_for_what_changed_while_it_was_decided_on() -> None:
    stage = Knowing(P1)
    stage.close_batch()
    stage.see(replace(node_pool(version=2), weight=1))
    stage.run(5)
    snapshot = stage.selector.of(SnapshotTaken)[-1].snapshot
    group = RefusedClass(pods=("p1",), refusals=(Refusal("default", Reason.TOO_LARGE, ""),))

    stage.tell(decided(snapshot, refused=(group,)))
    stage.run(0.5)

    assert stage.pod_watcher.of(TryAgain) == [TryAgain(uids=("p1",), afresh=True)]


@pytest.mark.parametrize(("reason", "told"), [(Reason.NO_CAPACITY, 1), (Reason.TOO_LARGE, 0)])
def test_what_may_be_bought_again_helps_those_that_found_no_capacity(reason: Reason, told: int) -> None:
    stage = Knowing(P1)
    refusing(stage, P1, reason)

    stage.tell(MoreToBuy(again=True))
    stage.run(1)

    assert len(stage.pod_watcher.of(TryAgain)) == told


def test_limits_that_leave_more_help_those_they_left_too_little() -> None:
    stage = Knowing(P1, claim("c1", room=resources(cpu=4)), limits=resources(cpu=8))
    refusing(stage, P1, Reason.LIMIT_REACHED)

    stage.lose(Kind.NODE_CLAIM, "c1")
    stage.run(1)

    assert stage.pod_watcher.of(TryAgain) == [TryAgain(uids=("p1",))]


def test_a_pod_whose_place_an_alike_one_took_gets_that_ones_and_is_not_decided_on() -> None:
    on_its_way = claim("c2", annotations={PROMISED: "p1"})
    stage = Knowing(*IN_USE, on_its_way, P2, bound_pod("p1", "node-c1"))

    stage.close_batch()

    assert stage.snapshots() == []
    assert [p.pod for p in stage.model.promises.at("c2")] == ["p2"]
    assert stage.pod_watcher.of(PodChanged)[-1] == PodChanged(uid="p2", pod=P2, waiting=False)


def test_one_plan_is_open_at_a_time() -> None:
    stage = Knowing(P1, P2)
    stage.close_batch("d1")

    stage.close_batch("d2")
    assert stage.snapshots() == [("d1", ["p1", "p2"])]
    stage.decide(planned_claim("p1"))

    assert stage.snapshots() == [("d1", ["p1", "p2"]), ("d2", ["p2"])]


def test_batches_that_close_while_a_plan_is_open_are_decided_on_together() -> None:
    stage = Knowing(P1, P2)
    stage.close_batch("d1")

    stage.close_batch("d2", pods=2, opened=7)
    stage.close_batch("d3", pods=3, opened=5)
    stage.decide(planned_claim("p1"))

    decision = stage.selector.of(SnapshotTaken)[-1].decision
    assert (decision.id, decision.pods, decision.opened_at) == ("d3", 5, at(5))


def test_a_plan_becomes_promises_before_anybody_hears_of_it() -> None:
    stage = Knowing(P1)
    promised: list[list[str]] = []
    tell = stage.launcher.tell

    def told(message: object) -> None:
        if isinstance(message, PlanCommitted):
            promised.append([p.pod for p in stage.model.promises.all()])
        tell(message)

    stage.launcher.tell = told  # type: ignore[method-assign]
    stage.close_batch()

    stage.decide(planned_claim("p1"))

    assert promised == [["p1"]]


def test_the_pod_watcher_hears_that_pods_wait_no_longer_before_it_hears_of_the_plan() -> None:
    stage = Knowing(P1)
    stage.close_batch()
    stage.pod_watcher.received.clear()

    stage.decide(planned_claim("p1"))

    kinds = [type(m).__name__ for m in stage.pod_watcher.received]
    assert kinds == ["PodChanged", "PlanCommitted"]
    assert stage.pod_watcher.received[0].waiting is False


def test_a_plan_that_nobody_waits_for_is_not_committed() -> None:
    stage = Knowing(P1)
    plan = decided(stage.model.snapshot(START), planned_claim("p1"))

    stage.tell(plan)
    stage.close_batch("d2")
    stage.tell(plan)
    assert stage.committed() == []
    stage.decide(planned_claim("p1"), name="d2")
    stage.tell(replace(plan, decision=stage.selector.of(SnapshotTaken)[-1].decision))

    assert [p.decision.id for p in stage.committed()] == ["d2"]


def test_a_plan_that_is_lost_makes_way_for_the_next_one() -> None:
    stage = Knowing(P1)
    stage.close_batch("d1")
    stage.close_batch("d2")
    stage.pod_watcher.received.clear()

    stage.run(299)
    assert len(stage.snapshots()) == 1
    stage.run(1)

    assert stage.snapshots() == [("d1", ["p1"]), ("d2", ["p1"])]
    assert stage.pod_watcher.received == [TryAgain()]


def test_a_plan_that_came_is_not_lost() -> None:
    stage = Knowing(P1)
    stage.close_batch("d1")
    stage.decide(planned_claim("p1"))
    stage.pod_watcher.received.clear()

    stage.run(600)

    assert stage.pod_watcher.received == []


def test_a_decision_is_traced_and_measured() -> None:
    stage = Knowing(P1, limits=resources(cpu=10))
    stage.close_batch()

    stage.decide(planned_claim("p1", cpu=4))

    assert {s.name for s in stage.telemetry.spans()} == {"decide", "batch", "select", "pack"}
    assert stage.telemetry.gauged("karpenter_scheduler_queue_depth", controller="provisioner") == 0
    assert stage.telemetry.observed("karpenter_scheduler_scheduling_duration_seconds").count == 1


# --- pods


def test_a_pod_is_told_when_it_starts_and_ceases_to_wait_and_not_in_between() -> None:
    stage = Knowing()

    stage.see(P1, replace(P1, resource_version=2, ready=True))
    stage.lose(Kind.POD, "p1")

    assert [(m.uid, m.pod is not None, m.waiting) for m in stage.pod_watcher.of(PodChanged)] == [
        ("p1", True, True),
        ("p1", False, False),
    ]


def test_a_pod_that_is_bound_is_told() -> None:
    stage = Knowing(*IN_USE, P1)

    stage.see(bound_pod("p1", "node-c1", version=2))

    assert [(m.pod.uid, m.view.name) for m in stage.pod_watcher.of(PodBound)] == [("p1", "c1")]


def test_a_promise_that_nobody_used_is_over_in_time() -> None:
    stage = Knowing(*IN_USE, P1)
    stage.close_batch()
    stage.decide(p1="c1")
    stage.pod_watcher.received.clear()

    stage.run(LASTS.total_seconds() - 0.1)
    assert stage.pod_watcher.received == []
    stage.run(0.1)

    assert [(m.uid, m.waiting) for m in stage.pod_watcher.of(PodChanged)] == [("p1", True)]
    assert stage.model.promises.targets() == ()


def test_promises_are_over_one_after_the_other() -> None:
    stage = Knowing(*IN_USE, P1, P2)
    for name, uid in (("d1", "p1"), ("d2", "p2")):
        stage.close_batch(name)
        stage.decide(name=name, **{uid: "c1"})
        stage.run(5)

    stage.run(10)
    assert [p.pod for p in stage.model.promises.all()] == ["p2"]
    stage.run(5)

    assert len(stage.model.promises) == 0


# --- what cannot be understood


def aside(problem: str = "spec.weight: too large") -> ObjectSetAside:
    about = ObjectRef(kind="NodePool", name="default")
    return ObjectSetAside(
        kind=Kind.NODE_POOL, key="default", resource_version=5, about=about, problem=problem
    )


def test_an_object_nobody_understands_is_told_once_for_each_problem_and_stays_as_it_was() -> None:
    stage = Knowing()

    stage.tell(aside(), aside(), aside("spec.limits: no quantity"))

    problems = [m.problem for m in stage.reporter.of(ObjectSetAside)]
    assert problems == ["spec.weight: too large", "spec.limits: no quantity"]
    assert stage.model.objects.pools == {"default": node_pool()}
    assert stage.telemetry.counted("treenail_objects_set_aside_total", kind="NodePool") == 2


@pytest.mark.parametrize("listed", [True, False])
def test_an_object_that_is_put_right_is_told_once(*, listed: bool) -> None:
    stage = Knowing()
    stage.tell(aside())
    good = node_pool(version=9)

    for _ in range(2):
        stage.tell(Resynced(revision=9, objects=(good,))) if listed else stage.see(good)

    assert stage.reporter.of(ObjectUnderstood) == [ObjectUnderstood(kind=Kind.NODE_POOL, about=aside().about)]


def test_an_object_nobody_understands_survives_a_full_list() -> None:
    stage = Knowing(P1)

    for _ in range(2):
        stage.tell(Resynced(revision=9, objects=(node_class(), P1), set_aside=(aside(),)))

    assert stage.model.objects.pools == {"default": node_pool()}
    assert stage.reporter.of(ObjectSetAside) == [aside()]
    stage.tell(Resynced(revision=9, objects=(node_class(), P1)))
    assert stage.model.objects.pools == {}


@pytest.mark.parametrize("listed", [True, False])
def test_an_object_that_is_gone_is_set_aside_no_longer(*, listed: bool) -> None:
    stage = Knowing()
    stage.tell(aside())

    if listed:
        stage.tell(Resynced(revision=9, objects=(node_class(),)))
    else:
        stage.lose(Kind.NODE_POOL, "default")
    stage.see(node_pool(version=10))

    assert stage.reporter.of(ObjectUnderstood) == [ObjectUnderstood(kind=Kind.NODE_POOL, about=aside().about)]
    stage.tell(aside())
    assert stage.reporter.of(ObjectSetAside) == [aside(), aside()]


def test_what_pools_and_node_classes_there_are_is_told_when_one_says_something_new() -> None:
    stage = Knowing()

    stage.see(node_pool(version=2))
    stage.see(node_pool("other", version=3))

    assert stage.reporter.of(PoolsSeen) == [
        PoolsSeen(pools=(node_pool(),), node_classes=(node_class(),)),
        PoolsSeen(pools=(node_pool(version=2), node_pool("other", version=3)), node_classes=(node_class(),)),
    ]
