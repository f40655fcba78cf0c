"""Candidates for consolidation: the nodes that may go, and why each other node stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Final, TypeAlias

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.node_loads import NodeLoad
from treenail.domain.disruption.consolidation_windows import consolidatable_at
from treenail.domain.disruption.expiry import expires_at
from treenail.domain.disruption.node_prices import NodePrices
from treenail.domain.disruption.objections import load_objection, node_objection
from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.cordons import marked
from treenail.domain.model.durations import format_duration
from treenail.domain.model.node_pools import ConsolidationPolicy, NodePool
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.taints import GOES_LATER
from treenail.domain.packing.consolidation.consolidation_plan import StayingNode
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode

BLOCKED: Final = "DisruptionBlocked"
UNCONSOLIDATABLE: Final = "Unconsolidatable"
# Of others people are not told by events: they stay for now, or another method gives them back.
_QUIET: Final = ""
# So long a node waits for others to receive its pods, rather than have nodes bought for them: some may never
# be without pods that come and go.
_PATIENCE: Final = timedelta(minutes=10)
_NO_PRICES: Final = NodePrices()

# Why a node stays: the reason of the event that says so, "" for none, and what keeps it.
_Why: TypeAlias = tuple[str, Blocker]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationCandidates:
    """The nodes that may go, and those that stay, each by name.

    `events` are the reasons, by node, of the events that tell people why it stays, as Karpenter has them:
    DisruptionBlocked where nothing may give the node up, Unconsolidatable where consolidation may not.
    """

    candidates: tuple[CandidateNode, ...]
    staying: tuple[StayingNode, ...]
    events: Mapping[str, str] = field(default_factory=dict)


def consolidation_candidates(
    model: ClusterModel, now: datetime, *, prices: NodePrices = _NO_PRICES
) -> ConsolidationCandidates:
    """Return which nodes may be consolidated at this revision, and of each other node why it stays.

    What cannot be read keeps the node. Budgets of pools are not asked. Changes nothing.
    """
    candidates: list[CandidateNode] = []
    staying: list[StayingNode] = []
    events: dict[str, str] = {}
    for view in model.objects.views():
        claim, pool = view.claim, model.objects.pools.get(view.pool)
        claim = model.pod_events.on(claim) if claim is not None else None
        load = model.loads.of(view, now)
        why = _not_disruptable(model, view, pool, load, now)
        if why is None and claim is not None and pool is not None:
            load = _with_buffers(model, view, load)
            why = _unconsolidatable(view, claim, pool, load, prices, now)
            if why is None:
                candidates.append(_candidate(view, claim, pool, load, prices, now))
        if why is not None:
            event, blocker = why
            saved = (prices.price(view) or 0.0) + (prices.surcharge(pool) if pool is not None else 0.0)
            staying.append(StayingNode(name=view.name, why=blocker, would_save=saved))
            if event:
                events[view.name] = event
    model.loads.tidy(chain((one.name for one in candidates), (one.name for one in staying)))
    return ConsolidationCandidates(candidates=tuple(candidates), staying=tuple(staying), events=events)


def _not_disruptable(
    model: ClusterModel, view: NodeView, pool: NodePool | None, load: NodeLoad, now: datetime
) -> _Why | None:
    """Return why nothing may give a node up of its own will, in Karpenter's order and words."""
    if view.claim is None:
        named = view.labels.get(labels.NODEPOOL, "")
        if named and named not in model.objects.pools:
            return BLOCKED, Block.POOL_MISSING.by(named)
        return _QUIET, Block.UNMANAGED.by()
    if view.node is None:
        return BLOCKED, Block.WITHOUT_NODE.by()
    if not view.initialized:
        return BLOCKED, Block.UNINITIALIZED.by()
    if model.marks.ending(view) or marked(view):
        return BLOCKED, Block.ENDING.by()
    if model.promises.at_for_pods(view.name):
        return BLOCKED, Block.NOMINATED.by()
    against = node_objection(model, view)
    if against is not None:
        return BLOCKED, against
    if pool is None and view.pool:
        return BLOCKED, Block.POOL_MISSING.by(view.pool)
    alone = model.objects.left_alone(view)
    if alone is not None:
        return _QUIET, Block.LEFT_ALONE.by(detail=alone.value)
    if pool is not None and pool.static:
        return _QUIET, Block.STATIC.by()
    against = load_objection(model, load, now)
    return None if against is None else (BLOCKED, against)


def _with_buffers(model: ClusterModel, view: NodeView, load: NodeLoad) -> NodeLoad:
    """Return a load with the places that buffers keep on a node: they move with it, and nobody is evicted."""
    kept = {promise.pod: 0.0 for promise in model.promises.at_for_buffers(view.name)}
    if not kept:
        return load
    costs = {**load.eviction_costs, **kept}
    return replace(load, moving=(*load.moving, *kept), eviction_costs=costs, empty=False)


def _unconsolidatable(
    view: NodeView,
    claim: NodeClaim,
    pool: NodePool,
    load: NodeLoad,
    prices: NodePrices,
    now: datetime,
) -> _Why | None:
    """Return why a node that could be given up may not be consolidated."""
    own, kind = view.labels, pool.generation.pool_kind
    if not prices.sells(pool.name, own.get(labels.INSTANCE_TYPE, "")):
        return UNCONSOLIDATABLE, Block.TYPE_UNKNOWN.by(detail=own.get(labels.INSTANCE_TYPE, ""))
    for key in (labels.CAPACITY_TYPE, labels.ZONE):
        if key not in own:
            return UNCONSOLIDATABLE, Block.LABEL_MISSING.by(detail=key)
    if pool.disruption.consolidate_after is None:
        return UNCONSOLIDATABLE, Block.POLICY_OFF.by(pool.name, kind)
    if load.empty:
        return _QUIET, Block.EMPTY.by()
    if pool.disruption.policy is ConsolidationPolicy.WHEN_EMPTY:
        return UNCONSOLIDATABLE, Block.WHEN_EMPTY.by(pool.name, kind)
    at = consolidatable_at(claim, pool)
    if at is None or at > now:
        return _QUIET, Block.WINDOW.by(detail=format_duration(pool.disruption.consolidate_after), until=at)
    return None


def _candidate(
    view: NodeView,
    claim: NodeClaim,
    pool: NodePool,
    load: NodeLoad,
    prices: NodePrices,
    now: datetime,
) -> CandidateNode:
    own, ends, at = view.labels, expires_at(claim, pool), consolidatable_at(claim, pool)
    return CandidateNode(
        name=view.name,
        pool=pool.name,
        pods=load.moving,
        eviction_costs=load.eviction_costs,
        instance_type=own.get(labels.INSTANCE_TYPE, ""),
        zone=own.get(labels.ZONE, ""),
        capacity_type=own.get(labels.CAPACITY_TYPE, ""),
        price=prices.price(view),
        surcharge=prices.surcharge(pool),
        # One past its expiry is held by something: nobody knows when it goes.
        remaining=None if ends is None or ends <= now else ends - now,
        patient=at is not None and now - at < _PATIENCE,
        goes_later=view.node is not None and GOES_LATER in view.node.taints,
    )
