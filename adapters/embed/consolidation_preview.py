"""A preview of consolidation: what would be moved of a cluster now, by the domain's model and search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from treenail.adapters.embed.previewed_cluster import PoolBudget, PreviewedCluster, PreviewRules
from treenail.adapters.embed.simulation import Catalogues
from treenail.adapters.solver.garbage import uncollected
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.disruption.move_history import MoveHistory
from treenail.domain.explain.consolidation_blockers import blockers_of
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.causes import Cause
from treenail.domain.packing.consolidation.consolidation_plan import Move
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.consolidation.cost_bound import cost_bound
from treenail.domain.packing.plan import PlannedClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedMove:
    """Nodes that go together, by name, and where their pods go, by namespace/name.

    `places` are existing nodes by pod; each of `claims` is a node to buy, with its pods. `saves` is in $/h,
    `costs` what the move costs once, in dollars. A return goes `back_to` pools of higher weight.
    """

    nodes: tuple[str, ...]
    reason: str
    saves: float
    costs: float = 0.0
    places: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[tuple[PlannedClaim, tuple[str, ...]], ...] = ()
    back_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedNode:
    """A node that stays, by name, what keeps it, and what its going would save at most, $/h."""

    node: str
    pool: str
    blockers: tuple[Blocker, ...]
    would_save: float = 0.0

    def without(self, blocker: Blocker) -> float:
        """Return the saving if the node could go without a blocker, $/h; 0 if the blocker cannot be removed.

        If there are several blockers, it is what all of them cost together.
        """
        return self.would_save if blocker.removable else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPreview:
    """Moves in the order they would be made, and why other nodes stay, by name.

    Costs are $/h, of the nodes that claims stand for, with volumes and overhead; those of `unpriced` count
    without their price. No nodes for the same pods could cost less than `lower_bound`. `waiting` is how many
    pods wait for a place, which they are given first. `warnings` name pools that nothing is bought of.
    """

    moves: tuple[PreviewedMove, ...]
    blocked: tuple[BlockedNode, ...]
    budgets: tuple[PoolBudget, ...]
    cost_before: float
    cost_after: float
    lower_bound: float
    unpriced: tuple[str, ...] = ()
    waiting: int = 0
    cut_short: bool = False
    warnings: tuple[str, ...] = ()


def preview(
    model: ClusterModel, catalogues: Catalogues, rules: PreviewRules, now: datetime
) -> ConsolidationPreview:
    """Return what would be consolidated of a cluster. Changes nothing."""
    with uncollected():
        return _Preview(PreviewedCluster(model, catalogues, rules, now)).made()


class _Preview:
    """One preview in the making."""

    def __init__(self, cluster: PreviewedCluster) -> None:
        self._cluster = cluster
        self._empty = cluster.empty()
        allowed, self._budgets = cluster.within_budgets(self._empty)
        self._going = self._empty if cluster.rules.whole else allowed
        self._problem: ConsolidationProblem = cluster.problem(self._going, self._budgets)
        self._keys = {pod.uid: pod.key for pod in self._problem.problem.pods}

    def made(self) -> ConsolidationPreview:
        # Numpy is only paid for by those who pack.
        from treenail.domain.packing.consolidation.repack import repack  # noqa: PLC0415

        plan = repack(self._problem)
        why = {one.name: (one.why, one.would_save) for one in (*self._cluster.staying, *plan.staying)}
        for name in self._empty:
            saved = self._cluster.cost((self._cluster.views[name],))
            why[name] = Block.BUDGET.by(self._cluster.views[name].pool), saved
        moves = [self._of_empty(name) for name in self._going]
        for name in self._going:
            del why[name]
        for move in plan.moves:
            loop = self._loop(move)
            if loop is None:
                moves.append(self._of(move))
                continue
            for name in move.removed:
                why[name] = loop, move.saves / len(move.removed)
        before = self._cluster.cost(self._cluster.views.values())
        after = before - math.fsum(move.saves for move in moves)
        return ConsolidationPreview(
            moves=tuple(moves),
            blocked=tuple(self._blocked(name, *why[name]) for name in sorted(why, key=self._named)),
            budgets=self._budgets,
            cost_before=before,
            cost_after=after,
            lower_bound=min(after, self._bound()),
            unpriced=self._cluster.unpriced(),
            waiting=len(self._keys) - sum(len(one.pods) for one in self._problem.candidates),
            cut_short=plan.cut_short,
            warnings=tuple(self._cluster.warnings),
        )

    def _named(self, name: str) -> str:
        return self._cluster.views[name].node_name or name

    def _bound(self) -> float:
        """Return what the cluster costs at least if whatever may go goes, $/h."""
        open_to_change = {one.name for one in self._problem.candidates} | set(self._going)
        views = self._cluster.views.items()
        return self._cluster.cost(view for name, view in views if name not in open_to_change) + cost_bound(
            self._problem
        )

    def _loop(self, move: Move) -> Blocker | None:
        """Return why a move is not made though it would save: it undoes another one."""
        claims = self._cluster.claims_of(move.removed)
        return MoveHistory().undoes(claims, move.claims, self._cluster.now)

    def _of_empty(self, name: str) -> PreviewedMove:
        saves = self._cluster.cost((self._cluster.views[name],))
        return PreviewedMove(nodes=(self._named(name),), reason=Cause.EMPTY.value, saves=saves)

    def _of(self, move: Move) -> PreviewedMove:
        from treenail.domain.packing.consolidation.worth import move_dollars  # noqa: PLC0415

        removed = [one for one in self._problem.candidates if one.name in move.removed]
        keys = self._keys
        return PreviewedMove(
            nodes=tuple(map(self._named, move.removed)),
            reason=Cause.UNDERUTILIZED.value,
            saves=move.saves,
            costs=move_dollars(removed, sum(claim.price + claim.surcharge for claim in move.claims)),
            places={keys[uid]: self._named(name) for uid, name in move.nominations.items()},
            claims=tuple((claim, tuple(keys[uid] for uid in claim.pods)) for claim in move.claims),
            back_to=move.back_to,
        )

    def _blocked(self, name: str, why: Blocker, would_save: float) -> BlockedNode:
        view = self._cluster.views[name]
        return BlockedNode(
            node=self._named(name),
            pool=view.pool,
            blockers=blockers_of(self._cluster.model, view, why, self._cluster.now),
            would_save=would_save,
        )
