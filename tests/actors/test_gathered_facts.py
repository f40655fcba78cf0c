from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.cluster_rig import IN_USE, Knowing
from tests.builders import bound_pod, claim, node_of, pending_pod, view
from treenail.actors.runtime.base import Delivery, DomainActor
from treenail.domain.cluster.batch_window import BatchClosed, Decision
from treenail.domain.cluster.changes import NodeChanged, PodChanged
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind, ObjectSeen
from treenail.domain.cluster.emptiness import PodsMoved
from treenail.domain.disruption.disruption import DisruptionEnded
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.resources import Resources
from treenail.domain.telemetry.tracing import SpanContext

NODE = node_of(view()).name


def gathering(*things: ClusterObject) -> Knowing:
    """A cluster state that gathers facts on pods for 50 ms, and told something this very moment."""
    stage = Knowing(*things, gather_seconds=0.05)
    stage.recorder.received.clear()
    return stage


def pods_of_one_node(number: int) -> list[ClusterObject]:
    return [bound_pod(f"p{n}", NODE) for n in range(number)]


def test_what_follows_from_pods_that_are_bound_within_50_ms_is_told_once() -> None:
    stage = gathering(*IN_USE)

    stage.see(*pods_of_one_node(3))
    assert stage.recorder.received == []
    assert len(stage.model.objects.pods_on("c1")) == 3
    stage.run(0.05)

    assert len(stage.recorder.of(PodsMoved)) == 1


def test_a_quota_that_counts_each_pod_does_not_have_it_told_apart_from_the_others() -> None:
    stage = gathering(*IN_USE)

    quota = ResourceQuota(name="small", hard=Resources({"pods": 9}))
    for number, pod in enumerate(pods_of_one_node(3), start=1):
        used = Resources({"pods": number})
        stage.see(replace(quota, used=used, resource_version=number), pod)
    stage.lose(Kind.RESOURCE_QUOTA, "default/small")
    assert stage.recorder.received == []
    stage.run(0.05)

    assert len(stage.recorder.of(PodsMoved)) == 1


def test_a_pod_that_comes_after_a_while_is_told_at_once() -> None:
    stage = gathering(*IN_USE)
    stage.run(1)

    stage.see(*pods_of_one_node(1))

    assert len(stage.recorder.of(PodsMoved)) == 1


def test_a_fact_on_a_claim_is_told_at_once_and_so_is_what_was_gathered() -> None:
    stage = gathering(*IN_USE)
    stage.see(*pods_of_one_node(2))

    stage.see(claim("c2"))
    stage.run(1)

    assert len(stage.recorder.of(PodsMoved)) == 1
    assert "c2" in [changed.name for changed in stage.lifecycle.of(NodeChanged)]


def test_gathered_facts_are_told_before_any_other_message_is_acted_on() -> None:
    stage = gathering()
    decision = Decision(id="d1", opened_at=stage.now(), closed_at=stage.now(), pods=1)

    stage.tell(ObjectSeen(object=pending_pod("p1")), BatchClosed(decision=decision))

    assert [changed.uid for changed in stage.pod_watcher.of(PodChanged)] == ["p1"]
    assert stage.snapshots() == [("d1", ["p1"])]


def test_a_pod_that_comes_and_goes_while_facts_are_gathered_is_told_of_to_nobody() -> None:
    stage = gathering()

    stage.see(pending_pod("p1"))
    stage.lose(Kind.POD, "p1")
    stage.run(1)

    assert stage.pod_watcher.of(PodChanged) == []


def test_what_was_gathered_is_not_told_within_the_span_of_the_message_that_ends_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Listener(DomainActor[Any]):
        def handle(self, message: Any) -> None:
            self.log("heard", of=type(message))

    stage = gathering(*IN_USE)
    monkeypatch.setattr(stage.pod_watcher, "tell", stage.host(Listener).tell)
    stage.see(pending_pod("p1"))

    stage.cluster.put(Delivery(DisruptionEnded(name="c1"), SpanContext.root("another")))
    stage.run(0)

    assert stage.logged("heard") == [{"of": PodChanged}]
