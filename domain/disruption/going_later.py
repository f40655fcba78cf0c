"""Nodes that go later: what consolidation is to take when budgets allow more."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model.blockers import Block
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode

# While budgets let nothing go, or a node is no candidate for a while, plans say nothing of it.
_KEPT: Final = timedelta(minutes=10)


class GoingLater:
    """The nodes that plans found moves of, by name, and that budgets did not allow yet. Mutable."""

    def __init__(self) -> None:
        # When a plan last said so.
        self._said: dict[str, datetime] = {}

    def planned(self, candidates: Iterable[CandidateNode], plan: ConsolidationPlan, now: datetime) -> None:
        """Take in a plan: which candidates go, now or later, and which stay."""
        held = {one.name for one in plan.staying if one.why.block is Block.BUDGET}
        going = {name for move in plan.moves for name in move.removed}
        stay = {one.name for one in candidates} - held - going
        earlier = {name: at for name, at in self._said.items() if name not in stay}
        self._said = earlier | dict.fromkeys(plan.later, now)

    def names(self, now: datetime) -> tuple[str, ...]:
        """Return the nodes that go later: a plan said so in the last ten minutes, and none denied it."""
        self._said = {name: at for name, at in self._said.items() if now < at + _KEPT}
        return tuple(sorted(self._said))
