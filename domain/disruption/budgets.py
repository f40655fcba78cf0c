"""Disruption budgets of pools: how many nodes are being disrupted, against how many may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import DisruptionProposed, PoolChanged, allowed_disruptions
from treenail.domain.model.causes import BUDGETED, Cause
from treenail.domain.model.cordons import marked
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import INSTANCE_TERMINATING, NodeClaim, holds
from treenail.domain.telemetry.series import Gauges, Series
from treenail.domain.telemetry.state_metrics import ALLOWED_DISRUPTIONS, CONSUMING_BUDGETS

_SHOWN: Final = (Cause.EMPTY, Cause.DRIFTED, Cause.UNDERUTILIZED)
# What Karpenter shows where no budget counts.
_UNLIMITED: Final = 2**31 - 1

# The reasons for which a pool does not come to have fewer nodes than its floor. For others it gets new ones.
_TO_THE_FLOOR: Final = frozenset((BUDGETED[Cause.EMPTY], BUDGETED[Cause.UNDERUTILIZED]))


class BudgetBook:
    """Pools, their initialized nodes, and which of those count against a budget now."""

    def __init__(self) -> None:
        self._pools: dict[str, NodePool] = {}
        self._nodes: dict[str, dict[str, None]] = {}
        self._pool_of: dict[str, str] = {}
        self._unready: dict[str, None] = {}
        self._taken: dict[str, None] = {}

    def note_pool(self, changed: PoolChanged) -> None:
        """Take in the present state of a pool, or that it is gone."""
        if changed.pool is None:
            self._pools.pop(changed.name, None)
        else:
            self._pools[changed.name] = changed.pool

    def note_node(self, changed: NodeChanged) -> None:
        """Take in a node as it stands: only initialized ones count, unready and leaving ones as in use.

        One whose instance is terminated does not count any more; that somebody cordoned it says nothing.
        """
        name, view = changed.name, changed.view
        if view is None or view.claim is None or not view.initialized or _over(view.claim):
            self._forget(name)
            return
        self._pool_of[name] = view.pool
        self._nodes.setdefault(view.pool, {})[name] = None
        if view.ending or marked(view) or (view.node is not None and not view.node.ready):
            self._unready[name] = None
        else:
            self._unready.pop(name, None)

    def _forget(self, name: str) -> None:
        pool = self._pool_of.pop(name, None)
        if pool is not None:
            self._nodes[pool].pop(name, None)
        self._unready.pop(name, None)
        self._taken.pop(name, None)

    def take(self, proposal: DisruptionProposed, now: datetime) -> tuple[str, ...]:
        """Return the candidates, in their order, that budgets still allow; they count from now on.

        Each counts against the budgets of its own pool, whoever proposes it. Candidates that go together are
        allowed all or not at all.
        """
        allowed = self._take(proposal, now)
        if proposal.together and len(allowed) < len(proposal.candidates):
            self.release(allowed)
            return ()
        return allowed

    def _take(self, proposal: DisruptionProposed, now: datetime) -> tuple[str, ...]:
        reason = None if proposal.forceful else BUDGETED.get(proposal.cause)
        left: dict[str, int | None] = {}
        allowed: list[str] = []
        for name in proposal.candidates:
            pool = self._pools.get(self._pool_of.get(name, ""))
            if pool is None or name in self._taken:
                continue
            if pool.name not in left:
                left[pool.name] = self._left(pool, reason, now) if reason is not None else None
            room = left[pool.name]
            if room is not None and room <= 0:
                continue
            left[pool.name] = None if room is None else room - 1
            self._taken[name] = None
            allowed.append(name)
        return tuple(allowed)

    def _left(self, pool: NodePool, reason: str, now: datetime) -> int | None:
        """Return how many more nodes of a pool may be disrupted now; None is no limit.

        What a pool keeps as its floor is no budget, but bounds the same.
        """
        there = self._nodes.get(pool.name, {})
        used = sum(1 for name in there if name in self._unready or name in self._taken)
        allowed = allowed_disruptions(pool, reason, len(there), now)
        above_floor = len(there) - pool.min_nodes if pool.min_nodes and reason in _TO_THE_FLOOR else None
        bounds = [bound for bound in (allowed, above_floor) if bound is not None]
        return min(bounds) - used if bounds else None

    def gauges(self) -> Gauges:
        """Return what computes, for each pool and reason, how many may go at a time and how many do."""
        # Of all nodes few are on their way out.
        consuming = Counter(self._pool_of.get(name, "") for name in self._unready | self._taken)
        pools = tuple(
            (pool, len(self._nodes.get(name, {})), consuming[name]) for name, pool in self._pools.items()
        )
        return lambda: (series for one in pools for series in _series(*one))

    def left(self, pool: str, cause: Cause, now: datetime) -> int | None:
        """Return how many more nodes of a pool may be disrupted now for a cause; None is no limit."""
        known, reason = self._pools.get(pool), BUDGETED.get(cause)
        if known is None or reason is None:
            return None
        left = self._left(known, reason, now)
        return None if left is None else max(0, left)

    def pools_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the pools whose budgets these nodes count against, by name."""
        return tuple(sorted({self._pool_of[name] for name in names if name in self._pool_of}))

    def those(self, names: Iterable[str]) -> tuple[NodePool, ...]:
        """Return the pools of these names that exist."""
        return tuple(pool for name in names if (pool := self._pools.get(name)) is not None)

    def hold(self, name: str) -> None:
        """Count a node, whatever budgets say: it goes."""
        if name in self._pool_of:
            self._taken[name] = None

    def release(self, names: Iterable[str]) -> None:
        """Stop counting these nodes as being disrupted."""
        for name in names:
            self._taken.pop(name, None)


@dataclass(frozen=True, slots=True)
class _Allowed:
    """The number of a pool's nodes that may be disrupted at a time, which schedules of its budgets change."""

    pool: NodePool
    reason: str
    nodes: int

    def at(self, now: datetime) -> float:
        allowed = allowed_disruptions(self.pool, self.reason, self.nodes, now)
        return _UNLIMITED if allowed is None else allowed


def _series(pool: NodePool, nodes: int, consuming: int) -> Iterator[Series]:
    for cause in _SHOWN:
        labels = {"nodepool": pool.name, "reason": BUDGETED[cause]}
        yield Series(ALLOWED_DISRUPTIONS, _Allowed(pool, BUDGETED[cause], nodes), labels)
        yield Series(CONSUMING_BUDGETS, consuming, labels)


def _over(claim: NodeClaim) -> bool:
    return claim.leaving and holds(claim.conditions, INSTANCE_TERMINATING)
