"""Private messages of TerminationActor: ticks, and results of its calls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from treenail.actors.runtime.work_queue import Look
from treenail.actors.termination_actor.gathered_ends import Together
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Outcome
from treenail.domain.telemetry.delays import Delay
from treenail.domain.termination.drain import Step


@dataclass(frozen=True, slots=True)
class Did:
    """A step of one node was tried, from `started_at` on; `delays` are those within its call."""

    name: str
    step: Step
    started_at: datetime
    outcome: Outcome[object]
    delays: tuple[Delay, ...] = ()


@dataclass(frozen=True, slots=True)
class TakeTogether:
    """A timer tick: take the steps that one call can do for many nodes."""


@dataclass(frozen=True, slots=True)
class DidTogether:
    """Steps of many nodes were tried by one call, from `started_at` on, with the delays within it."""

    together: Together
    started_at: datetime
    outcome: Outcome[object]
    delays: tuple[Delay, ...] = ()


@dataclass(frozen=True, slots=True)
class MovedOut:
    """A pod was asked to leave: evicted, or deleted with so many seconds of `grace`."""

    name: str
    pod: Pod
    grace: int | None
    outcome: Outcome[None]


@dataclass(frozen=True, slots=True)
class Heal:
    """A timer tick: a node bore our mark for no reason we know."""

    name: str


Tick: TypeAlias = Look | Did | TakeTogether | DidTogether | MovedOut | Heal
