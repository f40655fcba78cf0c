"""Steps of a launch, as values: each is one call, may be retried, and can be told apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeVar

from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.fleets import FleetAnswer

# Together longer than new instances may stay invisible, and a call may take whose process has died.
_LOOKS_APART: Final = (5.0, 10.0, 15.0, 15.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteClaim:
    """Create the claim `name`."""

    name: str
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareBatch:
    """Read what can be bought, to group the claims of a batch into calls."""

    batch: str
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkClaim:
    """First write: say on the claim which call it will be launched by."""

    name: str
    token: str
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFleet:
    """Second write: CreateFleet, under a token."""

    token: str
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FindInstances:
    """Look for what was bought under a token whose call cannot be repeated; `look` tells how often before."""

    token: str
    look: int = 0
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInstance:
    """Third write: say on the claim which instance it got."""

    name: str
    attempt: int = 0


Step: TypeAlias = WriteClaim | PrepareBatch | MarkClaim | CallFleet | FindInstances | RecordInstance
StepT = TypeVar("StepT", bound=Step)


def again(step: StepT) -> StepT:
    """Return the next attempt at `step`."""
    return replace(step, attempt=step.attempt + 1)


def first(step: StepT) -> StepT:
    """Return `step` as it was tried first: equal for all its attempts."""
    return replace(step, attempt=0)


def next_look(step: FindInstances) -> tuple[FindInstances, float] | None:
    """Return the look after one that did not find all, and in how many seconds; None after the last."""
    if step.look == len(_LOOKS_APART):
        return None
    return FindInstances(token=step.token, look=step.look + 1), _LOOKS_APART[step.look]


def cause_of(error: Exception) -> Cause:
    """Return why claims end whose launch failed for good with `error`."""
    not_ready = isinstance(error, NodeClassNotReadyError)
    return Cause.NODE_CLASS_NOT_READY if not_ready else Cause.LAUNCH_FAILED


def cause_unmet(answer: FleetAnswer, *, ran_out: bool) -> Cause:
    """Return why claims end for which `answer` has no instance; `ran_out` where some offering did by it.

    Where all that EC2 says is something else, more capacity would not help.
    """
    lacking = ran_out or answer.elsewhere or not answer.errors
    return Cause.INSUFFICIENT_CAPACITY if lacking else Cause.LAUNCH_FAILED
