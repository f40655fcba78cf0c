"""Pods of a machine taken away with notice: how long they stay where their new place is not ready."""

from __future__ import annotations

import pytest

from tests.actors.ending import Ending, moved
from treenail.domain.model.causes import Cause


def assert_waits_for_the_place(stage: Ending, seconds: float) -> None:
    """Decide for a node that is on its way for so long: the pod leaves when it is there, and not before."""
    stage.decide(ready=False)
    stage.run(seconds)
    assert moved(stage) == []

    stage.decide(ready=True)
    stage.run(1)
    assert moved(stage) == ["evict_pod p1"]


def test_pods_leave_an_interrupted_node_when_their_new_one_is_ready() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.interrupt(decided=False)
    stage.run(30)
    assert_waits_for_the_place(stage, 30)


def test_pods_stay_for_five_seconds_though_there_is_room_as_its_node_may_be_warned_of_next() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.interrupt()
    stage.run(4)
    assert moved(stage) == []

    assert_waits_for_the_place(stage, 30)


@pytest.mark.parametrize("decided", [True, False])
def test_the_end_of_the_machine_is_waited_for_no_longer_than_pods_need_to_stop(*, decided: bool) -> None:
    stage = Ending()
    stage.pod("p1")

    stage.interrupt(seconds=120, decided=False)
    if decided:
        stage.decide(ready=False)
    stage.run(79)
    assert moved(stage) == []
    stage.run(2)

    assert moved(stage) == ["delete_pod p1 30"]


def test_pods_leave_within_seconds_where_the_notice_is_short() -> None:
    stage = Ending()
    stage.pod("p1")

    stage.interrupt(seconds=42, decided=False)
    stage.run(4)

    assert moved(stage) == ["delete_pod p1 30"]


def test_a_machine_with_no_known_end_waits_ten_seconds_for_a_decision_and_then_for_the_place() -> None:
    stage = Ending()
    stage.pod("p1")
    stage.interrupt(seconds=None, cause=Cause.REBALANCE_RECOMMENDED, decided=False)
    stage.run(9)
    assert moved(stage) == []

    assert_waits_for_the_place(stage, 200)


@pytest.mark.parametrize(
    ("cause", "ended", "move"),
    [
        (Cause.INSTANCE_STOPPED, False, "evict_pod p1"),
        (Cause.INSTANCE_TERMINATED, False, "evict_pod p1"),
        (Cause.INSTANCE_STOPPED, True, "delete_pod p1 1"),
        (Cause.INSTANCE_TERMINATED, True, "delete_pod p1 1"),
    ],
)
def test_pods_of_a_machine_that_stops_leave_at_once(cause: Cause, *, ended: bool, move: str) -> None:
    stage = Ending()
    stage.pod("p1")

    stage.interrupt(seconds=0 if ended else None, cause=cause, decided=False)
    stage.run(4)

    assert moved(stage) == [move]
