"""How many nodes of a pool are being disrupted, against how many may be."""

from __future__ import annotations

from collections.abc import Iterable

from treenail.domain.disruption import BUDGETED, DisruptionProposed, PoolChanged, allowed_disruptions
from treenail.domain.node_pools import NodePool
from treenail.domain.watching import NodeChanged


class BudgetBook:
    """Pools, their initialized nodes, and which of those count against a budget now."""

    def __init__(self) -> None:
        self._pools: dict[str, NodePool] = {}
        self._nodes: dict[str, dict[str, None]] = {}
        self._pool_of: dict[str, str] = {}
        self._unready: dict[str, None] = {}
        self._taken: dict[str, None] = {}

    def note_pool(self, changed: PoolChanged) -> None:
        """Take in a pool as it stands, or that it is gone."""
        if changed.pool is None:
            self._pools.pop(changed.name, None)
        else:
            self._pools[changed.name] = changed.pool

    def note_node(self, changed: NodeChanged) -> None:
        """Take in a node as it stands: only initialized ones count, unready and leaving ones as in use."""
        name, view = changed.name, changed.view
        if view is None or view.claim is None or not view.initialized:
            self._forget(name)
            return
        self._pool_of[name] = view.pool
        self._nodes.setdefault(view.pool, {})[name] = None
        if view.leaving or (view.node is not None and not view.node.ready):
            self._unready[name] = None
        else:
            self._unready.pop(name, None)

    def _forget(self, name: str) -> None:
        pool = self._pool_of.pop(name, None)
        if pool is not None:
            self._nodes[pool].pop(name, None)
        self._unready.pop(name, None)
        self._taken.pop(name, None)

    def take(self, proposal: DisruptionProposed) -> tuple[str, ...]:
        """Return the candidates, in their order, that the budget still allows; they count from now on."""
        there = self._nodes.get(proposal.pool, {})
        fresh = [n for n in proposal.candidates if n in there and n not in self._taken]
        pool, reason = self._pools.get(proposal.pool), BUDGETED.get(proposal.cause)
        if pool is None:
            return ()
        allowed = allowed_disruptions(pool, reason, len(there)) if reason is not None else None
        if allowed is not None:
            in_use = sum(1 for name in there if name in self._unready or name in self._taken)
            fresh = fresh[: max(0, allowed - in_use)]
        self._taken |= dict.fromkeys(fresh)
        return tuple(fresh)

    def release(self, names: Iterable[str]) -> None:
        """These no longer count as being disrupted."""
        for name in names:
            self._taken.pop(name, None)
