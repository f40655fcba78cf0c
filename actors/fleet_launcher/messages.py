"""Private messages of FleetLauncher."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from treenail.domain.launch.launch_steps import Step
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.runtime import Outcome
from treenail.domain.telemetry.delays import Delay


@dataclass(frozen=True, slots=True)
class StepDone:
    """A step was tried, from `started_at` on; `delays` are those within its call."""

    step: Step
    started_at: datetime
    outcome: Outcome[object]
    delays: tuple[Delay, ...] = ()


@dataclass(frozen=True, slots=True)
class Flushed:
    """The trace of a decision was `exported`, or the time for that is over: its claims may be written.

    They have waited for it `since` the decision.
    """

    names: tuple[str, ...]
    since: datetime
    exported: bool


@dataclass(frozen=True, slots=True)
class Adopt:
    """A timer tick: take on the claims somebody left unlaunched."""


@dataclass(frozen=True, slots=True)
class Resume:
    """A timer tick: launch a claim of no pool again, whose launch failed."""

    name: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """A timer tick: say that a claim that comes to nothing is to go."""

    name: str


@dataclass(frozen=True, slots=True)
class Probe:
    """A timer tick: let one call of this node class go, to see whether it is answered."""

    node_class: NodeClassRef
