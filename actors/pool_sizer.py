"""PoolSizer: has pools brought to the number of nodes that they are to have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.disruption.pool_sizes import NodeFailed, SizeWanted, size_of
from treenail.domain.model import labels
from treenail.domain.model.backoff import Backoff
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_class_status import NodeClassStatusSeen
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.runtime import Ref

# What changes together is looked at together.
_SOON: Final = 1.0
# Without any change: budgets open with time, and an order may come to nothing.
_LOOK_AGAIN: Final = 30.0
# As long as offerings that ran out are left out elsewhere.
_ZONE_CLOSED: Final = 180.0
_FAILURES: Final = Backoff(first=10.0, longest=300.0)


@dataclass(frozen=True, slots=True)
class _Look:
    """Private timer tick: a pool may lack nodes, or have too many."""

    pool: str


SizerInbox: TypeAlias = PoolsSeen | NodeChanged | NodeFailed | NodeClassStatusSeen | _Look


class PoolSizer(DomainActor[SizerInbox]):
    """Ask the cluster state for one step after the other, with a pause after launches that failed.

    Owns the zones a pool may buy in: the zones of its node class, less those without capacity. Tells the
    cluster state `SizeWanted`.
    """

    def __init__(self, runtime: Runtime, *, cluster: Ref[SizeWanted], static_capacity: bool) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._static_capacity = static_capacity
        self._pools: dict[str, NodePool] = {}
        self._zones: dict[NodeClassRef, tuple[str, ...]] = {}
        self._pool_of: dict[str, str] = {}
        # By pool: until when each zone is closed; how often launches failed; until when none is tried.
        self._closed: dict[str, dict[str, float]] = {}
        self._failures: dict[str, int] = {}
        self._paused: dict[str, float] = {}
        self._armed: dict[str, float] = {}

    def handle(self, message: SizerInbox) -> None:
        match message:
            case PoolsSeen(pools=pools):
                self._see(pools)
            case NodeChanged():
                self._note(message)
            case NodeFailed():
                self._fail(message)
            case NodeClassStatusSeen(node_class=node_class, status=status):
                zones = sorted({subnet.zone for subnet in status.meaning.subnets})
                self._zones[node_class.ref] = tuple(zones)
                for pool in self._pools.values():
                    if pool.node_class == node_class.ref:
                        self._look_by(pool.name, _SOON)
            case _Look(pool=name):
                self._armed.pop(name, None)
                self._look(name)
            case _:
                assert_never(message)

    def _see(self, pools: Iterable[NodePool]) -> None:
        sized = {p.name: p for p in pools if size_of(p, static_capacity=self._static_capacity) is not None}
        for name in [name for name in self._pools if name not in sized]:
            self._timers.cancel(("size", name), self.me)
            for kept in (self._closed, self._failures, self._paused, self._armed):
                kept.pop(name, None)
        before, self._pools = self._pools, sized
        for name, pool in sized.items():
            if before.get(name) != pool:
                self._paused.pop(name, None)
                self._look_by(name, _SOON)

    def _note(self, changed: NodeChanged) -> None:
        view = changed.view
        pool = view.pool if view is not None else self._pool_of.pop(changed.name, "")
        if view is not None and pool in self._pools:
            self._pool_of[changed.name] = pool
            if view.initialized:
                self._failures.pop(pool, None)
        if pool in self._pools:
            self._look_by(pool, _SOON)

    def _fail(self, failed: NodeFailed) -> None:
        pool = self._pools.get(failed.pool)
        if pool is None:
            return
        now = self._timers.monotonic()
        if failed.cause is Cause.INSUFFICIENT_CAPACITY and failed.zone:
            self._closed.setdefault(pool.name, {})[failed.zone] = now + _ZONE_CLOSED
            if self._open_zones(pool):
                return  # another zone is tried at once
        self._failures[pool.name] = self._failures.get(pool.name, 0) + 1
        seconds = _FAILURES.after(self._failures[pool.name], self.chance())
        self._paused[pool.name] = max(now + seconds, self._paused.get(pool.name, now))

    def _look(self, name: str) -> None:
        pool = self._pools.get(name)
        if pool is None:
            return
        now = self._timers.monotonic()
        pause, zones = self._paused.get(name, now) - now, self._wanted_zones(pool)
        buying = pause <= 0 and self._knows_zones(pool.node_class)
        self._cluster.tell(SizeWanted(pool=name, zones=zones, buying=buying))
        self._look_by(name, min(_LOOK_AGAIN, pause) if pause > 0 else _LOOK_AGAIN)

    def _look_by(self, name: str, seconds: float) -> None:
        at = self._timers.monotonic() + seconds
        if name in self._armed and self._armed[name] <= at:
            return
        self._armed[name] = at
        self.later(("size", name), _Look(name), seconds=seconds)

    def _wanted_zones(self, pool: NodePool) -> tuple[str, ...]:
        """Return the zones to buy in; where all are closed, all again: only the pause holds that up."""
        return self._open_zones(pool) or self._known_zones(pool)

    def _knows_zones(self, ref: NodeClassRef) -> bool:
        """Return whether it is known where nodes can be bought; some node classes have no subnets to tell."""
        return ref in self._zones or ref.inline or ref.played

    def _open_zones(self, pool: NodePool) -> tuple[str, ...]:
        now, closed = self._timers.monotonic(), self._closed.get(pool.name, {})
        return tuple(zone for zone in self._known_zones(pool) if closed.get(zone, now) <= now)

    def _known_zones(self, pool: NodePool) -> tuple[str, ...]:
        """Return the zones that the node class has subnets in and the pool allows; none where unknown."""
        asked = pool.template_requirements().get(labels.ZONE)
        known = self._zones.get(pool.node_class, ())
        if not known and asked is not None and not asked.complement:
            known = tuple(sorted(asked.values))
        return tuple(zone for zone in known if asked is None or asked.has(zone))
