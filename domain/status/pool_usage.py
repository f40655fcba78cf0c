"""Usage of pools: what the nodes of each have together, as the pool's status shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.model.event_subjects import of_pool
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.resources import NOTHING, Resources

# Resources that are shown even if the pool has none of them.
_ALWAYS: Final[Mapping[str, int]] = {"cpu": 0, "memory": 0, "pods": 0, "ephemeral-storage": 0}


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """The number of nodes of a pool, and what these have together."""

    nodes: int = 0
    resources: Resources = NOTHING

    def plus(self, other: PoolUsage) -> PoolUsage:
        """Return both together."""
        return PoolUsage(self.nodes + other.nodes, self.resources.plus(other.resources))

    def minus(self, other: PoolUsage) -> PoolUsage:
        """Return what is left without `other`."""
        left = self.resources.minus(other.resources)
        return PoolUsage(
            self.nodes - other.nodes, Resources({name: amount for name, amount in left.items() if amount})
        )

    def shown(self) -> Resources:
        """Return the resources, with those that are always shown."""
        return Resources({**_ALWAYS, **self.resources})


_NONE: Final = PoolUsage()


class UsageBook:
    """Machines by pool, their sums, and the usage that each pool shows. Mutable.

    Bought machines count, whether they have joined or not; those on their way out do not.
    """

    def __init__(self) -> None:
        self._pools: dict[str, NodePool] = {}
        self._counted: dict[str, tuple[str, PoolUsage]] = {}
        self._used: dict[str, PoolUsage] = {}
        self._shown: dict[str, tuple[str, PoolUsage]] = {}

    def see(self, seen: PoolsSeen) -> tuple[str, ...]:
        """Take in which pools there are; return those that are gone."""
        before = self._pools
        self._pools = {pool.name: pool for pool in seen.pools if not pool.deleting}
        for name in [name for name in self._shown if name not in self._pools]:
            del self._shown[name]
        return tuple(name for name in before if name not in self._pools)

    def note(self, changed: NodeChanged) -> bool:
        """Take in the present state of a node; return whether that changes the usage of a pool."""
        pool, counts = self._counts(changed)
        before_pool, before = self._counted.get(changed.name, ("", _NONE))
        if (pool, counts) == (before_pool, before):
            return False
        if before_pool:
            self._used[before_pool] = self._used[before_pool].minus(before)
            del self._counted[changed.name]
        if pool:
            self._used[pool] = self._used.get(pool, _NONE).plus(counts)
            self._counted[changed.name] = pool, counts
        return True

    def _counts(self, changed: NodeChanged) -> tuple[str, PoolUsage]:
        view = changed.view
        if view is None or view.claim is None or changed.going or not view.launched:
            return "", _NONE
        return view.pool, PoolUsage(1, view.capacity)

    def all(self) -> tuple[tuple[str, Resources | None, PoolUsage], ...]:
        """Return the name, the limits and the usage of every pool."""
        return tuple(
            (name, pool.limits, self._used.get(name, _NONE)) for name, pool in sorted(self._pools.items())
        )

    def due(self) -> tuple[tuple[ObjectRef, PoolUsage], ...]:
        """Return what is to be shown anew, by name of the pool; it counts as shown from now on."""
        due: list[tuple[ObjectRef, PoolUsage]] = []
        for name, pool in sorted(self._pools.items()):
            usage = self._used.get(name, _NONE)
            if self._shown.get(name) != (pool.uid, usage):
                self._shown[name] = pool.uid, usage
                due.append((of_pool(pool), usage))
        return tuple(due)

    def unwritten(self, about: ObjectRef) -> None:
        """Note that what was due could not be written: it is due again."""
        self._shown.pop(about.name, None)
