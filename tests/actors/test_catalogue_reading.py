from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.actors.selecting import CLASS, LARGE, Selecting
from tests.actors.stage import Stage
from tests.actors.troubles import StubCloud
from tests.builders import START, at, decision, node_class, node_pool
from tests.probes import Probe
from treenail.actors.node_pool_selector import NodePoolSelector
from treenail.actors.runtime.base import Runtime
from treenail.domain.cluster.planning import Snapshot, SnapshotTaken
from treenail.domain.model.observed_capacity import AllocatableObserved, CapacityObserved, MemoryObserved
from treenail.domain.model.resources import CPU, Resources


class Restless(Stage):
    """A clock that goes on while one message is handled, as real ones do."""

    def __init__(self) -> None:
        super().__init__()
        self.moments = 0

    def monotonic(self) -> float:
        self.moments += 1
        return self.moments * 1.0


def test_what_expires_while_it_is_looked_at_is_read_anew() -> None:
    stage = Restless()
    cloud, packer = StubCloud(stage.world, LARGE), Probe()

    def make(runtime: Runtime) -> NodePoolSelector:
        timers = _Clocked(runtime.timers, stage)
        runtime = replace(runtime, timers=timers)
        return NodePoolSelector(runtime, packer=packer, reporter=Probe(), cluster=Probe(), cloud=cloud)

    selector = stage.host(make)
    snapshot = Snapshot(
        revision=1,
        taken_at=START,
        pods=(),
        existing_nodes=(),
        pools=(node_pool(),),
        node_classes={CLASS: node_class()},
        daemons=(),
        limits_left={},
    )

    for _ in range(400):
        selector.tell(SnapshotTaken(decision=decision(), snapshot=snapshot))
        stage.run(1)

    assert len(packer.received) == 400
    assert cloud.troubles.calls.count("instance_types default") > 2


class _Clocked:
    """Timers with another clock for seconds."""

    def __init__(self, timers: Any, clock: Restless) -> None:
        self.monotonic = clock.monotonic
        self.now = timers.now
        self.arm = timers.arm
        self.cancel = timers.cancel


def observation(gibibytes: int, name: str = "m5.large") -> MemoryObserved:
    return MemoryObserved(instance_type=name, image_id="ami-1", memory=gibibytes * 2**30)


def test_a_catalogue_that_was_wrong_about_nodes_is_read_anew_by_the_next_decision() -> None:
    stage = Selecting()
    stage.take()

    stage.selector.tell(observation(7))
    stage.run(1)
    assert stage.read() == 1
    stage.take()

    assert stage.read() == 2


def room(cpu: int) -> AllocatableObserved:
    return AllocatableObserved(
        instance_type="m5.large",
        image_id="ami-1",
        sized_by="made",
        node="n1",
        came_at=at(0),
        room=Resources({CPU: cpu}),
    )


def test_a_catalogue_that_promised_too_much_room_is_read_anew_by_the_next_decision() -> None:
    stage = Selecting()
    stage.take()

    stage.selector.tell(room(LARGE.allocatable[CPU] - 1))
    stage.take()

    assert stage.read() == 2


@pytest.mark.parametrize("told", [observation(8), observation(7, "c5.large"), room(LARGE.allocatable[CPU])])
def test_a_lesson_that_tells_a_catalogue_nothing_new_costs_no_reading(told: CapacityObserved) -> None:
    stage = Selecting()
    stage.take()

    stage.selector.tell(told)
    stage.take()

    assert stage.read() == 1


def test_a_catalogue_that_was_read_while_something_was_learned_is_read_once_more() -> None:
    stage = Selecting()

    stage.take(seconds=0.05)
    stage.selector.tell(observation(7))
    stage.run(1)

    # What nodes of another image have may well be something else for good.
    assert stage.read() == 2
    assert stage.only().offers[0].instance_types == (LARGE,)
