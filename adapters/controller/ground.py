"""The runtime that ports are opened with, and the ports once they are open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from treenail.actors.runtime.ports import Ports
from treenail.adapters.settings.settings import Settings
from treenail.domain.leadership.tenure import Tenure
from treenail.domain.model.runtime import Clock, Dice
from treenail.domain.ports import LeaseStore, Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The arguments that the ports are opened with.

    `dated` is called with the time in each answer of the API server. `congested` is True while the actors are
    busy, `interruptions_congested` while the actors that hear of interruptions are. `failed` gets unexpected
    exceptions. `tenure` is asked before each call that changes something.
    """

    settings: Settings
    clock: Clock
    dated: Callable[[datetime], None]
    dice: Dice
    telemetry: Telemetry
    congested: Callable[[], bool]
    interruptions_congested: Callable[[], bool]
    failed: Callable[[BaseException], None]
    tenure: Tenure


@dataclass(frozen=True, slots=True)
class Outside:
    """The outside world, opened. `close` ends connections and processes.

    A leader is elected by `lease`. A waiting replica calls `follow`, to read the cluster meanwhile; `known`
    says whether it was read. A leader first calls `lead`, for what only a leader needs.
    """

    ports: Ports
    close: Callable[[], None]
    lease: LeaseStore
    follow: Callable[[], None] = lambda: None
    known: Callable[[], bool] = lambda: True
    lead: Callable[[], None] = lambda: None


OpenOutside: TypeAlias = Callable[[Ground], Outside]
