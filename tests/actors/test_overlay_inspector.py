from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import StubCloud
from tests.builders import instance_type, node_class, node_pool
from tests.probes import Probe
from treenail.actors.overlay_inspector import OverlayInspector
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.model.errors import NodeClassNotReadyError, UnavailableError
from treenail.domain.model.node_overlays import NodeOverlay, PriceChange
from treenail.domain.status.overlay_verdicts import OverlaysJudged

LARGE = instance_type("m5.large", 2, price=0.1)
A, B = (NodeOverlay(name=name, price=PriceChange(written="1", price=1.0)) for name in "ab")


class Inspecting(Stage):
    """The inspector over a cloud that sells one type, and whom it tells."""

    def __init__(self) -> None:
        super().__init__()
        self.cloud = StubCloud(self.world, LARGE)
        self.reporter = Probe()
        self.actor: Any = self.host(
            lambda runtime: OverlayInspector(runtime, reporter=self.reporter, cloud=self.cloud)
        )

    def see(self, *overlays: NodeOverlay) -> None:
        pool = replace(node_pool(), overlays=overlays)
        self.actor.tell(PoolsSeen(pools=(pool,), node_classes=(node_class(),), overlays=overlays))

    @property
    def told(self) -> list[set[tuple[str, str]]]:
        return [{(c.overlay, c.other) for c in one.conflicts} for one in self.reporter.of(OverlaysJudged)]


def test_what_is_applied_together_is_looked_at_once_and_again_every_five_minutes() -> None:
    stage = Inspecting()

    stage.see(B)
    stage.see(B, A)
    stage.run(3)
    assert stage.told == [{("a", "b")}]

    stage.run(300)
    assert stage.told == [{("a", "b")}] * 2


def test_without_overlays_nobody_is_asked() -> None:
    stage = Inspecting()

    stage.see()
    stage.run(1000)

    assert (stage.told, stage.cloud.troubles.calls) == ([], [])


def test_a_catalogue_that_cannot_be_read_ends_no_conflict_and_is_asked_for_again() -> None:
    stage = Inspecting()
    stage.cloud.troubles.fail("instance_types", UnavailableError("no answer"))

    stage.see(A, B)
    stage.run(10)
    assert stage.told == []

    stage.run(30)
    assert stage.told == [{("a", "b")}]


def test_a_pool_that_can_buy_nothing_is_in_nobodys_way() -> None:
    stage = Inspecting()
    stage.cloud.troubles.fail("instance_types", NodeClassNotReadyError("no subnets"))

    stage.see(A, B)
    stage.run(3)

    assert stage.told == [set()]
