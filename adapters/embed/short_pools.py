"""Pools that have fewer nodes at the end than their size, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.timeline import TimelineEntry
from treenail.domain.disruption.pool_sizes import size_of
from treenail.domain.model import labels
from treenail.domain.model.node_pools import NodePool


@dataclass(frozen=True, slots=True)
class ShortPool:
    """A pool that has `nodes` of the `wanted` ones; `why` its last claim failed is "" where none did."""

    name: str
    nodes: int
    wanted: int
    why: str

    @property
    def told(self) -> str:
        """The number of nodes there are and the reason, for people."""
        return f"{self.nodes:,} of {self.wanted:,} nodes" + (f": {self.why}" if self.why else "")


def short_pools(rehearsal: Rehearsal) -> Iterator[ShortPool]:
    """Yield the pools that lack nodes, by name."""
    there = Counter(node.labels.get(labels.NODEPOOL) for node in rehearsal.cluster.nodes())
    failed = _failures(rehearsal.timeline.entries)
    static = rehearsal.system.model.objects.static_capacity
    for pool in sorted(rehearsal.cluster.objects(NodePool), key=lambda pool: pool.name):
        size = size_of(pool, static_capacity=static)
        if size is not None and there[pool.name] < size:
            yield ShortPool(pool.name, there[pool.name], size, failed.get(pool.name, ""))


def _failures(entries: Iterable[TimelineEntry]) -> dict[str, str]:
    """Return by pool why the last claim failed. Such claims are gone: the pool is known from their plan."""
    pools: dict[object, str] = {}
    failed: dict[str, str] = {}
    for entry in entries:
        match entry.event, entry.fields:
            case "PlanCommitted", {"nodeClaims": list(planned)}:
                pools.update({claim["name"]: claim["nodePool"] for claim in planned})
            case "ClaimFailed", {"nodeClaim": claim, "why": why} if claim in pools:
                failed[pools[claim]] = str(why)
    return failed
