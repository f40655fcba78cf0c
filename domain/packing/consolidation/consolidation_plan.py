"""The consolidation plan: moves in the order they should be made, and why other nodes stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from treenail.domain.model.blockers import Blocker
from treenail.domain.packing.plan import PlannedClaim


class Action(StrEnum):
    """The action that takes the place of the nodes that go, as Karpenter's metrics name it."""

    DELETE = "delete"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Nodes that go together (`removed`, by name), and where each of their pods goes.

    `nominations` are existing nodes by pod uid, `claims` the nodes to buy first. `saves` is what the cluster
    costs less afterwards, $/h, volumes and overhead counted. `disruption` is what it costs to move the pods:
    1 for each node, what each pod costs to evict, and 1 for each preference that a pod loses. `after` are the
    earlier moves, by number, that must be made before: pods of this one are placed by where theirs go.
    A return is made for the weight of the pools it goes `back_to`, whatever it saves: what is bought may cost
    `premium` ($/h) more than planned.
    """

    removed: tuple[str, ...]
    nominations: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[PlannedClaim, ...] = ()
    saves: float = 0.0
    disruption: float = 0.0
    after: tuple[int, ...] = ()
    back_to: tuple[str, ...] = ()
    premium: float = 0.0

    @property
    def action(self) -> Action:
        """Replace, if nodes are bought in place of those removed, else delete."""
        return Action.REPLACE if self.claims else Action.DELETE

    @property
    def consolidation_type(self) -> str:
        """The type of consolidation by how many nodes go at once, as Karpenter's metrics name it."""
        return "single" if len(self.removed) == 1 else "multi"


@dataclass(frozen=True, slots=True, kw_only=True)
class StayingNode:
    """A candidate that stays, what keeps it, and what its going would save at most, $/h."""

    name: str
    why: Blocker
    would_save: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPlan:
    """Moves in the order to make them: each is valid once the moves it comes `after` are made.

    `cost` is what all existing nodes of known price cost now, and `cost_after` once all moves are made, $/h.
    `later` are nodes, by name, of moves that were found as well and that budgets do not allow yet, in order.
    `cut_short` says that the search ended before all candidates were looked at.
    """

    moves: tuple[Move, ...] = ()
    staying: tuple[StayingNode, ...] = ()
    later: tuple[str, ...] = ()
    cost: float = 0.0
    cost_after: float = 0.0
    cut_short: bool = False
