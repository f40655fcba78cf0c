from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api
from tests.builders import START, at, bound_pod, decision, pending_pod, view
from tests.probes import Probe
from treenail.actors.pod_watcher import PodWatcher
from treenail.domain.cluster.batch_window import PodBecamePending, PodLeft
from treenail.domain.cluster.changes import PodBound, PodChanged, TryAgain
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.model import labels
from treenail.domain.model.pods import Pod
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Reason, Refusal

REFUSALS = (Refusal("default", Reason.TOO_LARGE, "no type is large enough"),)


class Watching(Stage):
    """A pod watcher with an API server to publish events at."""

    def __init__(self) -> None:
        super().__init__()
        self.api = Api(self.world)
        self.batcher = Probe()
        self.watcher: Any = self.host(
            lambda runtime: PodWatcher(runtime, batcher=self.batcher, writer=self.api)
        )

    def waits(self, *pods: Pod) -> None:
        for pod in pods:
            self.watcher.tell(PodChanged(uid=pod.uid, pod=pod, waiting=True))
        self.run(0)

    def refuse(self, *pods: Pod, refusals: tuple[Refusal, ...] = REFUSALS) -> None:
        """Let a decision refuse these."""
        refused = tuple((pod, RefusedClass(pods=(pod.uid,), refusals=refusals)) for pod in pods)
        self.watcher.tell(PlanCommitted(decision=decision(), claims=(), refused=refused))
        self.run(0)

    def asked(self) -> list[str]:
        """Return the pods asked for since this was last called."""
        uids = [m.uid for m in self.batcher.of(PodBecamePending)]
        self.batcher.received.clear()
        return uids

    def events(self) -> list[tuple[str, str, str, bool]]:
        self.run(1)
        return [
            (r.event.about.name, r.event.reason, r.event.message, r.event.warning) for r in self.api.events()
        ]


P1, P2 = pending_pod("p1"), pending_pod("p2")


def test_a_pod_that_waits_is_asked_for_once() -> None:
    stage = Watching()

    stage.waits(P1, P1)

    assert stage.batcher.received == [PodBecamePending(uid="p1", since=START, owner="web")]


def test_a_pod_that_waits_no_longer_has_left() -> None:
    stage = Watching()
    stage.waits(P1)
    stage.asked()

    for _ in range(2):
        stage.watcher.tell(PodChanged(uid="p1", pod=None, waiting=False))
    stage.run(60)

    assert stage.batcher.received == [PodLeft(uid="p1")]


def test_refused_pods_are_not_asked_for_until_they_are_to_be_tried_again() -> None:
    stage = Watching()
    stage.waits(P1, P2)
    stage.refuse(P1, P2)
    stage.asked()

    stage.run(3600)
    assert stage.asked() == []
    stage.watcher.tell(TryAgain(uids=("p1", "stranger")))
    stage.run(0)

    assert stage.asked() == ["p1"]


def test_pods_that_a_decision_neither_placed_nor_refused_are_asked_for_at_once() -> None:
    stage = Watching()
    stage.waits(P1, P2)
    stage.asked()

    stage.refuse(P1)

    assert stage.asked() == ["p2"]


def test_pods_that_left_are_not_asked_for_again() -> None:
    stage = Watching()
    stage.waits(P1)
    stage.refuse(P1)
    stage.watcher.tell(PodChanged(uid="p1", pod=None, waiting=False))
    stage.asked()

    stage.run(120)

    assert stage.asked() == []


def test_people_are_told_once_why_a_pod_was_refused_until_there_are_other_pools() -> None:
    stage = Watching()
    stage.waits(P1)
    why = "Failed to schedule pod, TooLarge: default: no type is large enough"
    told = ("p1", "FailedScheduling", why, True)

    stage.refuse(P1)
    stage.refuse(P1)
    assert stage.events() == [told]

    stage.watcher.tell(TryAgain(uids=("p1",)))
    stage.refuse(P1)
    stage.run(1)
    assert [r.count for r in stage.api.events()] == [1]

    stage.watcher.tell(TryAgain(uids=("p1",), afresh=True))
    stage.refuse(P1)
    stage.run(1)
    assert [r.count for r in stage.api.events()] == [2]


def test_nobody_is_told_of_a_refused_pod_that_does_not_wait() -> None:
    stage = Watching()

    stage.refuse(P1)

    assert stage.events() == []


def test_people_are_told_where_a_pod_should_go() -> None:
    stage = Watching()

    stage.watcher.tell(PlanCommitted(decision=decision(), claims=(), places=((P1, "nodeclaim/c1"),)))

    assert stage.events() == [("p1", "Nominated", "Pod should schedule on: nodeclaim/c1", False)]


def test_an_event_that_cannot_be_published_is_dropped() -> None:
    stage = Watching()
    stage.api.unavailable_until(0.5)

    stage.watcher.tell(PlanCommitted(decision=decision(), claims=(), places=((P1, "nodeclaim/c1"),)))
    stage.run(10)

    assert stage.api.events() == ()


# --- bindings


def bound(uid: str, scheduled: float) -> PodBound:
    there = view(of_claim={"annotations": {labels.TRACEPARENT: decision().context.traceparent}})
    pod = replace(bound_pod(uid, "node-c1"), scheduled_at=at(scheduled))
    return PodBound(pod=pod, view=there, promise=None)


def test_bindings_are_traced_when_no_more_come() -> None:
    stage = Watching()

    for n in range(3):
        stage.send(n * 5, stage.watcher, bound(f"p{n}", n * 5))
    stage.run(19.9)
    assert stage.spans("bind") == []
    stage.run(0.1)

    (span,) = stage.spans("bind")
    assert (span.start, span.end, span.attributes["treenail.pods"]) == (START, at(10), 3)


def test_how_long_pods_took_to_be_bound_is_measured() -> None:
    stage = Watching()

    stage.at(7, lambda: stage.watcher.tell(bound("p1", 7)))
    stage.at(7, lambda: stage.watcher.tell(bound("p2", 7)))
    stage.run(7)

    seen = stage.telemetry.observed("karpenter_pods_bound_duration_seconds")
    assert (seen.count, seen.total) == (2, 14)


def test_a_pod_whose_clock_is_ahead_took_no_time() -> None:
    stage = Watching()
    early = bound("p1", 0)

    stage.watcher.tell(replace(early, pod=replace(early.pod, created_at=START + timedelta(seconds=9))))
    stage.run(1)

    assert stage.telemetry.observed("karpenter_pods_bound_duration_seconds").total == 0


def test_a_pod_that_is_put_off_is_asked_for_later() -> None:
    stage = Watching()

    stage.watcher.tell(
        PodChanged(uid="p1", pod=P1, waiting=True, not_before=stage.now() + timedelta(seconds=20))
    )
    stage.run(15)
    assert stage.asked() == []
    stage.run(10)

    assert stage.asked() == ["p1"]
