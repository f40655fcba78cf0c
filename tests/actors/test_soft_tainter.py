"""Nodes that consolidation takes later, and no others, bear a taint by which the scheduler uses them last."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api
from tests.actors.views import Views
from tests.builders import claim_of, node_class, node_of, node_pool, view
from treenail.actors.soft_tainter import SoftTainter
from treenail.domain.cluster.consolidating import NodesGoLater
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.taints import DISRUPTED, GOES_LATER, Effect, Taint


class Tainting(Stage):
    """A tainter with an API server it hears of, and the nodes of the claims c1 to c3."""

    def __init__(self) -> None:
        super().__init__()
        self.api = Api(self.world)
        self.api.apply(node_pool(), node_class())
        self.views = Views(self.api, self.start())
        for name in ("c1", "c2", "c3"):
            there = view(name)
            self.api.apply(replace(claim_of(there), uid=""), replace(node_of(there), uid=""))
        self.api.troubles.calls.clear()

    def start(self) -> Any:
        self.actor: Any = self.host(lambda runtime: SoftTainter(runtime, writer=self.api))
        return self.actor

    def restart(self) -> None:
        self.kill()
        self.views.to = self.start()
        self.views.tell_all()

    def name(self, *names: str, seconds: float = 35) -> None:
        self.actor.tell(NodesGoLater(names=names))
        self.run(seconds)

    def tainted(self) -> list[str]:
        return [node.name for node in self.api.nodes() if GOES_LATER in node.taints]

    def patches(self) -> list[str]:
        return [call for call in self.api.troubles.calls if call.startswith("patch_node")]


def test_the_taint_keeps_no_pod_off() -> None:
    assert GOES_LATER.effect is Effect.PREFER_NO_SCHEDULE


def test_nodes_that_go_later_are_tainted_and_those_named_no_longer_are_freed() -> None:
    stage = Tainting()

    stage.name("c1", "c2")
    both = stage.tainted()
    stage.name("c2", "c3")

    assert both == ["node-c1", "node-c2"]
    assert stage.tainted() == ["node-c2", "node-c3"]
    assert len(stage.patches()) == 4


def test_nothing_is_written_where_nothing_changes() -> None:
    stage = Tainting()
    stage.name("c1")

    stage.name("c1")
    stage.run(600)

    assert len(stage.patches()) == 1


def test_other_taints_of_the_node_stay() -> None:
    stage, own = Tainting(), Taint("team", Effect.NO_SCHEDULE, "a")
    stage.api.patch_node("node-c1", NodePatch(add_taints=(own,)))

    stage.name("c1")
    stage.name()

    assert [node.taints for node in stage.api.nodes()] == [(own,), (), ()]


def test_a_restart_frees_nodes_that_nobody_names_within_two_minutes() -> None:
    stage = Tainting()
    stage.name("c1", "c2")
    stage.restart()
    stage.run(60)
    kept = stage.tainted()

    stage.run(61)

    assert kept == ["node-c1", "node-c2"]
    assert stage.tainted() == []


def test_a_restart_keeps_the_taint_of_nodes_that_are_named_again() -> None:
    stage = Tainting()
    stage.name("c1", "c2")
    stage.restart()

    stage.name("c2", seconds=600)

    assert stage.tainted() == ["node-c2"]


def test_a_write_that_fails_is_tried_again_later_and_later() -> None:
    stage = Tainting()
    stage.api.troubles.fail("patch_node", UnavailableError("away"), times=3)

    stage.name("c1", seconds=0.5)
    early = stage.tainted()
    stage.run(60)

    assert early == []
    assert stage.tainted() == ["node-c1"]
    assert len(stage.patches()) == 4


def test_a_taint_that_somebody_takes_off_comes_back() -> None:
    stage = Tainting()
    stage.name("c1")

    stage.api.patch_node("node-c1", NodePatch(remove_taints=(GOES_LATER,)))
    stage.run(35)

    assert stage.tainted() == ["node-c1"]


def test_one_who_takes_it_off_each_time_is_answered_twice_a_minute_at_most() -> None:
    stage = Tainting()
    stage.name("c1")

    for _ in range(300):
        stage.api.patch_node("node-c1", NodePatch(remove_taints=(GOES_LATER,)))
        stage.run(1)

    ours = len(stage.patches()) - 300
    assert 5 <= ours <= 11


def test_a_node_that_goes_now_is_left_to_the_drain() -> None:
    stage = Tainting()
    stage.name("c1")
    stage.api.patch_node("node-c1", NodePatch(add_taints=(DISRUPTED,)))
    stage.api.troubles.calls.clear()

    stage.name()

    assert stage.patches() == []


def test_a_node_that_stays_after_all_is_freed_if_no_plan_names_it() -> None:
    stage = Tainting()
    stage.name("c1")
    stage.api.patch_node("node-c1", NodePatch(add_taints=(DISRUPTED,)))
    stage.name()

    stage.api.patch_node("node-c1", NodePatch(remove_taints=(DISRUPTED,)))
    stage.run(35)

    assert stage.tainted() == []


def test_names_of_nodes_that_are_gone_do_no_harm() -> None:
    stage = Tainting()

    stage.name("c9", "c1")

    assert stage.tainted() == ["node-c1"]
