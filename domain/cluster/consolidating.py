"""Messages of a consolidation pass: asked for, postponed, and planned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.planning import Consolidation, Snapshot
from treenail.domain.model.events import ObjectRef
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationWanted:
    """A pass is to be made, unless nothing has changed since the state that `fruitless` stands for.

    With `urgent_only`, only a decision on pods that lose their machine may end it.
    """

    fruitless: object = None
    urgent_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPostponed:
    """No pass is made now: pods are decided on (`busy`), or nothing changed, or nothing may go."""

    busy: bool = False
    consolidation: Consolidation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPlanned:
    """The finding of a pass for a snapshot; a `plan` of None says that it was given up, or failed."""

    decision: Decision
    snapshot: Snapshot
    consolidation: Consolidation
    plan: ConsolidationPlan | None
    considered: tuple[str, ...]
    selected_at: datetime
    packed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesGoLater:
    """All nodes, by name, that consolidation would take, and takes later than now; in order."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveWithdrawn:
    """A consolidation move is withdrawn: its nodes, by name, stay. `why` is the reason, as a sentence.

    `bought` is how many claims the move had asked for, `saves` the saving it was expected to make, $/h.
    `about` are the objects that events about the nodes are published for.
    """

    names: tuple[str, ...]
    why: str
    bought: int = 0
    saves: float = 0.0
    about: tuple[ObjectRef, ...] = ()
