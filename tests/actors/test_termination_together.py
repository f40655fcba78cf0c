from __future__ import annotations

import pytest

from tests.actors.ending import Ending
from treenail.domain.disruption.disruption import DisruptNodes
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.purposes import Purpose

MANY = tuple(f"n{number:03d}" for number in range(30))


def ending(*names: str) -> Ending:
    stage = Ending()
    for name in names:
        stage.add(name)
    stage.run(90)
    return stage


def disrupt(stage: Ending, *names: str) -> None:
    views = tuple(stage.views.mark_for_disruption(name) for name in names)
    stage.actor.tell(DisruptNodes(nodes=views, cause=Cause.EMPTY, decided_at=stage.now()))


def cloud_calls(stage: Ending, name: str) -> list[str]:
    return [call for call in stage.cloud.troubles.calls if call.split()[0] == name]


def gone(stage: Ending, *names: str) -> bool:
    there = {claim.name for claim in stage.api.claims()}
    return there.isdisjoint(names)


def test_nodes_that_go_together_are_terminated_and_looked_for_by_one_call() -> None:
    stage = ending(*MANY)

    disrupt(stage, *MANY)
    stage.run(30)

    assert gone(stage, *MANY)
    assert cloud_calls(stage, "terminate") == ["terminate " + " ".join(f"i-{name}" for name in MANY)]
    assert len(cloud_calls(stage, "instances")) == 1


def test_while_machines_shut_down_one_look_in_two_seconds_is_enough_for_all() -> None:
    stage = ending(*MANY)
    for position, name in enumerate(MANY):
        stage.at(position / 10, lambda name=name: disrupt(stage, name))  # type: ignore[misc]
    stage.cloud.lingers = True

    stage.run(60)
    looks = len(cloud_calls(stage, "instances"))
    stage.cloud.lingers = False
    stage.run(20)

    assert 5 < looks <= 30
    assert gone(stage, *MANY)


def test_one_that_may_not_be_terminated_keeps_no_other() -> None:
    stage = ending("a", "b", "c")
    stage.cloud.protected = "i-b"

    disrupt(stage, "a", "b", "c")
    stage.run(60)

    assert gone(stage, "a", "c")
    assert set(stage.cloud.bought) == {"i-b", "i-c1"}
    assert cloud_calls(stage, "terminate")[:1] == ["terminate i-a i-b i-c"]


def test_five_hundred_are_the_most_for_one_call() -> None:
    names = tuple(f"n{number:03d}" for number in range(501))
    stage = ending(*names)

    disrupt(stage, *names)
    stage.run(60)

    assert gone(stage, *names)
    assert [len(call.split()) - 1 for call in cloud_calls(stage, "terminate")] == [500, 1]


@pytest.mark.parametrize("urgent", [True, False])
def test_an_interruption_says_that_it_cannot_wait(*, urgent: bool) -> None:
    stage = Ending()

    if urgent:
        stage.interrupt()
    else:
        stage.disrupt()
    stage.run(60)

    assert stage.cloud.purposes == [Purpose.INTERRUPTION if urgent else Purpose.DISRUPTION]


@pytest.mark.parametrize("urgent", [True, False])
def test_evictions_are_urgent_and_the_other_steps_where_the_machine_is_taken(*, urgent: bool) -> None:
    stage = Ending()
    stage.pod("web")

    if urgent:
        stage.interrupt()
    else:
        stage.disrupt(Cause.EXPIRED)
    stage.run(90)

    stage.assert_all_gone()
    steps = {Purpose.INTERRUPTION if urgent else Purpose.DISRUPTION}
    for_steps = stage.api.troubles.purposes
    assert for_steps["evict_pod"] == {Purpose.INTERRUPTION}
    assert for_steps["patch_node"] == for_steps["delete_claim"] == for_steps["delete_node"] == steps


def test_an_interrupted_instance_is_not_terminated_with_others_that_can_wait() -> None:
    stage = ending("a", "b")

    disrupt(stage, "a", "b")
    stage.interrupt()
    stage.run(60)

    assert gone(stage, "a", "b", "c1")
    assert sorted(cloud_calls(stage, "terminate")) == ["terminate i-a i-b", "terminate i-c1"]


def test_refusals_are_tried_again_in_case_they_are_not_for_good() -> None:
    stage = Ending()
    stage.cloud.troubles.fail("terminate", InvalidError("OperationNotPermitted"), times=2)

    stage.disrupt()
    stage.run(60)

    stage.assert_all_gone()
