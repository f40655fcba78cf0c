"""A consolidation pass: what of the cluster is looked at, and by what rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import Consolidation
from treenail.domain.disruption.acceptance import budgets_at_present
from treenail.domain.disruption.budget_windows import next_change
from treenail.domain.disruption.consolidation_candidates import consolidation_candidates
from treenail.domain.disruption.consolidation_terms import pool_terms
from treenail.domain.disruption.consolidation_windows import not_receiving
from treenail.domain.disruption.move_history import MoveHistory
from treenail.domain.disruption.node_prices import NodePrices
from treenail.domain.model.blockers import Block
from treenail.domain.model.causes import Cause
from treenail.domain.model.event_subjects import of_view
from treenail.domain.packing.consolidation.consolidation_plan import StayingNode
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, PoolTerms
from treenail.domain.packing.consolidation.worth import PAYBACK
from treenail.domain.packing.problem import NODE_OVERHEAD_COST


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRules:
    """The settings of consolidation.

    With `acting` false, moves are looked for and told, and not made. `payback` is for pools that name none
    (None for any saving), `node_overhead_cost` ($/h) for those whose nodes say no other.
    """

    acting: bool = True
    payback: timedelta | None = PAYBACK
    spot_to_spot: bool = False
    node_overhead_cost: float = NODE_OVERHEAD_COST


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationScope:
    """Candidates for consolidation, the terms of their pools, and why the other nodes stay.

    Budgets of pools are not asked: `terms` leave open how many nodes may go. Candidates, nodes that stay
    and those that do not receive pods are the same before `same_until` (None: always) where nothing happens.
    """

    candidates: tuple[CandidateNode, ...]
    staying: tuple[StayingNode, ...]
    terms: Mapping[str, PoolTerms]
    not_receiving: frozenset[str]
    events: Mapping[str, str]
    same_until: datetime | None


def consolidation_scope(
    model: ClusterModel,
    history: MoveHistory,
    now: datetime,
    *,
    prices: NodePrices,
    payback: timedelta | None = None,
) -> ConsolidationScope:
    """Return what may be consolidated at this revision: what a pass and a preview of it both look at."""
    found = consolidation_candidates(model, now, prices=prices)
    terms = pool_terms(model, now, prices=prices, payback=payback)
    claims = model.objects.claims
    settled = [one for one in found.candidates if not _moving(model, one, now)]
    kept = {one.name for one in settled}
    moving = [
        StayingNode(name=one.name, why=Block.MOVING.by()) for one in found.candidates if one.name not in kept
    ]
    within = not_receiving(model, now)
    ends = [
        *within.values(),
        *(one.why.until for one in found.staying),
        *(history.forgotten_at(claims[one.name], now) for one in settled),
        *(now for _ in moving),  # until when is not known
    ]
    return ConsolidationScope(
        candidates=tuple(
            replace(
                one,
                least_saving=history.least_saving(claims[one.name], now),
                replaced=history.replaced(claims[one.name], now),
                remaining=_remaining(one, terms.get(one.pool)),
            )
            for one in settled
        ),
        staying=(*found.staying, *moving),
        terms=terms,
        not_receiving=frozenset(within),
        events=found.events,
        same_until=_earliest(ends),
    )


def _remaining(one: CandidateNode, terms: PoolTerms | None) -> timedelta | None:
    """Return how long a node will live, if a move may not have paid by then; None where that is long enough.

    So a problem is the same one later, as long as nothing else is different.
    """
    payback = terms.payback if terms is not None else None
    short = payback is not None and one.remaining is not None and one.remaining < payback
    return one.remaining if short else None


def _earliest(times: Iterable[datetime | None]) -> datetime | None:
    return min((at for at in times if at is not None), default=None)


def consolidation_pass(
    model: ClusterModel,
    rules: ConsolidationRules,
    history: MoveHistory,
    now: datetime,
    *,
    urgent_only: bool = False,
) -> Consolidation:
    """Return what may be consolidated at this revision, at the prices that claims were bought for."""
    prices = NodePrices(overhead_cost=rules.node_overhead_cost)
    scope = consolidation_scope(model, history, now, prices=prices, payback=rules.payback)
    terms = _within_budgets(model, scope.terms, now)
    budgets = (budget for pool in model.objects.pools.values() for budget in pool.disruption.budgets)
    return Consolidation(
        candidates=scope.candidates,
        terms=terms,
        not_receiving=scope.not_receiving,
        spot_to_spot=rules.spot_to_spot,
        staying=scope.staying,
        events=scope.events,
        about={view.name: of_view(view) for view in model.objects.views()},
        state=(
            model.recent.stamp,
            tuple((one.name, one.least_saving, one.replaced, one.goes_later) for one in scope.candidates),
            scope.not_receiving,
            tuple((name, terms[name].allowed) for name in sorted(terms)),
        ),
        same_until=_earliest((scope.same_until, *(next_change(budget, now) for budget in budgets))),
        urgent_only=urgent_only,
    )


def _moving(model: ClusterModel, one: CandidateNode, now: datetime) -> bool:
    """Return whether pods of a candidate have places elsewhere already, or stop and may not be hurried."""
    pods = (pod for uid in one.pods if (pod := model.objects.pods.get(uid)) is not None)
    return any(model.promises.of(pod.uid) is not None or pod.protected(now) for pod in pods)


def _within_budgets(
    model: ClusterModel, terms: Mapping[str, PoolTerms], now: datetime
) -> dict[str, PoolTerms]:
    book = budgets_at_present(model)
    return {
        name: replace(one, allowed=book.left(name, Cause.UNDERUTILIZED, now)) for name, one in terms.items()
    }
