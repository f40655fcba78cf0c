from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api
from tests.builders import at, changed, view
from tests.probes import Probe
from treenail.actors.node_repairer import NodeRepairer
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.disruption.node_repair import EC2_POLICIES
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import READY, Condition, NodeView, Status
from treenail.domain.telemetry.ending_roots import interruption_context
from treenail.domain.telemetry.metrics import NODECLAIMS_UNHEALTHY

MINUTE = 60.0


class Caring(Stage):
    """The doctor of a pool of ten nodes that are well."""

    def __init__(self, *, nodes: int = 10) -> None:
        super().__init__()
        self.api = Api(self.world)
        self.cluster = Probe()
        self.actor: Any = self.host(
            lambda runtime: NodeRepairer(
                runtime,
                cluster=self.cluster,
                writer=self.api,
                policies=EC2_POLICIES,
            )
        )
        for number in range(nodes):
            self.say(f"c{number}", Status.TRUE)

    def say(self, name: str, status: Status, *, since: float | None = None) -> None:
        """Have a node say of itself whether it is ready, from now on or since a second."""
        there = view(name)
        assert there.node is not None
        own = replace(
            there.node,
            conditions=(Condition(READY, status, since=self.now() if since is None else at(since)),),
        )
        self.actor.tell(changed(NodeView(claim=there.claim, node=own)))

    def given_up(self) -> list[tuple[str, float]]:
        return [
            (m.instance_id, (m.noticed_at - at(0)).total_seconds()) for m in self.cluster.of(NodeInterrupted)
        ]


def test_a_node_that_is_not_ready_for_half_an_hour_is_given_up_by_force() -> None:
    stage = Caring()
    stage.say("c3", Status.FALSE)

    stage.run(30 * MINUTE - 1)
    assert stage.cluster.received == []
    stage.run(1)

    notice = NodeInterrupted(
        instance_id="i-c3",
        cause=Cause.UNHEALTHY,
        noticed_at=at(30 * MINUTE),
        forceful=True,
        why="condition Ready is False since 00:00:00Z",
    )
    assert stage.cluster.received == [notice]
    counted = stage.telemetry.counted(NODECLAIMS_UNHEALTHY.name, condition=READY, nodepool="default")
    assert counted == 1


def test_a_node_that_recovers_in_time_stays() -> None:
    stage = Caring()
    stage.say("c3", Status.UNKNOWN)
    stage.run(29 * MINUTE)

    stage.say("c3", Status.TRUE)
    stage.run(60 * MINUTE)

    assert stage.cluster.received == []


def test_a_node_that_is_gone_is_not_given_up() -> None:
    stage = Caring()
    stage.say("c3", Status.FALSE)

    stage.actor.tell(NodeChanged(name="c3", view=None))
    stage.run(60 * MINUTE)

    assert stage.cluster.received == []


def test_where_more_than_a_fifth_is_unhealthy_nobody_is_given_up_until_some_are_well_again() -> None:
    stage = Caring()
    for name in ("c1", "c2", "c3"):
        stage.say(name, Status.FALSE)

    stage.run(34 * MINUTE)
    assert stage.cluster.received == []
    blocked = [record.event for record in stage.api.events() if record.event.reason == "NodeRepairBlocked"]
    why = "More than 20% of the nodes of default are unhealthy: 3 of 10"
    assert sorted((event.about.name, event.message) for event in blocked) == [
        (f"node-{name}", why) for name in ("c1", "c2", "c3")
    ]

    stage.say("c1", Status.TRUE)
    stage.run(5 * MINUTE)

    assert [name for name, _ in stage.given_up()] == ["i-c2", "i-c3"]


def test_what_was_given_up_and_is_still_there_is_given_up_again() -> None:
    stage = Caring()
    stage.say("c3", Status.FALSE)

    stage.run(36 * MINUTE)

    assert stage.given_up() == [("i-c3", 30 * MINUTE), ("i-c3", 35 * MINUTE)]


def test_what_was_given_up_is_not_given_up_again_at_once_when_it_changes() -> None:
    stage = Caring()
    stage.say("c3", Status.FALSE)
    stage.run(30 * MINUTE)

    stage.say("c3", Status.FALSE, since=0)
    stage.run(MINUTE)

    assert stage.given_up() == [("i-c3", 30 * MINUTE)]


def test_the_trace_of_the_end_begins_with_what_was_wrong() -> None:
    stage = Caring()
    stage.say("c3", Status.FALSE)

    stage.run(30 * MINUTE)

    (root,), (process,) = stage.spans("unhealthy"), stage.spans("process unhealthy node")
    assert root.context == interruption_context("i-c3", Cause.UNHEALTHY)
    assert (root.start, root.end) == (at(0), at(30 * MINUTE))
    assert process.parent == root.context
