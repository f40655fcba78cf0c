"""Sizes of pools: how many nodes a pool is to have, which are made, and which go for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.disruption.expiry import expires_at
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.do_not_disrupt import keeping, kept_by
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import NOTHING, Resources, total
from treenail.domain.model.taints import Effect, untolerated
from treenail.domain.packing.plan import PlannedClaim

# A launch of more than that is begun with the next look: that comes at once.
_MOST_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeWanted:
    """A pool is to be brought to its size. Of new nodes each goes to one of these `zones`, to any for none.

    While it is not `buying`, as launches failed just now, it only gets smaller.
    """

    pool: str
    zones: tuple[str, ...] = ()
    buying: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFailed:
    """A claim of a pool came to nothing, in the zone that it was to be in ("" is any)."""

    pool: str
    zone: str
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeStep:
    """A step that brings a pool nearer to its size: new nodes, and the names of those that go.

    Those of `unused` have nothing that budgets are about; of `surplus` as many may go as budgets allow, in
    this order; `replaced` ones drifted, and there is another node for each. `unreplaced` ones drifted as
    well, and get none, for their pool's limits. `short` tells that limits leave no room for more nodes.
    """

    made: tuple[PlannedClaim, ...] = ()
    unused: tuple[str, ...] = ()
    surplus: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unreplaced: tuple[str, ...] = ()
    short: bool = False


def size_of(pool: NodePool, *, static_capacity: bool) -> int | None:
    """Return how many nodes a pool is to have, or to have at least; None where it is as pods need it."""
    if pool.deleting or (pool.static and not static_capacity):
        return None
    return pool.replicas if pool.replicas is not None else pool.min_nodes or None


def size_step(model: ClusterModel, wanted: SizeWanted, replacing: Collection[str], now: datetime) -> SizeStep:
    """Return the next step for a pool's size. Nodes of `replacing` drifted, and are to be replaced.

    A drifted node stays until enough others are in use: as many as the pool is to have, less those that stay.
    Where the pool has too many nodes, as its replicas were lowered, none is replaced.
    """
    pool = model.objects.pools.get(wanted.pool)
    size = size_of(pool, static_capacity=model.objects.static_capacity) if pool is not None else None
    if pool is None or size is None:
        return SizeStep()
    there = tuple(_running(model, pool.name))
    drifted = [view.name for view in there if view.name in replacing]
    lacking = size + len(drifted) - len(there)
    if lacking < 0 and pool.static:
        return _shrink(model, pool, there, -lacking, now)
    room = _room(model, pool)
    unreplaced = tuple(drifted[len(drifted) - max(0, min(lacking - room, len(drifted))) :])
    node_class = model.objects.node_class(pool.node_class)
    buying = wanted.buying and node_class is not None and not node_class.deleting
    number = min(lacking, room, _MOST_AT_ONCE) if buying else 0
    usable = sum(1 for view in there if view.initialized)
    return SizeStep(
        made=tuple(_planned(model, pool, there, drifted, wanted.zones, max(0, number))),
        replaced=tuple(drifted[: max(0, usable - size)]),
        unreplaced=unreplaced,
        short=buying and lacking > room,
    )


def _running(model: ClusterModel, pool: str) -> Iterable[NodeView]:
    """Yield the views of a pool's claims, written or not, that nobody has decided to give up, by age."""
    claims = (c for c in model.objects.claims.values() if c.pool == pool)
    for claim in sorted(claims, key=lambda c: (c.created_at, c.name)):
        view = model.objects.view(claim.name)
        if view is None or view.holder or claim.name in model.marks.launch_failed:
            continue
        if not model.marks.ending(view):
            yield view


def _room(model: ClusterModel, pool: NodePool) -> int:
    """Return how many more nodes the limits of a pool leave room for."""
    left = model.capacity.limit_left(pool)
    if left is None:
        return _MOST_AT_ONCE
    if any(amount <= 0 for amount in left.values()):
        return 0
    return left.get(NODES, _MOST_AT_ONCE)


