"""The table of a launch as a whole: what docs/architecture.md shows of it, and that it is all there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.launch.launch_steps import CallFleet, MarkClaim, WriteClaim
from treenail.domain.launch.launch_table import (
    STEPS,
    TABLE,
    ImpossibleEventError,
    LaunchEvent,
    LaunchState,
    Member,
    after,
    failure_of,
)
from treenail.domain.model.errors import (
    ConflictError,
    InvalidError,
    NodeClassNotReadyError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
)

PAGE = Path(__file__).parents[3] / "docs" / "architecture.md"
BEGINNINGS = {LaunchState.PLANNED, LaunchState.LEFT}
ENDS = {LaunchState.LAUNCHED, LaunchState.FAILED, LaunchState.UNWRITTEN, LaunchState.LET_BE}
WHO = Member("a", "default/0", "5f1e")


def step(state: LaunchState) -> str:
    return type(STEPS[state](WHO)).__name__ if state in STEPS else ""


def table() -> str:
    """Return the table as docs/architecture.md shows it: the events that lead to one state in one line."""
    lines = ["| state | step | event | then |", "|---|---|---|---|"]
    for state, row in TABLE.items():
        shown, name = f"**{state.value}**", step(state)
        for then in dict.fromkeys(row.values()):
            events = "; ".join(event.value for event in row if row[event] is then)
            lines.append(f"| {shown} | {name} | {events} | {then.value} |")
            shown = name = ""
    return "\n".join(lines)


def test_the_page_shows_the_table_that_launches_run_by() -> None:
    shown = PAGE.read_text().split("<!-- launch -->")[1].split("<!-- /launch -->")[0].strip()

    assert shown == table()


def onward(*states: LaunchState) -> set[LaunchState]:
    """Return the states that may follow, these included."""
    seen, new = set[LaunchState](), set(states)
    while new:
        seen |= new
        new = {then for state in new for then in TABLE.get(state, {}).values()} - seen
    return seen


def test_every_state_is_reached_and_has_a_way_to_an_instance_or_is_an_end() -> None:
    assert onward(*BEGINNINGS) == set(LaunchState)
    assert set(LaunchState) - set(TABLE) == ENDS
    for state in TABLE:
        assert LaunchState.LAUNCHED in onward(state), state


def test_every_event_leads_somewhere() -> None:
    assert {event for row in TABLE.values() for event in row} == set(LaunchEvent)


def test_in_a_state_with_a_step_that_may_fail_any_way() -> None:
    """Only a claim that is changed by others is marked again instead of being in conflict."""
    failures = {LaunchEvent.REFUSED, LaunchEvent.MISSING, LaunchEvent.CONFLICT, LaunchEvent.UNANSWERED}

    for state in LaunchState:
        shown = failures & set(TABLE.get(state, {}))
        marking = {LaunchEvent.CONFLICT} if state is LaunchState.MARKING else set[LaunchEvent]()
        assert shown == (failures - marking if state in STEPS else set()), state


@given(st.sampled_from(LaunchState), st.lists(st.sampled_from(LaunchEvent)))
def test_no_sequence_of_events_leaves_the_table(state: LaunchState, events: list[LaunchEvent]) -> None:
    for event in events:
        row = TABLE.get(state, {})
        if event in row:
            state = after("a", state, event)
            assert state is row[event]
        else:
            with pytest.raises(ImpossibleEventError, match=f"^a: .* while its launch is {state.value}$"):
                after("a", state, event)


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (InvalidError("no"), LaunchEvent.REFUSED),
        (NodeClassNotReadyError("no subnets"), LaunchEvent.REFUSED),
        (NotFoundError("gone"), LaunchEvent.MISSING),
        (ConflictError("changed"), LaunchEvent.CONFLICT),
        (UnavailableError("away"), LaunchEvent.UNANSWERED),
        (TooManyRequestsError("slow down"), LaunchEvent.UNANSWERED),
    ],
)
def test_a_step_fails_as_its_error_says(error: Exception, event: LaunchEvent) -> None:
    assert failure_of(WriteClaim(name="a"), error) is event
    assert failure_of(CallFleet(token=WHO.token), error) is event


def test_a_claim_that_somebody_changed_is_marked_again() -> None:
    changed = ConflictError("changed")

    assert failure_of(MarkClaim(name="a", token=WHO.token), changed) is LaunchEvent.UNANSWERED
