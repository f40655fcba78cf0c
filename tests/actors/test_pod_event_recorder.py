"""When pods came and left stands in the API, for whoever comes after us."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.actors.cluster_rig import IN_USE, Knowing
from tests.actors.stage import Stage
from tests.actors.troubles import Api
from tests.builders import START, at, bound_pod, claim_of, conditions, node_class, node_of, node_pool, view
from treenail.actors.pod_event_recorder import PodEventRecorder
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.emptiness import PodsMoved
from treenail.domain.disruption.disruption import NodeEmptied
from treenail.domain.model import labels
from treenail.domain.model.errors import NotFoundError, PortError, UnavailableError
from treenail.domain.model.node_pools import Disruption, Generation
from treenail.domain.model.nodes import INITIALIZED, LAUNCHED, REGISTERED, NodeClaim
from treenail.domain.model.taints import DISRUPTED


class Recording(Stage):
    """A recorder with an API server that has the claim c1 and its node."""

    def __init__(self, generation: Generation = Generation.V1) -> None:
        super().__init__()
        self.api = Api(self.world)
        there = view(of_claim={"generation": generation})
        self.claim: NodeClaim = replace(claim_of(there), uid="")
        self.api.apply(node_pool(), node_class(), self.claim, replace(node_of(there), uid=""))
        self.actor: Any = self.host(lambda runtime: PodEventRecorder(runtime, writer=self.api))

    def move(self, *, empty: bool = False) -> None:
        self.actor.tell(PodsMoved(claim=self.claim, node="node-c1", at=self.now(), empty=empty))

    def said(self) -> object:
        """Return when a pod came or left last, as the claim says, or since when its node is empty."""
        (claim,), (node,) = self.api.claims(), self.api.nodes()
        return claim.last_pod_event_at or node.annotations.get(labels.EMPTY_SINCE)


def test_a_claim_says_when_a_pod_last_came_or_left() -> None:
    stage = Recording()
    stage.run(5)

    stage.move()
    stage.run(2)

    assert stage.said() == at(5)


def test_a_node_of_the_old_api_says_since_when_it_is_empty_as_long_as_it_is() -> None:
    stage = Recording(Generation.V1ALPHA5)

    stage.move(empty=True)
    stage.run(2)
    assert stage.said() == "2026-01-01T00:00:00Z"

    stage.move(empty=False)
    stage.run(15)
    assert stage.said() is None


def test_a_thousand_pods_that_come_and_go_are_a_write_every_ten_seconds() -> None:
    stage = Recording()
    for number in range(1000):
        stage.at(number * 0.05, stage.move)

    stage.run(70)

    assert len([c for c in stage.api.troubles.calls if c.startswith("patch_claim")]) == 6
    assert stage.said() == at(49)


@pytest.mark.parametrize(("error", "writes"), [(UnavailableError("away"), 2), (NotFoundError("gone"), 1)])
def test_what_could_not_be_written_is_written_later_unless_there_is_nothing_to_write_it_on(
    error: PortError, writes: int
) -> None:
    stage = Recording()
    stage.api.troubles.fail("patch_claim", error)

    stage.move()
    stage.run(60)

    assert len([c for c in stage.api.troubles.calls if c.startswith("patch_claim")]) == writes
    assert stage.said() == (START if writes == 2 else None)


# --- who is told


def told(stage: Knowing) -> list[tuple[float, bool]]:
    """Return when pods are said to have moved, in seconds, and whether the node is empty since."""
    return [((m.at - START).total_seconds(), m.empty) for m in stage.recorder.of(PodsMoved)]


def test_who_records_hears_of_pods_that_come_and_leave() -> None:
    stage = Knowing(*IN_USE)
    stage.run(5)
    stage.see(bound_pod("p1", "node-c1"))
    stage.run(5)
    stage.lose(Kind.POD, "p1")

    assert told(stage) == [(5, False), (10, False)]


@pytest.mark.parametrize("said", [START, None])
def test_what_stood_there_at_the_start_is_no_event_unless_the_claim_says_nothing(said: Any) -> None:
    there = replace(IN_USE[0], last_pod_event_at=said)

    stage = Knowing(there, IN_USE[1], bound_pod("p1", "node-c1"))

    assert told(stage) == ([] if said else [(0, False)])


def test_of_a_node_on_its_way_out_nothing_is_recorded() -> None:
    stage = Knowing(*IN_USE, bound_pod("p1", "node-c1"))
    stage.interrupt()
    before = told(stage)

    stage.lose(Kind.POD, "p1")

    assert told(stage) == before


def old(*, counts: bool = True, **of_node: Any) -> Knowing:
    """Return who knows a node of the old API, whose pool may count how long it is empty."""
    there = view(of_claim={"generation": Generation.V1ALPHA5}, of_node=of_node)
    stage = Knowing(claim_of(there), node_of(there), synced=False)
    after = timedelta(seconds=30) if counts else None
    stage.see(replace(node_pool(), disruption=Disruption(consolidate_after=after), resource_version=3))
    stage.run(5)
    return stage


def test_of_the_old_api_it_is_told_whether_the_node_should_say_that_it_is_empty() -> None:
    stage = old()
    stage.see(bound_pod("p1", "node-c1"))
    stage.lose(Kind.POD, "p1")
    assert told(stage) == [(5, True)]

    said = {labels.EMPTY_SINCE: "2026-01-01T00:00:05Z"}
    stage.see(replace(node_of(view()), annotations=said, resource_version=5))
    stage.see(bound_pod("p2", "node-c1"), bound_pod("p3", "node-c1"))
    assert told(stage) == [(5, True), (5, False)]


def test_where_a_pool_keeps_empty_nodes_they_need_not_say_it() -> None:
    stage = old(counts=False)
    stage.see(bound_pod("p1", "node-c1"))
    stage.lose(Kind.POD, "p1")

    assert told(stage) == []


# --- after a start


def emptied(stage: Knowing) -> list[tuple[Any, Any]]:
    return [(m.since, m.not_before) for m in stage.disruptor.of(NodeEmptied)]


def test_a_node_that_stood_empty_before_a_start_has_done_so_for_as_long_as_its_claim_says() -> None:
    stage = Knowing(replace(IN_USE[0], last_pod_event_at=at(-60)), IN_USE[1])

    # Pods that wait are given places first.
    assert emptied(stage) == [(at(-60), at(15))]


def test_one_that_empties_later_does_so_then_whatever_its_claim_says() -> None:
    stage = Knowing(replace(IN_USE[0], last_pod_event_at=at(-60)), IN_USE[1], bound_pod("p1", "node-c1"))
    stage.run(5)

    stage.lose(Kind.POD, "p1")

    assert emptied(stage) == [(at(5), None)]


def test_one_that_bore_a_mark_of_ours_at_the_start_has_been_empty_all_the_while() -> None:
    marked = replace(IN_USE[1], taints=(DISRUPTED,))
    stage = Knowing(replace(IN_USE[0], last_pod_event_at=at(-60)), marked)
    stage.run(10)
    assert emptied(stage) == []

    stage.see(replace(IN_USE[1], resource_version=5))

    assert emptied(stage) == [(at(-60), at(15))]


def test_a_node_that_comes_into_use_is_empty_from_then_on() -> None:
    launched = claim_of(view(of_claim={"conditions": conditions(LAUNCHED, REGISTERED)}))
    stage = Knowing(launched, IN_USE[1])
    stage.run(10)

    in_use = conditions(LAUNCHED, REGISTERED, INITIALIZED, since=9)
    stage.see(replace(launched, conditions=in_use, resource_version=5))

    assert emptied(stage) == [(at(10), None)]
