from __future__ import annotations

from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import StubCloud
from tests.builders import at, instance, instance_type, node_class, node_pool
from tests.probes import Probe
from treenail.actors.drift_inspector import DriftInspector
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.disruption.surveys import InstancesSurveyed
from treenail.domain.model.errors import NodeClassNotReadyError, UnavailableError

LARGE = instance_type("m5.large", 2, price=0.1)


class Surveying(Stage):
    """The surveyor over a cloud with one instance, and a disruptor for each of two pools."""

    def __init__(self) -> None:
        super().__init__()
        self.cloud = StubCloud(self.world, LARGE)
        self.cloud.bought["i-1"] = instance("i-1")
        self.disruptors = {"one": Probe(), "two": Probe()}
        self.actor: Any = self.host(
            lambda runtime: DriftInspector(runtime, disruptor=self.disruptors.__getitem__, cloud=self.cloud)
        )

    def see(self, *pools: str) -> None:
        there = tuple(node_pool(name) for name in pools)
        self.actor.tell(PoolsSeen(pools=there, node_classes=(node_class(),)))

    def told(self, pool: str) -> list[InstancesSurveyed]:
        return self.disruptors[pool].of(InstancesSurveyed)


def test_each_pool_is_told_every_five_minutes_of_the_instances_and_of_what_is_sold() -> None:
    stage = Surveying()
    stage.see("one", "two")

    stage.run(61)
    surveyed = InstancesSurveyed(
        surveyed_at=at(60.1), instances={"i-1": instance("i-1")}, types={LARGE.name: LARGE}
    )
    assert stage.told("one") == stage.told("two") == [surveyed]
    stage.run(300)

    assert [one.surveyed_at for one in stage.told("one")] == [at(60.1), at(360.1)]


def test_where_there_are_no_pools_nothing_is_asked() -> None:
    stage = Surveying()

    stage.run(400)

    assert stage.cloud.troubles.calls == []


def test_a_class_that_cannot_be_launched_from_leaves_open_what_is_sold() -> None:
    stage = Surveying()
    stage.see("one")
    stage.cloud.troubles.fail("instance_types", NodeClassNotReadyError("no subnets"))

    stage.run(61)

    assert [one.types for one in stage.told("one")] == [None]


def test_a_survey_that_fails_is_made_the_next_time() -> None:
    stage = Surveying()
    stage.see("one")
    stage.cloud.troubles.fail("instances", UnavailableError("away"))

    stage.run(361)

    assert [one.surveyed_at for one in stage.told("one")] == [at(360.1)]
    assert stage.logged("cannot survey instances") == [{"level": "warning", "error": "away"}]
