"""A node whose move bought nothing is emptied before its claim is deleted: until then it can stay."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from tests.builders import START, at, bound_pod, view
from tests.domain.drains import TAINTED, leaving
from treenail.domain.disruption.disruption import DisruptNodes
from treenail.domain.model.causes import Cause
from treenail.domain.model.pods import Owner, Pod
from treenail.domain.termination.drain import Abandon, DeleteClaim, Step
from treenail.domain.termination.drain_table import next_step
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving

LATER = at(6)
NODE = view(of_node=TAINTED)
P1, P2 = bound_pod("p1", "node-c1"), bound_pod("p2", "node-c1")
DAEMON = replace(bound_pod("d1", "node-c1"), owners=(Owner(kind="DaemonSet", name="logs", uid="logs"),))


def consolidated(bought: int = 0, cause: Cause = Cause.UNDERUTILIZED) -> Leaving:
    state = leaving(cause, cordoned_at=START)
    order = DisruptNodes(nodes=(NODE,), cause=cause, replaced_first=True, decided_at=START, bought=bought)
    state.heed_order(order, "default")
    state.note_places({"p1": True, "p2": True}, START)
    return state


def step(state: Leaving, *pods: Pod, now: datetime = LATER) -> Step:
    return next_step(NODE, pods, state, now)


def stopping(pod: Pod) -> Pod:
    return replace(pod, deleting_since=at(5))


def test_pods_are_evicted_while_the_claim_is_there_and_daemons_after_it_is_deleted() -> None:
    state = consolidated()

    sizes = {"p1": 0.25, "p2": 0.25}
    assert step(state, P1, P2, DAEMON) == MoveOut(evict=(P1, P2), delete=(), sizes=sizes, in_turn=True)
    assert isinstance(step(state, stopping(P1), DAEMON), DeleteClaim)


def test_the_claim_is_not_deleted_while_pods_may_show_up_that_were_bound_before_the_cordon() -> None:
    assert step(consolidated(), now=at(3)) == at(5)
    assert isinstance(step(consolidated(), now=at(5)), DeleteClaim)


def test_the_node_stays_with_the_pods_that_are_left_where_its_move_is_withdrawn_halfway() -> None:
    state = consolidated()
    state.withdrawn = "not all pods of the node have other places"

    assert isinstance(step(state, stopping(P1), P2), Abandon)


def test_a_pod_that_lost_its_place_waits_for_another_and_then_the_node_stays() -> None:
    state = consolidated()
    state.note_places({"p1": True}, START)

    assert step(state, P1, P2) == at(30)
    assert isinstance(step(state, P1, P2, now=at(30)), Abandon)


def test_the_node_stays_where_a_pod_may_not_be_evicted_for_an_hour() -> None:
    assert isinstance(step(consolidated(), P1, now=at(3599)), MoveOut)
    late = step(consolidated(), P1, now=at(3600))

    assert isinstance(late, Abandon)
    assert late.why == "some of its pods could not be evicted for an hour"


@pytest.mark.parametrize(
    ("bought", "cause"),
    [
        # Half of a replacement would leave both nodes.
        pytest.param(1, Cause.UNDERUTILIZED, id="others were bought"),
        pytest.param(0, Cause.DRIFTED, id="it must go sooner or later"),
    ],
)
def test_other_nodes_go_for_good_once_all_places_are_ready(bought: int, cause: Cause) -> None:
    assert isinstance(step(consolidated(bought, cause), P1, P2), DeleteClaim)


def test_who_insists_that_the_node_goes_has_its_claim_deleted_at_once() -> None:
    state = consolidated()
    state.insist(Cause.SPOT_INTERRUPTED)

    assert isinstance(step(state, P1, P2), DeleteClaim)
