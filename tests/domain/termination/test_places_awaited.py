from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from tests.builders import START, at, bound_pod
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.telemetry.tracing import SpanContext
from treenail.domain.termination.eviction_order import places_awaited
from treenail.domain.termination.leaving import Leaving, why_it_stays

P1, P2 = bound_pod("p1", "n1"), bound_pod("p2", "n1")
KEPT = replace(P2, annotations={labels.DO_NOT_DISRUPT: "true"})


def leaving(cause: Cause = Cause.DRIFTED) -> Leaving:
    return Leaving(cause=cause, trace=SpanContext.root("test"), began_at=START, replaced_first=True)


@pytest.mark.parametrize(
    ("places", "until"),
    [
        pytest.param({"p1": True, "p2": True}, None, id="all are ready"),
        pytest.param({"p1": True, "p2": False}, at(600), id="one is on its way"),
        pytest.param({"p1": True}, at(30), id="one is not decided on"),
        pytest.param({}, at(30), id="nothing is decided"),
    ],
)
def test_places_are_waited_for_as_long_as_it_takes_to_decide_and_to_get_them(
    places: dict[str, bool], until: datetime | None
) -> None:
    state = leaving()
    state.note_places(places, START)

    assert places_awaited((P1, P2), state, at(5)) == until


def test_pods_that_stay_until_the_end_need_no_place() -> None:
    state = leaving()
    state.note_places({"p1": True}, START)

    assert places_awaited((P1, KEPT), state, START) is None


def test_a_place_that_others_took_counts_no_more_for_a_node_that_goes_at_will() -> None:
    state = leaving()
    state.note_places({"p1": True, "p2": True}, START)
    state.note_places({"p2": True}, START)

    assert places_awaited((P1, P2), state, at(5)) == at(30)


def test_a_place_that_was_ready_counts_until_there_is_another_where_the_node_goes_in_any_case() -> None:
    state = leaving(Cause.SPOT_INTERRUPTED)
    state.replaced_first = False
    state.note_places({"p1": True, "p2": True}, START)
    state.note_places({"p2": False}, START)

    assert state.places == {"p1": True, "p2": False}


def test_a_node_may_stay_until_somebody_insists() -> None:
    state = leaving()
    assert state.may_stay

    state.insist(Cause.SPOT_INTERRUPTED)

    assert (state.may_stay, state.cause) == (False, Cause.SPOT_INTERRUPTED)


def test_people_are_told_why_a_node_stays() -> None:
    assert why_it_stays(Cause.EMPTY) == "node is not empty any more"
    assert why_it_stays(Cause.EXPIRED) == "not all pods of the node have other places"
