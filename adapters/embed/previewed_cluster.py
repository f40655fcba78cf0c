"""The cluster of a consolidation preview: its prices, its empty nodes, and the problem that it poses."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from treenail.adapters.embed.simulation import Catalogues
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.disruption.acceptance import budgets_at_present
from treenail.domain.disruption.consolidation_pass import consolidation_scope
from treenail.domain.disruption.consolidation_windows import consolidatable_at
from treenail.domain.disruption.disruption import DisruptionProposed
from treenail.domain.disruption.move_history import MoveHistory
from treenail.domain.disruption.node_prices import NodePrices
from treenail.domain.disruption.objections import objection
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.overlaid_types import overlaid, overlay_key
from treenail.domain.packing.consolidation.consolidation_problem import (
    ConsolidationProblem,
)
from treenail.domain.packing.consolidation.worth import PAYBACK
from treenail.domain.packing.problem import PackingSettings, PoolOffer
from treenail.domain.scheduling.reserved_offers import Stock


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRules:
    """By what rules a preview is made: as the controller's settings of these names.

    With `whole`, budgets of pools do not bound it.
    """

    packing: PackingSettings = field(default_factory=PackingSettings)
    payback: timedelta | None = PAYBACK
    spot_to_spot: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolBudget:
    """Nodes of a pool in use, and how many may go now: empty ones, and others; None is no limit."""

    pool: str
    nodes: int
    empty: int | None
    underutilized: int | None


class PreviewedCluster:
    """A cluster as `rules` and the prices of `catalogues` make it, at a time. Leaves the model as it is."""

    def __init__(
        self, model: ClusterModel, catalogues: Catalogues, rules: PreviewRules, now: datetime
    ) -> None:
        self.model = model
        self.rules = rules
        self.now = now
        self.views = {view.name: view for view in sorted(model.objects.views(), key=lambda one: one.name)}
        self.warnings: list[str] = []
        self._types: dict[str, tuple[InstanceType, ...]] = {}
        self._seen: dict[object, tuple[tuple[InstanceType, ...], tuple[InstanceType, ...]]] = {}
        self._volume_costs: dict[str, float] = {}
        self._read(catalogues)
        self._prices = NodePrices(
            types={pool: {one.name: one for one in types} for pool, types in self._types.items()},
            volume_costs=self._volume_costs,
            overhead_cost=rules.packing.node_overhead_cost,
        )
        self._scope = consolidation_scope(
            model, MoveHistory(), now, prices=self._prices, payback=rules.payback
        )
        self.staying = self._scope.staying

    def _read(self, catalogues: Catalogues) -> None:
        for name, pool in sorted(self.model.objects.pools.items()):
            node_class = self.model.objects.node_classes.get(str(pool.node_class))
            self._volume_costs[name] = catalogues.volume_cost(node_class)
            try:
                self._types[name] = self._overlaid(pool, catalogues.types_for(pool, node_class))
            except NodeClassNotReadyError as error:
                self.warnings.append(f"{pool.generation.pool_kind} {name}: nothing is bought of it: {error}")

    def _overlaid(self, pool: NodePool, types: tuple[InstanceType, ...]) -> tuple[InstanceType, ...]:
        # Pools with the same types share them: packing prepares each tuple of types anew.
        key = id(types), overlay_key(pool)
        if key not in self._seen:
            self._seen[key] = types, overlaid(types, pool).types
        return self._seen[key][1]

    # --- what nodes cost

    def cost(self, views: Iterable[NodeView]) -> float:
        """Return what nodes cost that claims stand for, $/h; an unknown price counts as nothing."""
        return math.fsum(
            (self._prices.price(view) or 0.0) + self._surcharge(view)
            for view in views
            if view.claim is not None
        )

    def _surcharge(self, view: NodeView) -> float:
        pool = self.model.objects.pools.get(view.pool)
        return self._prices.surcharge(pool) if pool is not None else 0.0

    def unpriced(self) -> tuple[str, ...]:
        """Return the nodes whose price is not known, by name."""
        nodes = (one for one in self.views.values() if one.claim is not None and one.initialized)
        return tuple(sorted(one.node_name for one in nodes if self._prices.price(one) is None))

    # --- which may go

    def empty(self) -> tuple[str, ...]:
        """Return the empty nodes that their pools would give back by now, budgets aside."""
        return tuple(view.name for view in self.views.values() if self._goes_empty(view))

    def _goes_empty(self, view: NodeView) -> bool:
        claim, pool = view.claim, self.model.objects.pools.get(view.pool)
        if claim is None or pool is None or not self.model.empty(view.name):
            return False
        at = consolidatable_at(claim, pool)
        asked = DisruptionProposed(pool=pool.name, candidates=(view.name,), cause=Cause.EMPTY)
        return at is not None and at <= self.now and objection(self.model, view.name, asked, self.now) is None

    def within_budgets(self, empty: Sequence[str]) -> tuple[tuple[str, ...], tuple[PoolBudget, ...]]:
        """Return the empty nodes that budgets let go, and what they let go of each pool after these."""
        book, going, budgets = budgets_at_present(self.model), [], []
        for name in sorted(self.model.objects.pools):
            left = book.left(name, Cause.EMPTY, self.now)
            of_pool = [one for one in empty if self.views[one].pool == name][:left]
            for one in of_pool:
                book.hold(one)
            going += of_pool
            budgets.append(
                PoolBudget(
                    pool=name,
                    nodes=sum(1 for one in self.views.values() if one.pool == name and one.initialized),
                    empty=left,
                    underutilized=book.left(name, Cause.UNDERUTILIZED, self.now),
                )
            )
        return tuple(going), tuple(budgets)

    def problem(self, going: Collection[str], budgets: Iterable[PoolBudget]) -> ConsolidationProblem:
        """Return the problem that is left once the nodes `going` have gone as empty."""
        scope = self._scope
        snapshot = self.model.snapshot(self.now, movable=[one.name for one in scope.candidates])
        terms = {one.pool: replace(scope.terms[one.pool], allowed=one.underutilized) for one in budgets}
        return ConsolidationProblem(
            problem=snapshot.problem(self._offers(snapshot), self.rules.packing),
            # A node that goes is among those that do not receive pods, but no candidate waits for it.
            candidates=tuple(replace(one, patient=one.patient and not going) for one in scope.candidates),
            terms=terms,
            not_receiving=scope.not_receiving | frozenset(going),
            spot_to_spot=self.rules.spot_to_spot,
            whole=self.rules.whole,
        )

    def _offers(self, snapshot: Snapshot) -> tuple[PoolOffer, ...]:
        stocks = {id(types): Stock.of(types) for types in self._types.values()}
        return tuple(
            offer
            for pool in snapshot.pools
            if pool.name in self._types and not pool.static and not pool.deleting
            for offer in stocks[id(self._types[pool.name])].offers(
                pool,
                snapshot.limits_left.get(pool.name),
                taken=snapshot.in_reservations,
                volume_cost=self._volume_costs[pool.name],
            )
        )

    def claims_of(self, names: Iterable[str]) -> tuple[NodeClaim, ...]:
        """Return the claims of nodes, by the names of their views."""
        claims = (self.views[name].claim for name in names)
        return tuple(claim for claim in claims if claim is not None)
