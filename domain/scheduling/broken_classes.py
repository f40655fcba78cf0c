"""Pools that cannot buy: for what they are, or as a launch of their node class failed lately; its backoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treenail.domain.model.backoff import Backoff
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool

# A new object is known to EC2 within seconds; any other failure waits until somebody mends it.
_BACKOFF: Final = Backoff(first=5.0, longest=30.0)
_FORGOTTEN_AFTER: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Broken:
    why: str
    failures: int
    until: float


class BrokenClasses:
    """The node classes that are left alone, and why. Mutable. All times are monotonic seconds.

    Each is for 5 s, and for twice as long, up to 30 s, when the next launch that is tried fails as well. One
    of which nothing failed for a minute after that begins anew.
    """

    def __init__(self) -> None:
        self._broken: dict[NodeClassRef, _Broken] = {}

    def failed(self, node_class: NodeClassRef, why: str, now: float) -> None:
        """Take in that a launch failed. Others that were under way at the time say nothing new."""
        self._broken = {ref: one for ref, one in self._broken.items() if now < one.until + _FORGOTTEN_AFTER}
        known = self._broken.get(node_class)
        if known is not None and now < known.until:
            return
        failures = 1 if known is None else known.failures + 1
        self._broken[node_class] = _Broken(why, failures, now + _BACKOFF.after(failures))

    def problem(self, node_class: NodeClassRef, now: float) -> str:
        """Return why a node class is left alone; "" where it is not."""
        known = self._broken.get(node_class)
        return known.why if known is not None and now < known.until else ""


def unready(pool: NodePool, node_class: NodeClass | None) -> str:
    """Return why a pool cannot buy at all, or nothing."""
    if pool.deleting:
        return "the pool is being deleted"
    if pool.static:
        return "the pool has replicas, and gets no nodes for pods"
    if node_class is None:
        return f"its node class {pool.node_class} is missing"
    if node_class.deleting:
        return f"its node class {pool.node_class} is being deleted"
    return ""
