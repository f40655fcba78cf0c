"""Node repair: nodes unhealthy by their own conditions, and when they are replaced for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.model.left_alone import LeftAlone
from treenail.domain.model.nodes import READY, Condition, Node, NodeClaim, NodeView, Status

# Where more of a pool's nodes are unhealthy (rounded up), it is likely that new ones would be as well.
MOST_UNHEALTHY_PERCENT: Final = 20


@dataclass(frozen=True, slots=True)
class RepairPolicy:
    """A node is replaced whose condition has had this status for so long."""

    condition: str
    status: Status
    tolerated: timedelta


# As Karpenter has them for EC2, whose agents set all but the first, and for KWOK.
EC2_POLICIES: Final = (
    RepairPolicy(READY, Status.FALSE, timedelta(minutes=30)),
    RepairPolicy(READY, Status.UNKNOWN, timedelta(minutes=30)),
    RepairPolicy("AcceleratedHardwareReady", Status.FALSE, timedelta(minutes=10)),
    RepairPolicy("StorageReady", Status.FALSE, timedelta(minutes=30)),
    RepairPolicy("NetworkingReady", Status.FALSE, timedelta(minutes=30)),
    RepairPolicy("KernelReady", Status.FALSE, timedelta(minutes=30)),
    RepairPolicy("ContainerRuntimeReady", Status.FALSE, timedelta(minutes=30)),
)
KWOK_POLICIES: Final = (
    RepairPolicy(READY, Status.FALSE, timedelta(minutes=10)),
    RepairPolicy(READY, Status.UNKNOWN, timedelta(minutes=10)),
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The condition of a node that is to be replaced from `due` on, unless it recovers."""

    condition: Condition
    since: datetime
    due: datetime

    @property
    def why(self) -> str:
        """The fault, as one phrase."""
        condition = self.condition
        because = f" ({condition.reason})" if condition.reason else ""
        return f"condition {condition.type} is {condition.status.value}{because} since {self.since:%H:%M:%SZ}"


def diagnose(node: Node, policies: Sequence[RepairPolicy]) -> Diagnosis | None:
    """Return for which of its conditions a node is to be replaced first, None where it is healthy."""
    found = (
        Diagnosis(condition, condition.since, condition.since + policy.tolerated)
        for policy in policies
        for condition in node.conditions
        if (condition.type, condition.status) == (policy.condition, policy.status)
        and condition.since is not None
    )
    return min(found, key=lambda one: (one.due, one.condition.type), default=None)


class UnhealthyNodes:
    """The nodes of each pool, and the diagnoses of those that are unhealthy. Mutable."""

    def __init__(self, policies: Sequence[RepairPolicy]) -> None:
        self._policies = tuple(policies)
        self._pool_of: dict[str, str] = {}
        self._nodes: dict[str, dict[str, None]] = {}
        self._sick: dict[str, Diagnosis] = {}
        self._views: dict[str, NodeView] = {}

    def note(self, changed: NodeChanged) -> Diagnosis | None:
        """Take a node in as it stands; return its diagnosis, None if it is well or already going."""
        name, view = changed.name, changed.view
        self._forget(name)
        if view is None or view.node is None or view.claim is None:
            return None
        if view.unread or changed.left_alone not in (None, LeftAlone.NO_POOL):
            return None
        self._pool_of[name] = view.claim.pool
        self._nodes.setdefault(view.claim.pool, {})[name] = None
        diagnosis = diagnose(view.node, self._policies)
        if diagnosis is None:
            return None
        self._sick[name], self._views[name] = diagnosis, view
        return None if view.ending else diagnosis

    def _forget(self, name: str) -> None:
        pool = self._pool_of.pop(name, None)
        if pool is not None:
            self._nodes[pool].pop(name, None)
            if not self._nodes[pool]:
                del self._nodes[pool]
        self._sick.pop(name, None)
        self._views.pop(name, None)

    def diagnosis(self, name: str) -> tuple[NodeView, NodeClaim, Diagnosis] | None:
        """Return what is wrong with a node, None where it is healthy, or goes already."""
        view, diagnosis = self._views.get(name), self._sick.get(name)
        if view is None or view.claim is None or diagnosis is None or view.ending:
            return None
        return view, view.claim, diagnosis

    def too_many(self, pool: str) -> str | None:
        """Return a sentence on why no node of a pool is replaced now, None where they may be.

        Nodes of no pool ("") are held against all of the cluster.
        """
        there: Mapping[str, object] = self._nodes.get(pool, {}) if pool else self._pool_of
        sick = sum(1 for name in there if name in self._sick)
        allowed = -(-len(there) * MOST_UNHEALTHY_PERCENT // 100)
        if sick <= allowed:
            return None
        most = f"{MOST_UNHEALTHY_PERCENT}% of the nodes of {pool or 'the cluster'}"
        return f"More than {most} are unhealthy: {sick} of {len(there)}"
