"""Pods that workloads are still to make: planned with those that wait, and given up when they do not come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.cluster_rig import Knowing
from tests.builders import (
    bound_pod,
    claim,
    claim_of,
    decided,
    node,
    node_of,
    node_pool,
    pending_pod,
    planned_claim,
    resources,
    view,
)
from treenail.domain.cluster.changes import PodChanged
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind
from treenail.domain.cluster.duplicate_nodes import is_duplicate
from treenail.domain.cluster.planning import SnapshotTaken
from treenail.domain.cluster.workloads import Workload
from treenail.domain.disruption.disruption import DisruptNodes
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.launch.launching import ClaimFailed
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.claims import DECISION, EXPECTED, PROMISED
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import INSTANCE_TERMINATING, Condition, NodeClaim, Status
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.resources import Resources
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Reason, Refusal

WEB = Workload(uid="web", kind="ReplicaSet", name="web", resource_version=1, wanted=4)
P1 = pending_pod("p1")
REACHED = Refusal(pool="default", reason=Reason.LIMIT_REACHED, detail="the limit of cpu is reached")


def _planned(stage: Knowing) -> list[str]:
    return [pod.uid for pod in stage.selector.of(SnapshotTaken)[-1].snapshot.pods]


def _bought(workload: Workload = WEB) -> tuple[Knowing, NodeClaim]:
    """Return a stage on which one claim was committed for the first pod and all those to come."""
    stage = Knowing(P1, workload)
    stage.close_batch()
    stage.decide(planned_claim(*_planned(stage)))
    return stage, stage.committed()[-1].claims[0]


def _promised(stage: Knowing) -> list[str]:
    return sorted(p.pod if not p.expected else "to come" for p in stage.model.promises.all())


def _waiting(stage: Knowing) -> list[str]:
    told: dict[str, bool] = {c.uid: c.waiting for c in stage.pod_watcher.of(PodChanged)}
    return [uid for uid, waiting in told.items() if waiting]


def test_pods_to_come_are_planned_with_the_first_one() -> None:
    stage = Knowing(P1, WEB)

    stage.close_batch()

    taken = stage.selector.of(SnapshotTaken)[-1].snapshot.pods
    assert len(taken) == 4
    assert taken[0] == P1
    assert {pod.spec for pod in taken} == {P1.spec}
    assert {pod.owners for pod in taken} == {P1.owners}
    assert len({pod.uid for pod in taken}) == 4


@pytest.mark.parametrize(
    "other",
    [
        {"held": "suspended"},
        {"in_turn": True},
        {"for_pods_only": True},
        {"wanted": 1},
        {"revision": "newer"},
        {"uid": "another"},
    ],
)
def test_no_pods_are_expected_that_may_not_come(other: dict[str, Any]) -> None:
    stage = Knowing(P1, replace(WEB, **other))

    stage.close_batch()

    assert _planned(stage) == ["p1"]


def _failed(job: Workload, number: int, version: int) -> Workload:
    return replace(job, failed=number, resource_version=version)


def test_after_a_pod_of_a_job_failed_others_are_expected_when_one_was_made_since() -> None:
    stage = Knowing(WEB, P1)
    stage.run(5)
    stage.see(_failed(WEB, 1, 2))
    late = replace(pending_pod("late"), created_at=P1.created_at)
    stage.see(late)
    assert stage.model.expected.to_come("web") == 0

    stage.run(10)
    stage.see(replace(pending_pod("again"), created_at=stage.now()))
    assert stage.model.expected.to_come("web") == 1
    stage.see(_failed(WEB, 1, 3))
    assert stage.model.expected.to_come("web") == 1
    stage.see(_failed(WEB, 2, 4))
    assert stage.model.expected.to_come("web") == 0


def test_after_a_restart_nothing_is_expected_of_a_job_with_failures_before_it_makes_a_pod() -> None:
    stage = Knowing(_failed(WEB, 1, 2), P1, seconds=60)
    assert stage.model.expected.to_come("web") == 0

    stage.see(replace(pending_pod("again"), created_at=stage.now()))
    assert stage.model.expected.to_come("web") == 2


def test_the_claim_says_how_many_pods_are_to_come_and_of_whom() -> None:
    _, made = _bought()

    assert made.annotations[PROMISED] == "p1"
    assert made.annotations[EXPECTED] == "web=3"


def test_nobody_hears_that_a_pod_to_come_was_nominated() -> None:
    stage, _ = _bought()

    assert [pod.uid for pod, _ in stage.committed()[-1].places] == ["p1"]


def test_a_pod_that_comes_has_its_place_already() -> None:
    stage, _ = _bought()

    stage.see(pending_pod("p2"), pending_pod("p3"))

    assert _promised(stage) == ["p1", "p2", "p3", "to come"]
    assert _waiting(stage) == []


def test_a_pod_that_came_while_it_was_planned_gets_the_place() -> None:
    stage = Knowing(P1, WEB)
    stage.close_batch()
    planned = _planned(stage)
    stage.see(pending_pod("p2"))

    stage.decide(planned_claim(*planned))

    assert _promised(stage) == ["p1", "p2", "to come", "to come"]


def test_another_pod_of_the_workload_is_decided_on_where_it_asks_for_more() -> None:
    stage, _ = _bought()

    stage.see(pending_pod("p2", cpu=2))

    assert _waiting(stage) == ["p2"]
    assert _promised(stage) == ["p1", "to come", "to come"]


def test_a_wish_that_shrinks_gives_places_back_at_once() -> None:
    stage, _ = _bought()

    stage.see(replace(WEB, resource_version=2, wanted=2))
    assert _promised(stage) == ["p1", "to come"]
    stage.see(replace(WEB, resource_version=3, wanted=2, held="its pods cannot be made: exceeded quota"))
    assert _promised(stage) == ["p1"]


def test_pods_that_do_not_come_are_expected_no_longer() -> None:
    stage, _ = _bought()

    stage.run(29)
    assert _promised(stage) == ["p1", "to come", "to come", "to come"]
    stage.run(2)
    assert _promised(stage) == ["p1"]


def test_who_was_waited_for_in_vain_is_expected_again_after_news_and_a_pause() -> None:
    stage, _ = _bought()
    stage.run(31)

    stage.see(replace(pending_pod("p2", cpu=2), created_at=stage.now()))
    stage.close_batch("d2")
    assert _planned(stage) == ["p2"]
    stage.decide(name="d2")
    stage.run(61)
    stage.see(replace(pending_pod("p3", cpu=2), created_at=stage.now()))
    stage.close_batch("d3")
    assert len(_planned(stage)) == 3


def test_places_of_pods_that_did_not_come_are_for_those_that_come_late() -> None:
    stage, _ = _bought()
    stage.run(31)
    stage.see(pending_pod("p2"))

    stage.close_batch("d2")

    assert _promised(stage) == ["p1", "p2"]
    assert len(stage.snapshots()) == 1


def test_each_pod_that_comes_renews_the_patience() -> None:
    stage, _ = _bought()
    stage.run(20)
    stage.see(pending_pod("p2"))

    stage.run(29)

    assert _promised(stage) == ["p1", "p2", "to come", "to come"]


def test_promises_to_pods_to_come_outlast_the_readiness_of_their_node() -> None:
    stage, made = _bought()

    there = view(made.name)
    stage.see(replace(claim_of(there), resource_version=9), node_of(there))
    stage.run(25)

    assert _promised(stage) == ["to come", "to come", "to come"]


def test_pods_to_come_whose_room_others_took_are_planned_anew_a_second_later() -> None:
    stage, made = _bought()
    there = view(made.name)
    stage.see(replace(claim_of(there), resource_version=9), node_of(there))
    stage.run(0)
    first = len(stage.snapshots())

    stage.see(bound_pod("other", f"node-{made.name}", cpu=2, owner="db"))
    stage.run(0.9)
    assert len(stage.snapshots()) == first
    stage.run(0.2)

    assert len(stage.snapshots()) == first + 1
    _, planned = stage.snapshots()[-1]
    assert [uid.startswith("expected/") for uid in planned] == [True, True]


def test_a_claim_that_goes_unlaunched_holds_no_pods_to_come_back() -> None:
    stage, made = _bought()
    there = view(made.name)
    stage.see(replace(claim_of(there), resource_version=9), node_of(there), claim("stuck", leaving=True))
    stage.run(0)
    first = len(stage.snapshots())

    stage.see(bound_pod("other", f"node-{made.name}", cpu=2, owner="db"))
    stage.run(1.1)

    assert len(stage.snapshots()) == first + 1


def test_room_that_others_take_during_a_decision_is_planned_anew_after_it() -> None:
    stage, made = _bought()
    there, other = view(made.name), view("c9")
    stage.see(replace(claim_of(there), resource_version=9), node_of(there), claim_of(other), node_of(other))
    stage.see(replace(WEB, wanted=6, resource_version=2))
    stage.see(replace(pending_pod("p5", cpu="100m"), created_at=stage.now()))
    stage.run(0)
    stage.close_batch("d2")
    planned = _planned(stage)

    stage.see(bound_pod("other", f"node-{made.name}", cpu=2, owner="db"))
    stage.decide(name="d2", **dict.fromkeys(planned, "c9"))
    first = len(stage.snapshots())
    stage.run(1.1)

    assert len(stage.snapshots()) == first + 1


def test_pods_that_wait_come_before_those_to_come() -> None:
    other = pending_pod("other", cpu=8, owner="db")
    stage = Knowing(P1, other, WEB)
    stage.close_batch()
    snapshot = stage.selector.of(SnapshotTaken)[-1].snapshot
    reached = RefusedClass(pods=("other",), refusals=(REACHED,))

    plan = decided(snapshot, planned_claim(*(p.uid for p in snapshot.pods if p.uid != "other")), name="d1")
    stage.tell(replace(plan, plan=replace(plan.plan, refused=(reached,))))

    assert stage.committed() == []
    assert _planned(stage) == ["other", "p1"]


def test_pods_that_the_scheduler_has_not_looked_at_yet_are_planned_too() -> None:
    new = replace(pending_pod("p2"), unschedulable_since=None)
    stage = Knowing(P1, new, WEB)
    stage.close_batch()

    stage.decide(planned_claim(*_planned(stage)))

    assert _promised(stage) == ["p1", "p2", "to come", "to come"]
    assert stage.committed()[-1].claims[0].annotations[PROMISED] == "p1,p2"


@pytest.mark.parametrize(
    ("there", "wished"),
    [
        ((WEB,), 4),
        ((WEB, bound_pod("p0", "node", owner="web")), 3),
        ((replace(WEB, wanted=1),), 1),
        ((replace(WEB, held="suspended"),), 0),
        ((replace(WEB, wanted=1), pending_pod("p0")), 0),
        ((), 0),
    ],
)
def test_a_pod_that_waits_says_how_many_of_its_workload_are_planned_with_it(
    there: tuple[ClusterObject, ...], wished: int
) -> None:
    assert _wished(Knowing(*there), "p1") == wished


def _wished(stage: Knowing, uid: str) -> int:
    """Return how many pods like a new one are known of, so that a batch need not wait for them."""
    stage.see(pending_pod(uid))
    (told,) = [change for change in stage.pod_watcher.of(PodChanged) if change.uid == uid]
    return told.wished


def test_batches_wait_for_pods_as_usual_where_limits_leave_no_places_for_those_to_come() -> None:
    stage = Knowing(P1, WEB)
    stage.close_batch()
    first, *to_come = _planned(stage)
    group = RefusedClass(pods=tuple(to_come), refusals=(REACHED,))
    plan = decided(stage.selector.of(SnapshotTaken)[-1].snapshot, planned_claim(first), name="d1")
    stage.tell(replace(plan, plan=replace(plan.plan, refused=(group,))))

    assert _wished(stage, "p2") == 0
    stage.close_batch("d2")
    stage.decide(planned_claim(*_planned(stage)), name="d2")
    stage.see(replace(WEB, wanted=9, resource_version=9), pending_pod("p3"), pending_pod("p4"))
    # Four of the nine have places.
    assert _wished(stage, "p5") == 5


def test_batches_wait_for_pods_as_usual_where_pools_are_for_pods_only() -> None:
    stage = Knowing(P1, WEB)
    stage.see(replace(node_pool(version=5), for_pods_only=True))
    stage.close_batch()
    for _ in range(2):
        stage.decide(planned_claim(*_planned(stage)))

    assert _wished(stage, "p2") == 0


def test_a_restart_finds_the_places_of_pods_to_come_and_buys_none_twice() -> None:
    _, made = _bought()

    again = Knowing(P1, pending_pod("p2"), WEB, replace(made, resource_version=5))

    assert _promised(again) == ["p1", "p2", "to come", "to come"]
    again.close_batch("d2")
    assert again.snapshots() == []


def test_after_a_restart_no_places_are_kept_for_pods_that_are_wanted_no_more() -> None:
    _, made = _bought()

    again = Knowing(P1, replace(WEB, wanted=2), replace(made, resource_version=5))

    assert _promised(again) == ["p1", "to come"]


def test_after_a_restart_no_places_are_kept_on_a_node_that_others_filled() -> None:
    _, made = _bought()
    there = view(made.name, room=resources(cpu=4, pods=10))
    bought = replace(claim_of(there), resource_version=9, annotations=made.annotations)
    others = [replace(bound_pod(f"o{n}", there.node_name), owners=()) for n in range(4)]

    again = Knowing(P1, pending_pod("p2"), WEB, bought, node_of(there), *others)

    assert _promised(again) == []


def test_who_made_no_pods_in_time_is_told() -> None:
    stage, _ = _bought(replace(WEB, part_of="Deployment/web"))

    stage.run(31)

    (line,) = [one for one in stage.telemetry.logs if one.message == "pods did not come"]
    assert (line.fields["workload"], line.fields["places"]) == ("Deployment/web", 3)


def test_a_pool_for_pods_only_buys_nothing_for_pods_to_come() -> None:
    stage = Knowing(P1, WEB)
    stage.see(replace(node_pool(version=5), for_pods_only=True))
    stage.close_batch()

    stage.decide(planned_claim(*_planned(stage)))
    assert _planned(stage) == ["p1"]
    stage.decide(planned_claim(*_planned(stage)))

    assert _promised(stage) == ["p1"]


@pytest.mark.parametrize(("unanswered", "anew"), [(("heavy",), True), ((), False)])
def test_a_pool_buys_nothing_for_pods_to_come_while_it_is_not_known_what_a_heavier_one_sells(
    unanswered: tuple[str, ...], *, anew: bool
) -> None:
    stage = Knowing(P1, WEB)
    stage.see(replace(node_pool("heavy", version=5), weight=1))
    stage.close_batch()

    plan = decided(stage.selector.of(SnapshotTaken)[-1].snapshot, planned_claim(*_planned(stage)))
    stage.tell(replace(plan, unanswered=unanswered))

    assert _promised(stage) == ([] if anew else ["p1", "to come", "to come", "to come"])
    assert [_planned(stage) for _ in range(anew)] == [["p1"]] * anew


def test_a_node_is_explained_by_the_pods_it_was_bought_for_that_were_to_come() -> None:
    stage, made = _bought(replace(WEB, part_of="Deployment/web"))

    known = stage.model.objects.view(made.name)

    assert known is not None
    said = [one.says for one in explain_node(stage.model, known, stage.now())]
    assert "It was made for 3 pods of Deployment/web that were still to come." in said


def test_a_node_for_pods_to_come_is_no_duplicate_of_another() -> None:
    _, made = _bought()
    elsewhere = bound_pod("p1", "elsewhere")
    other = replace(made, name="other", annotations={PROMISED: "p1", DECISION: "d2"})
    there = {"elsewhere": node("elsewhere", provider_id="aws:///a/i-2")}

    alone = replace(made, annotations={PROMISED: "p1", DECISION: "d1"})
    assert is_duplicate(alone, {"p1": elsewhere}, there, [alone, other])
    assert not is_duplicate(made, {"p1": elsewhere}, there, [made, other])


def _given_up(stage: Knowing) -> list[str]:
    return [view.name for order in stage.arbiter.of(DisruptNodes) for view in order.nodes]


def test_a_claim_for_pods_wanted_no_more_is_given_up_before_it_is_launched() -> None:
    stage = Knowing(P1, WEB)
    stage.close_batch()
    first, *others = _planned(stage)
    stage.decide(planned_claim(first), planned_claim(*others))
    used, spare = stage.committed()[-1].claims
    stage.see(replace(used, resource_version=5), replace(spare, resource_version=6))
    assert _given_up(stage) == []

    stage.see(replace(WEB, resource_version=2, wanted=1))

    assert _given_up(stage) == [spare.name]


def test_a_claim_that_is_not_written_yet_is_given_up_when_it_is() -> None:
    stage = Knowing(P1, WEB)
    stage.close_batch()
    first, *others = _planned(stage)
    stage.decide(planned_claim(first), planned_claim(*others))
    spare = stage.committed()[-1].claims[1]
    stage.see(replace(WEB, resource_version=2, wanted=1))
    assert _given_up(stage) == []

    stage.see(replace(spare, resource_version=5))

    assert _given_up(stage) == [spare.name]


def test_a_claim_for_pods_wanted_no_more_stays_for_one_like_them_that_waits() -> None:
    stage = Knowing(P1, WEB)
    stage.close_batch()
    first, *others = _planned(stage)
    stage.see(replace(pending_pod("other", owner="db"), spec=P1.spec))
    stage.decide(planned_claim(first), planned_claim(*others))
    spare = stage.committed()[-1].claims[1]
    stage.see(replace(spare, resource_version=5))

    stage.see(replace(WEB, resource_version=2, wanted=1))

    assert _given_up(stage) == []
    promise = stage.model.promises.of("other")
    assert promise is not None
    assert promise.target == spare.name


def test_a_claim_for_pods_that_are_late_is_not_given_up() -> None:
    stage = Knowing(P1, WEB)
    stage.close_batch()
    first, *others = _planned(stage)
    stage.decide(planned_claim(first), planned_claim(*others))
    spare = stage.committed()[-1].claims[1]
    stage.see(replace(spare, resource_version=5))

    stage.run(31)

    assert _promised(stage) == ["p1"]
    assert _given_up(stage) == []


def test_a_claim_that_is_launched_already_is_left_to_the_rules_for_empty_nodes() -> None:
    stage, made = _bought()
    stage.see(replace(WEB, resource_version=2, held="deleted"))
    stage.lose(Kind.POD, "p1")
    there = replace(claim_of(view(made.name)), resource_version=9, annotations=made.annotations)

    stage.see(there)

    assert _given_up(stage) == []


@pytest.fixture
def sliced(monkeypatch: pytest.MonkeyPatch) -> Knowing:
    """Return a stage on which the first 2 of 5 pods to come were planned, with one that waits."""
    monkeypatch.setattr("treenail.domain.cluster.expected_pods.MOST", 2)
    stage = Knowing(P1, replace(WEB, wanted=6))
    stage.close_batch()
    first, *others = _planned(stage)
    stage.decide(planned_claim(first), planned_claim(*others))
    return stage


def _launch(stage: Knowing) -> None:
    for version, made in enumerate(stage.committed()[-1].claims, 20):
        there = claim_of(view(made.name))
        stage.see(replace(there, resource_version=version, annotations=made.annotations))


def test_the_next_pods_of_a_large_workload_are_planned_when_the_nodes_for_the_last_are_granted(
    sliced: Knowing,
) -> None:
    first, second = sliced.committed()[-1].claims
    there = claim_of(view(first.name))
    sliced.see(replace(there, resource_version=9, annotations=first.annotations))
    assert len(sliced.snapshots()) == 1

    there = claim_of(view(second.name))
    sliced.see(replace(there, resource_version=9, annotations=second.annotations))

    assert len(sliced.snapshots()) == 2
    assert len(_planned(sliced)) == 2


def test_all_of_a_large_workload_are_planned_in_the_end_and_no_more(sliced: Knowing) -> None:
    for _ in range(3):
        _launch(sliced)
        taken = sliced.selector.of(SnapshotTaken)[-1]
        if len(sliced.snapshots()) > len(sliced.committed()):
            sliced.decide(planned_claim(*_planned(sliced)), name=taken.decision.id)

    assert _promised(sliced) == ["p1", *["to come"] * 5]
    assert [len(pods) for _, pods in sliced.snapshots()] == [3, 2, 1]


def test_what_was_not_to_be_had_is_planned_on_after_a_pause(sliced: Knowing) -> None:
    _, failed = sliced.committed()[-1].claims

    sliced.tell(ClaimFailed(claim=failed.name, cause=Cause.INSUFFICIENT_CAPACITY, why="none"))

    assert len(sliced.snapshots()) == 1
    sliced.run(29)
    sliced.see(replace(pending_pod("p2"), created_at=sliced.now()))
    sliced.run(28)
    assert len(sliced.snapshots()) == 1
    sliced.run(5)
    assert len(sliced.snapshots()) == 2


@pytest.mark.parametrize("waits", [True, False])
def test_pods_to_come_whose_room_others_took_in_a_pause_wait_for_one_that_waits_or_its_end(
    monkeypatch: pytest.MonkeyPatch, *, waits: bool
) -> None:
    monkeypatch.setattr("treenail.domain.cluster.expected_pods.MOST", 2)
    stage = Knowing(P1, replace(WEB, wanted=6))
    stage.close_batch()
    first, second, third = _planned(stage)
    stage.decide(planned_claim(first, second), planned_claim(third))
    granted, failed = stage.committed()[-1].claims
    there = view(granted.name)
    stage.see(replace(claim_of(there), resource_version=9), node_of(there))
    stage.tell(ClaimFailed(claim=failed.name, cause=Cause.INSUFFICIENT_CAPACITY, why="none"))
    stage.see(replace(bound_pod("p1", there.node_name, version=2), created_at=P1.created_at))

    stage.see(bound_pod("other", there.node_name, cpu=3, owner="db"))
    assert _promised(stage) == []
    stage.run(29)
    assert len(stage.snapshots()) == 1
    stage.see(replace(pending_pod("p2"), created_at=stage.now()))
    if waits:
        stage.close_batch("d2")
    else:
        stage.run(32)

    assert len(stage.snapshots()) == 2
    assert sum(uid.startswith("expected/") for uid in _planned(stage)) == 2


def test_the_pauses_grow_while_there_are_no_places_for_more(sliced: Knowing) -> None:
    _launch(sliced)
    pauses: list[float] = []
    for number in range(1, 4):
        taken = sliced.selector.of(SnapshotTaken)[-1]
        refused = RefusedClass(pods=tuple(pod.uid for pod in taken.snapshot.pods), refusals=(REACHED,))
        nothing = decided(taken.snapshot, name=taken.decision.id)
        sliced.tell(replace(nothing, plan=replace(nothing.plan, refused=(refused,))))
        began = sliced.now()
        while len(sliced.snapshots()) == number + 1:
            # Some pod comes now and then, else no more are expected.
            sliced.see(replace(pending_pod(f"p{sliced.now()}"), resource_version=1))
            sliced.see(replace(WEB, resource_version=100 + len(sliced.model.objects.pods), wanted=10_000))
            sliced.run(10)
        pauses.append((sliced.now() - began).total_seconds())

    assert pauses == [60, 120, 240]


def _spans(stage: Knowing, name: str) -> list[dict[str, Any]]:
    return [dict(span.attributes) for span in stage.telemetry.spans() if span.name == name]


def test_it_is_counted_and_traced_how_many_pods_came() -> None:
    stage, _ = _bought()
    stage.see(pending_pod("p2"))
    assert _spans(stage, "await-pods") == []

    stage.run(31)

    (said,) = _spans(stage, "await-pods")
    assert (said["treenail.expected"], said["treenail.came"]) == (3, 1)
    assert stage.telemetry.counted("treenail_expected_pods_came_total") == 1


def _spare() -> tuple[Knowing, NodeClaim]:
    """Return a stage on which a node at $0.36 an hour was launched for pods to come alone."""
    stage = Knowing(P1, WEB)
    stage.close_batch()
    first, *others = _planned(stage)
    stage.decide(planned_claim(first), planned_claim(*others))
    made = stage.committed()[-1].claims[1]
    launched = replace(claim_of(view(made.name)), resource_version=5, created_at=stage.now())
    spare = replace(
        launched,
        annotations={**made.annotations, labels.PRICE: "0.36"},
        conditions=tuple(replace(one, since=stage.now()) for one in launched.conditions),
    )
    stage.see(spare)
    return stage, spare


UNUSED = "treenail_expected_pods_unused_dollars_total"


def test_a_node_that_goes_before_any_of_its_pods_came_is_counted_with_what_it_cost() -> None:
    stage, spare = _spare()
    stage.run(100)

    stage.lose(Kind.NODE_CLAIM, spare.name)

    assert stage.telemetry.counted(UNUSED, nodepool="default") == pytest.approx(0.01)
    (said,) = _spans(stage, "unused")
    assert said["treenail.nodeclaim.name"] == spare.name
    assert said["treenail.cost_usd"] == pytest.approx(0.01)


def test_a_node_costs_nothing_any_more_when_its_machine_is_ended() -> None:
    stage, spare = _spare()
    stage.run(100)
    ending = Condition(INSTANCE_TERMINATING, Status.TRUE, INSTANCE_TERMINATING, since=stage.now())
    going = replace(spare, resource_version=6, deleting_since=stage.now())
    stage.see(replace(going, conditions=(*spare.conditions, ending)))
    stage.run(100)

    stage.lose(Kind.NODE_CLAIM, spare.name)

    assert stage.telemetry.counted(UNUSED, nodepool="default") == pytest.approx(0.01)


def test_a_node_costs_something_for_nothing_until_other_pods_come() -> None:
    stage, spare = _spare()
    stage.run(50)

    stage.see(node_of(view(spare.name)), replace(bound_pod("other", view(spare.name).node_name), owners=()))
    stage.run(50)
    stage.lose(Kind.NODE_CLAIM, spare.name)

    assert stage.telemetry.counted(UNUSED, nodepool="default") == pytest.approx(0.005)


def test_a_node_whose_pods_came_costs_nothing_for_nothing() -> None:
    stage, spare = _spare()
    stage.see(replace(pending_pod("p2"), owners=P1.owners))
    stage.run(100)

    stage.lose(Kind.NODE_CLAIM, spare.name)

    assert stage.telemetry.counted(UNUSED, nodepool="default") == 0
    assert _spans(stage, "unused") == []


@pytest.mark.parametrize(("generation", "cost"), [(Generation.V1, 0.01), (Generation.V1ALPHA5, 0)])
def test_after_a_start_an_old_claim_does_not_say_whether_pods_ever_came(
    generation: Generation, cost: float
) -> None:
    _, spare = _spare()
    used = replace(claim_of(view(spare.name)), annotations=spare.annotations, generation=generation)
    stage = Knowing(WEB, replace(used, resource_version=6), node_of(view(spare.name)))
    stage.run(100)

    stage.lose(Kind.NODE_CLAIM, spare.name)

    assert stage.telemetry.counted(UNUSED) == pytest.approx(cost)


SMALL = ResourceQuota(name="small", resource_version=1, hard=Resources({"pods": 3}))


def test_pods_beyond_a_quota_are_not_planned_and_it_is_told_how_many_it_holds_back() -> None:
    stage = Knowing(P1, WEB, SMALL)

    stage.close_batch()
    stage.decide(planned_claim(*_planned(stage)))

    assert len(_planned(stage)) == 3
    (line,) = stage.logged("quota holds pods back")
    told = {"quota": "default/small", "workload": "default/ReplicaSet/web", "pods": 1}
    assert told.items() <= line.items()
    (said,) = _spans(stage, "decide")
    assert said["treenail.held_back"] == ("default/small: default/ReplicaSet/web 1",)


def test_it_is_not_told_again_and_again_what_a_quota_holds_back() -> None:
    stage = Knowing(P1, WEB, SMALL)
    for name in ("d1", "d2"):
        stage.close_batch(name)
        stage.decide(name=name)

    assert len(stage.logged("quota holds pods back")) == 1


def test_of_workloads_whose_quota_is_lowered_while_they_are_planned_no_more_places_are_promised() -> None:
    api, first = replace(WEB, uid="api", name="api"), pending_pod("x1", owner="api")
    stage = Knowing(P1, first, WEB, api, replace(SMALL, hard=Resources({"pods": 8})))
    stage.close_batch()
    planned = _planned(stage)
    assert len(planned) == 8

    stage.see(replace(SMALL, hard=Resources({"pods": 5}), resource_version=2))
    mixed = planned[:2] + [uid for pair in zip(planned[2:5], planned[5:], strict=True) for uid in pair]
    stage.decide(planned_claim(*mixed, cpu=16))

    assert _promised(stage) == ["p1", "to come", "to come", "to come", "x1"]
    assert stage.committed()[-1].claims[0].annotations[EXPECTED] == "api=1,web=2"


def test_claims_for_pods_that_a_quota_lets_be_made_no_more_are_given_up_before_they_are_launched() -> None:
    stage = Knowing(P1, WEB, replace(SMALL, hard=Resources({"pods": 4})))
    stage.close_batch()
    first, *others = _planned(stage)
    stage.decide(planned_claim(first), planned_claim(*others))
    spare = stage.committed()[-1].claims[1]
    stage.see(*(replace(one, resource_version=2) for one in stage.committed()[-1].claims))

    stage.see(replace(SMALL, hard=Resources({"pods": 1}), resource_version=2))

    assert _promised(stage) == ["p1"]
    (order,) = stage.arbiter.of(DisruptNodes)
    assert [view.name for view in order.nodes] == [spare.name]