# --- nodes that are made


def _planned(
    model: ClusterModel,
    pool: NodePool,
    there: Sequence[NodeView],
    drifted: Collection[str],
    zones: tuple[str, ...],
    number: int,
) -> Iterable[PlannedClaim]:
    """Yield new nodes of a pool, each in the zone that has the fewest of those that stay."""
    counts = Counter(zone_of(view.claim) for view in there if view.claim and view.name not in drifted)
    template = pool.template_requirements()
    requests = _daemons(model, pool, template)
    for _ in range(number):
        requirements = template
        if zones:
            zone = min(zones, key=lambda one: (counts[one], one))
            counts[zone] += 1
            requirements = template.with_((Requirement(labels.ZONE, frozenset((zone,))),))
        yield PlannedClaim(
            pool=pool.name,
            pods=(),
            requirements=requirements,
            instance_types=(),
            requests=requests,
            largest=NOTHING,
            price=0.0,
        )


def zone_of(claim: NodeClaim) -> str:
    """Return the zone that a claim is in, or is to be in; "" where that is open."""
    wanted = claim.requirements.get(labels.ZONE)
    return claim.zone or (wanted.single if wanted is not None else None) or ""


def _daemons(model: ClusterModel, pool: NodePool, template: Requirements) -> Resources:
    """Return what daemons will request of every node of a pool."""
    taints = tuple(t for t in pool.taints if t.effect is not Effect.PREFER_NO_SCHEDULE)
    return total(
        one.spec.requests
        for one in model.capacity.sized_daemons()
        if untolerated(taints, one.spec.tolerations) is None
        and any(
            template.compatible(wanted, may_be_undefined=labels.LEFT_OPEN)
            for wanted in one.spec.alternatives()
        )
    )


# --- nodes that go


def _shrink(
    model: ClusterModel, pool: NodePool, there: Sequence[NodeView], number: int, now: datetime
) -> SizeStep:
    """Return which nodes go for a pool that has so many too many, those first that cost least to give up.

    Of equal ones the next goes in the zone with the most nodes left.
    """
    left = {view.name: (view, _worth(model, pool, view, now)) for view in there}
    zones = Counter(_where(view) for view in there)
    going: list[NodeView] = []
    for _ in range(number):
        view, _worth_of = min(left.values(), key=lambda one: (one[1], -zones[_where(one[0])], one[0].name))
        zones[_where(view)] -= 1
        del left[view.name]
        going.append(view)
    return SizeStep(
        unused=tuple(view.name for view in going if not view.initialized),
        surplus=tuple(view.name for view in going if view.initialized),
    )


def _where(view: NodeView) -> str:
    return zone_of(view.claim) if view.claim is not None else ""


def _worth(model: ClusterModel, pool: NodePool, view: NodeView, now: datetime) -> tuple[float, ...]:
    """Return a key that sorts nodes by how much speaks for them; of equal ones, drifted nodes go first.

    As in Karpenter, first go claims that are not launched, then nodes not in use, then empty nodes without
    pods that may not be disrupted, then nodes by the cost of moving their pods, less the sooner they expire
    anyway.
    """
    claim = view.claim
    assert claim is not None  # noqa: S101 (all are of claims)
    load = model.loads.of(view, now)
    kept = kept_by(view) is not None or any(keeping(pod, now) is not None for pod in load.annotated)
    cost = 0.0 if load.empty else load.disruption * _life_left(claim, pool, now)
    return (claim.launched, view.initialized, kept, claim.drift is None, not load.empty, cost)


def _life_left(claim: NodeClaim, pool: NodePool, now: datetime) -> float:
    """Return the share of its life that a node has before it, 1 where that has no end."""
    end = expires_at(claim, pool)
    if end is None or end <= claim.created_at:
        return 1.0
    return max(0.0, min(1.0, (end - now) / (end - claim.created_at)))
