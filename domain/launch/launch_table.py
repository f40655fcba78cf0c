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


class LaunchState(Enum):
    """The state of a claim on its way to an instance. Several share a batch, and then a call."""

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


class LaunchEvent(Enum):
    """An event of a claim that is being launched, as a sentence of its table."""

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


_S, _E = LaunchState, LaunchEvent

# The step that is tried while a claim is in a state, for it or for all of its batch or call.
STEPS: Final[Mapping[LaunchState, Callable[[Member], Step]]] = {
    _S.WRITING: lambda of: WriteClaim(name=of.name),
    _S.CHOOSING: lambda of: PrepareBatch(batch=of.batch),
    _S.MARKING: lambda of: MarkClaim(name=of.name, token=of.token),
    _S.CALLING: lambda of: CallFleet(token=of.token),
    _S.FINDING: lambda of: FindInstances(token=of.token),
    _S.RECORDING: lambda of: RecordInstance(name=of.name),
}

_FOR_GOOD: Final = (_E.REFUSED, _E.MISSING, _E.CONFLICT)
TABLE: Final[Mapping[LaunchState, Mapping[LaunchEvent, LaunchState]]] = {
    _S.PLANNED: {_E.FLUSHED: _S.WRITING},
    _S.WRITING: {
        _E.WRITTEN: _S.WRITTEN,
        **dict.fromkeys(_FOR_GOOD, _S.UNWRITTEN),
        _E.UNANSWERED: _S.FAILED,
    },
    _S.WRITTEN: {_E.BATCH_WRITTEN: _S.CHOOSING},
    _S.CHOOSING: {
        _E.GROUPED: _S.MARKING,
        _E.CALL_KNOWN: _S.MARKED,
        _E.CALL_UNKNOWN: _S.FINDING,
        _E.LEFT_OUT: _S.CHOOSING,
        _E.NOTHING_OFFERED: _S.FAILED,
        _E.REFUSED: _S.FAILED,
        **dict.fromkeys((_E.MISSING, _E.CONFLICT, _E.UNANSWERED), _S.LEFT),
    },
    _S.MARKING: {
        _E.MARKED: _S.MARKED,
        _E.UNGROUPED: _S.CHOOSING,
        **dict.fromkeys((_E.REFUSED, _E.MISSING), _S.LET_BE),
        _E.UNANSWERED: _S.LEFT,
    },
    _S.MARKED: {
        _E.CALL_MARKED: _S.CALLING,
        _E.UNGROUPED: _S.CHOOSING,
        _E.GONE: _S.LET_BE,
    },
    _S.CALLING: {
        _E.BOUGHT: _S.RECORDING,
        **dict.fromkeys((_E.UNBOUGHT, *_FOR_GOOD), _S.FAILED),
        _E.UNANSWERED: _S.LEFT,
        **dict.fromkeys((_E.GONE, _E.DELETED), _S.LET_BE),
    },
    _S.FINDING: {
        _E.BOUGHT: _S.RECORDING,
        _E.UNBOUGHT: _S.FAILED,
        **dict.fromkeys((*_FOR_GOOD, _E.UNANSWERED), _S.LEFT),
    },
    _S.RECORDING: {
        _E.RECORDED: _S.LAUNCHED,
        **dict.fromkeys((_E.MISSING, _E.GONE), _S.LET_BE),
        **dict.fromkeys((_E.REFUSED, _E.CONFLICT, _E.UNANSWERED), _S.LEFT),
    },
    _S.LEFT: {_E.ADOPTED: _S.CHOOSING},
}


class ImpossibleEventError(Exception):
    """An event that the table of launches does not show for the state that a claim is in."""


def after(name: str, state: LaunchState, event: LaunchEvent) -> LaunchState:
    """Return the state of the claim `name` after an event."""
    then = TABLE.get(state, {}).get(event)
    if then is None:
        raise ImpossibleEventError(f"{name}: {event.value!r} cannot be while its launch is {state.value}")
    return then


def failure_of(step: Step, error: Exception) -> LaunchEvent:
    """Return how a step failed. A claim that somebody else changed is marked again, as it is then."""
    match error:
        case InvalidError() | NodeClassNotReadyError():
            return LaunchEvent.REFUSED
        case NotFoundError():
            return LaunchEvent.MISSING
        case ConflictError() if not isinstance(step, MarkClaim):
            return LaunchEvent.CONFLICT
        case _:
            return LaunchEvent.UNANSWERED
