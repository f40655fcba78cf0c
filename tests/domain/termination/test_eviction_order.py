"""Pods of a machine that goes already: they leave together, when it is decided where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import START, at, bound_pod, resources, view
from tests.domain.drains import leaving
from treenail.domain.disruption.disruption import DisruptNodes
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Owner, Pod
from treenail.domain.termination.eviction_order import MoveOut, move_out

GOING = (
    Cause.INSTANCE_STOPPED,
    Cause.INSTANCE_TERMINATED,
    Cause.INSTANCE_STATUS,
    Cause.SYSTEM_STATUS,
    Cause.UNHEALTHY,
)
SIZES = (("c1", 2), ("c2", 6))
WEB, API = (bound_pod(uid, "node-c1") for uid in ("web", "api"))


def decided(*pods: Pod) -> dict[str, Any]:
    """The pods have places elsewhere, none of which is ready."""
    return {"places": {pod.uid: False for pod in pods}}


def move_of(*views: NodeView) -> DisruptNodes:
    return DisruptNodes(nodes=views, cause=Cause.UNDERUTILIZED, replaced_first=True, decided_at=START)


def ended(cause: Cause) -> dict[str, Any]:
    return {"deadline": START, "ends_at": START} if cause is Cause.INSTANCE_TERMINATED else {}


@pytest.mark.parametrize("cause", GOING)
@pytest.mark.parametrize("places", [{}, decided(WEB)])
def test_they_stay_until_it_is_decided_for_all_of_them(cause: Cause, places: dict[str, Any]) -> None:
    state = leaving(cause, **ended(cause), **places)

    assert move_out((WEB, API), state, at(0.9)) == at(1)


@pytest.mark.parametrize(("seconds", "places"), [(0.1, decided(WEB, API)), (1, {}), (1, decided(WEB))])
def test_they_leave_when_it_is_decided_though_no_place_is_ready_or_after_a_second(
    seconds: float, places: dict[str, Any]
) -> None:
    state = leaving(Cause.INSTANCE_STOPPED, **places)

    assert move_out((WEB, API), state, at(seconds)) == MoveOut(evict=(WEB, API), delete=())


def test_those_of_a_machine_that_is_gone_are_deleted_then() -> None:
    state = leaving(Cause.INSTANCE_TERMINATED, deadline=START, ends_at=START, **decided(WEB))

    assert move_out((WEB,), state, at(0.1)) == MoveOut(evict=(), delete=((WEB, 1),))


def test_nobody_decides_on_daemons_and_on_pods_that_stop_already() -> None:
    logs = replace(API, owners=(Owner(kind="DaemonSet", name="logs", uid="logs"),))
    stops = replace(WEB, deleting_since=at(30))
    state = leaving(Cause.INSTANCE_STOPPED)

    assert move_out((logs,), state, at(0)) == MoveOut(evict=(logs,), delete=())
    # Daemons wait for it to have stopped, and nobody for a decision.
    assert move_out((logs, stops), state, at(0)) == MoveOut(evict=(), delete=())


def test_from_a_node_that_goes_at_will_no_pod_leaves_without_a_place() -> None:
    state = leaving(Cause.DRIFTED, places={WEB.uid: True})

    assert move_out((WEB, API), state, at(60)) == MoveOut(evict=(WEB,), delete=())
    assert move_out((API,), state, at(60)) == at(600)


def test_after_ten_minutes_it_leaves_all_the_same_so_that_no_drain_lasts_for_ever() -> None:
    state = leaving(Cause.DRIFTED)

    assert move_out((API,), state, at(600)) == MoveOut(evict=(API,), delete=())


@pytest.mark.parametrize(("cause", "seconds"), [(Cause.DRIFTED, 600), (Cause.REBALANCE_RECOMMENDED, 10)])
def test_a_pod_whose_new_node_never_came_waits_as_long_for_another_place(cause: Cause, seconds: int) -> None:
    state = leaving(cause)
    state.note_places({WEB.uid: False}, at(5))
    assert move_out((WEB,), state, at(900)) == at(910)

    state.note_places({}, at(903))

    assert move_out((WEB,), state, at(903)) == at(903 + seconds)
    assert move_out((WEB,), state, at(903 + seconds)) == MoveOut(evict=(WEB,), delete=())


def test_after_an_hour_a_pod_whose_new_nodes_never_come_leaves_with_the_last_of_them() -> None:
    state = leaving(Cause.DRIFTED)
    for minutes in (15, 30, 45):
        state.note_places({WEB.uid: False}, at(60 * minutes - 890))
        state.note_places({}, at(60 * minutes))
        assert move_out((WEB,), state, at(60 * minutes)) == at(60 * (minutes + 10))
    state.note_places({WEB.uid: False}, at(2701))
    assert move_out((WEB,), state, at(3601)) == at(3611)

    state.note_places({}, at(3602))

    assert move_out((WEB,), state, at(3602)) == MoveOut(evict=(WEB,), delete=())


def test_pods_of_an_expired_node_do_not_wait_for_a_place_that_nobody_finds() -> None:
    state = leaving(Cause.EXPIRED)

    assert move_out((API,), state, at(60)) == MoveOut(evict=(API,), delete=())


def test_pods_that_nothing_hurries_leave_by_their_share_of_what_the_node_has() -> None:
    room = resources(cpu=4, memory=16, pods=10)
    wide, deep = (
        replace(pod, spec=replace(pod.spec, requests=asked))
        for pod, asked in ((WEB, resources(cpu=3, memory=1)), (API, resources(cpu=1, memory=8)))
    )
    places = {"web": True, "api": True}

    at_will = move_out((wide, deep), leaving(Cause.DRIFTED, places=places), at(60), room)
    expired = move_out((wide, deep), leaving(Cause.EXPIRED, places=places), at(60), room)

    assert at_will == MoveOut(evict=(wide, deep), delete=(), sizes={"web": 0.75, "api": 0.5})
    assert expired == MoveOut(evict=(wide, deep), delete=())


def test_pods_of_nodes_that_go_together_leave_by_their_share_of_what_all_of_them_have() -> None:
    views = tuple(view(name, of_node={"allocatable": resources(cpu=cpu, memory=16)}) for name, cpu in SIZES)
    state = leaving(Cause.UNDERUTILIZED)

    state.heed_order(move_of(*views), "default")

    assert state.together == ("c1", "c2")
    assert state.room == resources(cpu=8, memory=32)


@pytest.mark.parametrize("changes", [{"cause": Cause.DRIFTED}, {"replaced_first": False}])
def test_nodes_that_are_given_up_for_another_reason_go_each_by_itself(changes: dict[str, Any]) -> None:
    state = leaving(Cause.DRIFTED)

    state.heed_order(replace(move_of(view("c1"), view("c2")), **changes), "default")

    assert state.together == ()
    assert not state.room


@pytest.mark.parametrize(
    ("changes", "in_turn"),
    [
        ({}, True),
        ({"together": ()}, False),
        ({"deadline": at(120)}, False),
        ({"ends_at": at(120)}, False),
        ({"warned": {Cause.SPOT_INTERRUPTED: None}}, False),
    ],
)
def test_pods_wait_for_their_turn_only_in_a_move_whose_end_nothing_hurries(
    changes: dict[str, Any], *, in_turn: bool
) -> None:
    fields = {"replaced_first": True, "together": ("c1", "c2"), "places": {"web": True}, **changes}

    step = move_out((WEB,), leaving(Cause.UNDERUTILIZED, **fields), at(6), resources(cpu=8, pods=10))

    assert isinstance(step, MoveOut)
    assert step.evict == (WEB,)
    assert step.in_turn is in_turn


def test_a_machine_that_is_taken_goes_at_nobody_s_will_whatever_was_the_first_cause() -> None:
    state = leaving(Cause.UNDERUTILIZED, ends_at=at(120), warned={Cause.UNDERUTILIZED: None})

    assert not state.at_will
