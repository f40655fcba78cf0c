from __future__ import annotations

from tests.actors.stage import Stage
from treenail.actors.runtime.threads import Inbox, Threads
from treenail.adapters.controller.liveness import STUCK_SECONDS, Liveness
from treenail.domain.telemetry import metrics


class Keeping(Threads):
    """Threads whose actors keep up as a test says."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.process)
        self.beats = 0
        self.told: tuple[Inbox, ...] = ()

    def beat(self) -> None:
        self.beats += 1

    def inboxes(self) -> tuple[Inbox, ...]:
        return self.told


class Calls:
    """Tasks of which so many wait."""

    def depths(self) -> dict[str, int]:
        return {"ec2": 3}


def liveness() -> tuple[Stage, Keeping, Liveness]:
    stage = Stage()
    threads = Keeping(stage)
    return stage, threads, Liveness(stage.process, threads, Calls(), stage.telemetry)


def test_it_asks_every_second() -> None:
    stage, threads, one = liveness()

    one.start()
    stage.run(3.5)

    assert threads.beats == 4
    assert one.troubles() == []


def test_it_writes_how_deep_inboxes_and_queues_are() -> None:
    stage, threads, one = liveness()
    threads.told = (
        Inbox("Disruptor", 2, 0, 0.5),
        Inbox("Disruptor", 3, 4.0, 0.5),
        Inbox("Packer", 0, 0, 0.1),
    )

    one.start()

    telemetry = stage.telemetry
    assert telemetry.gauged(metrics.INBOX_DEPTH.name, actor="Disruptor") == 5
    assert telemetry.gauged(metrics.INBOX_DEPTH.name, actor="Packer") == 0
    assert telemetry.gauged(metrics.TASK_QUEUE_DEPTH.name, port="ec2") == 3
    seen = telemetry.observed(metrics.INBOX_DELAY.name, actor="Disruptor")
    assert (seen.count, seen.total, seen.largest) == (2, 4.5, 4.0)


def test_an_actor_that_is_silent_for_too_long_is_stuck() -> None:
    _, threads, one = liveness()
    threads.told = (Inbox("Packer", 1, STUCK_SECONDS, 0), Inbox("Batcher", 1, STUCK_SECONDS + 1, 0))

    assert one.troubles() == ["Batcher has not answered for 61 s"]


def test_timers_that_do_not_ring_are_stuck() -> None:
    stage, _, one = liveness()

    stage.run(STUCK_SECONDS)
    assert one.troubles() == []
    stage.run(1)

    assert one.troubles() == ["timers have not rung for 61 s"]
