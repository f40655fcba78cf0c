"""The table of a launch: the states of a claim on its way to an instance, and what each event leads to.

The launches in flight run by it: an event that it does not show for a state is a defect and is refused. A
restart begins at `left`, with what the claims say of their launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from treenail.domain.launch.launch_steps import (
    CallFleet,
    FindInstances,
    MarkClaim,
    PrepareBatch,
    RecordInstance,
    Step,
    WriteClaim,
)
from treenail.domain.model.errors import ConflictError, InvalidError, NodeClassNotReadyError, NotFoundError


class State(Enum):
    """Where a claim stands on its way to an instance. Several share a batch, and then a call."""

    PLANNED = "planned"
    WRITING = "writing"
    WRITTEN = "written"
    CHOOSING = "choosing"
    MARKING = "marking"
    MARKED = "marked"
    CALLING = "calling"
    FINDING = "finding"
    RECORDING = "recording"
    # Nobody works on it now: it is adopted soon, by this process or the next.
    LEFT = "left"
    # The ends. One that failed is given up; an unwritten one is not there; others are let be.
    LAUNCHED = "launched"
    FAILED = "failed"
    UNWRITTEN = "unwritten"
    LET_BE = "let be"


class Event(Enum):
    """What happens to a claim that is being launched, as a sentence of its table."""

    FLUSHED = "the trace of its decision is flushed"
    WRITTEN = "it is written"
    BATCH_WRITTEN = "its whole batch is written"
    GROUPED = "its call is composed"
    CALL_KNOWN = "an earlier call is repeated"
    CALL_UNKNOWN = "an earlier call cannot be repeated"
    LEFT_OUT = "it is no part of the call that is repeated"
    NOTHING_OFFERED = "nothing suitable is on offer"
    MARKED = "it is marked"
    CALL_MARKED = "all claims of its call are marked"
    UNGROUPED = "another claim of its call cannot be marked"
    BOUGHT = "it gets an instance"
    UNBOUGHT = "it gets no instance"
    RECORDED = "it names its instance"
    ADOPTED = "it is adopted"
    GONE = "it is gone"
    DELETED = "the call failed, and all its claims are deleted"
    # How a step fails: for good, or for want of an answer, as often as it is tried.
    REFUSED = "refused"
    MISSING = "not found"
    CONFLICT = "in conflict"
    UNANSWERED = "no answer"


@dataclass(frozen=True, slots=True)
class Member:
    """A claim, the batch it came in last, and the token of its call, "" while it has none."""

    name: str
    batch: str
    token: str


# The step that is tried while a claim is in a state, for it or for all of its batch or call.
STEPS: Final[Mapping[State, Callable[[Member], Step]]] = {
    State.WRITING: lambda of: WriteClaim(name=of.name),
    State.CHOOSING: lambda of: PrepareBatch(batch=of.batch),
    State.MARKING: lambda of: MarkClaim(name=of.name, token=of.token),
    State.CALLING: lambda of: CallFleet(token=of.token),
    State.FINDING: lambda of: FindInstances(token=of.token),
    State.RECORDING: lambda of: RecordInstance(name=of.name),
}

_FOR_GOOD: Final = (Event.REFUSED, Event.MISSING, Event.CONFLICT)
TABLE: Final[Mapping[State, Mapping[Event, State]]] = {
    State.PLANNED: {Event.FLUSHED: State.WRITING},
    State.WRITING: {
        Event.WRITTEN: State.WRITTEN,
        **dict.fromkeys(_FOR_GOOD, State.UNWRITTEN),
        Event.UNANSWERED: State.FAILED,
    },
    State.WRITTEN: {Event.BATCH_WRITTEN: State.CHOOSING},
    State.CHOOSING: {
        Event.GROUPED: State.MARKING,
        Event.CALL_KNOWN: State.MARKED,
        Event.CALL_UNKNOWN: State.FINDING,
        Event.LEFT_OUT: State.CHOOSING,
        Event.NOTHING_OFFERED: State.FAILED,
        Event.REFUSED: State.FAILED,
        **dict.fromkeys((Event.MISSING, Event.CONFLICT, Event.UNANSWERED), State.LEFT),
    },
    State.MARKING: {
        Event.MARKED: State.MARKED,
        Event.UNGROUPED: State.CHOOSING,
        **dict.fromkeys((Event.REFUSED, Event.MISSING), State.LET_BE),
        Event.UNANSWERED: State.LEFT,
    },
    State.MARKED: {
        Event.CALL_MARKED: State.CALLING,
        Event.UNGROUPED: State.CHOOSING,
        Event.GONE: State.LET_BE,
    },
    State.CALLING: {
        Event.BOUGHT: State.RECORDING,
        **dict.fromkeys((Event.UNBOUGHT, *_FOR_GOOD), State.FAILED),
        Event.UNANSWERED: State.LEFT,
        **dict.fromkeys((Event.GONE, Event.DELETED), State.LET_BE),
    },
    State.FINDING: {
        Event.BOUGHT: State.RECORDING,
        Event.UNBOUGHT: State.FAILED,
        **dict.fromkeys((*_FOR_GOOD, Event.UNANSWERED), State.LEFT),
    },
    State.RECORDING: {
        Event.RECORDED: State.LAUNCHED,
        **dict.fromkeys((Event.MISSING, Event.GONE), State.LET_BE),
        **dict.fromkeys((Event.REFUSED, Event.CONFLICT, Event.UNANSWERED), State.LEFT),
    },
    State.LEFT: {Event.ADOPTED: State.CHOOSING},
}


class ImpossibleEventError(Exception):
    """An event that the table of launches does not show for the state that a claim is in."""


def after(name: str, state: State, event: Event) -> State:
    """Return the state of the claim `name` after an event."""
    then = TABLE.get(state, {}).get(event)
    if then is None:
        raise ImpossibleEventError(f"{name}: {event.value!r} cannot be while its launch is {state.value}")
    return then


def failure_of(step: Step, error: Exception) -> Event:
    """Return how a step failed. A claim that somebody else changed is marked again, as it is then."""
    match error:
        case InvalidError() | NodeClassNotReadyError():
            return Event.REFUSED
        case NotFoundError():
            return Event.MISSING
        case ConflictError() if not isinstance(step, MarkClaim):
            return Event.CONFLICT
        case _:
            return Event.UNANSWERED
