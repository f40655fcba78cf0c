"""Messages of disruption: proposed, allowed, refused, blocked, carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.disruption.budget_windows import counts
from treenail.domain.model.blockers import Blocker
from treenail.domain.model.causes import REPLACED, Cause
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim, NodeView

# The scheduler may still send a pod to a duplicate for so long.
_DUPLICATE_AFTER: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEmptied:
    """Only pods of DaemonSets are on a node (`since` then), or, with None, other pods are there again.

    It is not to be proposed before `not_before`, where that is set. Whatever its pool says of empty nodes, a
    `duplicate` is given back after a minute: its pods were bought another node as well. What a withdrawn move
    has `left_over` is given back at once. Budgets hold for both.
    """

    name: str
    since: datetime | None
    not_before: datetime | None = None
    duplicate: bool = False
    left_over: bool = False

    @property
    def at_latest(self) -> timedelta | None:
        """For how long it stands empty at most, whatever its pool says; None where that decides."""
        if self.left_over:
            return timedelta(0)
        return _DUPLICATE_AFTER if self.duplicate else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateChanged:
    """A node is in use, with the present state of its claim, or (None) is not, or leaves already."""

    name: str
    claim: NodeClaim | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolChanged:
    """The present state of a pool, or None if it is gone, with the node class it names, if that exists."""

    name: str
    pool: NodePool | None
    node_class: NodeClass | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisruptionProposed:
    """A pool's disruptor would give these nodes back, of its own pool or of others.

    The Consolidator proposes for no `pool`, "".

    With `forceful`, nobody is asked. With `together`, it is all of them or none. `planned` is where their
    pods would go, and what would be bought for them, where that is known already; else it is decided when
    budgets allow it.
    """

    pool: str
    candidates: tuple[str, ...]
    cause: Cause
    forceful: bool = False
    together: bool = False
    planned: PlanDecided | None = None

    @property
    def replaced_first(self) -> bool:
        """True if the nodes go only once their pods have other places."""
        return self.planned is not None or (self.cause in REPLACED and not self.forceful)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisruptionAllowed:
    """The `budgets` of these pools allow it. Whether the cluster does is for the cluster state to say."""

    proposal: DisruptionProposed
    candidates: tuple[str, ...]
    budgets: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisruptionRefused:
    """A proposal is refused: its nodes stay. It may be made again, after a longer pause where `lasting`."""

    pool: str
    candidates: tuple[str, ...]
    why: Blocker
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DisruptionBlocked:
    """A disruption of nodes, or by a pool, is blocked. `about` are the objects, `why` is a sentence."""

    about: tuple[ObjectRef, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DisruptNodes:
    """Give these nodes back; with `replaced_first`, once all their pods have other places, or not at all.

    `bought` is how many nodes are bought for pods of these. Of a consolidation, `policies` are those of the
    pools, by name.
    """

    nodes: tuple[NodeView, ...]
    cause: Cause
    replaced_first: bool = False
    decided_at: datetime
    bought: int = 0
    policies: Mapping[str, str] = field(default_factory=dict)

    @property
    def emptied_first(self) -> bool:
        """True if pods leave before the claims are deleted: where nothing is bought, the nodes may stay.

        Once a claim is deleted, a node would have to be bought for a pod that then loses its place.
        """
        return self.replaced_first and self.cause is Cause.UNDERUTILIZED and not self.bought

    def decision_labels(self) -> dict[str, str]:
        """Return the labels of the metrics that count decisions, as Karpenter fills them."""
        return decision_labels(self.cause, len(self.nodes), bought=self.bought)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInterrupted:
    """EC2 has announced, or reported, the end of an instance. At `deadline` it goes, ready or not.

    With `forceful`, nothing that runs there can be relied on: its pods leave at once, whatever protects them.
    `why` says more of the cause, for people; `name` is the claim's, "" as long as nobody has found it.
    """

    instance_id: str
    cause: Cause
    noticed_at: datetime
    deadline: datetime | None = None
    forceful: bool = False
    why: str = ""
    message_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimGivenUp:
    """A claim, by name, is of no use any more: its node never came into use, or is gone.

    `actor` says so; it is "" where somebody deleted the node. `why` says more of the cause. Where
    `nothing_bought`, it is known that no instance need be looked for.
    """

    name: str
    cause: Cause
    actor: str
    why: str = ""
    nothing_bought: bool = False

    @classmethod
    def unbought(cls, name: str, cause: Cause, actor: str, why: str) -> ClaimGivenUp:
        """Return that a launch came to nothing, for sure."""
        return cls(name=name, cause=cause, actor=actor, why=why, nothing_bought=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeSettled:
    """The warning of an instance is visible in the API by now, or is not about our instances."""

    instance_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DisruptionEnded:
    """A node that was to go is gone, or stays after all, and then `why`."""

    name: str
    why: str = ""


def decision_labels(cause: Cause, nodes: int, *, bought: int) -> dict[str, str]:
    """Return the labels of metrics that count decisions on so many nodes, which others are bought for."""
    kind = "single" if nodes == 1 else "multi"
    types = {Cause.EMPTY: "empty", Cause.UNDERUTILIZED: kind}
    return {
        "decision": "replace" if bought else "delete",
        "reason": cause.value,
        "consolidation_type": types.get(cause, ""),
    }


def disrupted_labels(claim: NodeClaim, cause: Cause, policy: str = "") -> dict[str, str]:
    """Return the labels of the metric that counts claims we began to give back.

    `policy` is that of the pool, where it is a consolidation.
    """
    grace = claim.termination_grace_period
    mode = "graceful" if grace is None else "eventual" if grace > timedelta(0) else "forceful"
    return {
        "reason": cause.value,
        "nodepool": claim.pool,
        "capacity_type": claim.capacity_type,
        "consolidation_policy": policy,
        "termination_mode": mode,
    }


def allowed_disruptions(pool: NodePool, reason: str, nodes: int, now: datetime) -> int | None:
    """Return how many of a pool's `nodes` may be disrupted at a time for `reason`; None is no limit.

    The tightest of the budgets holds that count `now`; percentages round up.
    """
    meant = (b for b in pool.disruption.budgets if not b.reasons or reason in b.reasons)
    active = [b for b in meant if counts(b, now)]
    amounts = [b.nodes if b.nodes is not None else ceil((b.percent or 0) * nodes / 100) for b in active]
    return min(amounts, default=None)


class EmptyNodes:
    """The empty nodes of one pool, and when each has stood empty for long enough."""

    def __init__(self) -> None:
        self._known: dict[str, NodeEmptied] = {}
        self._postponed: dict[str, datetime] = {}

    def note(self, emptied: NodeEmptied) -> None:
        """Take in since when a node is empty, or that it no longer is."""
        self._known.pop(emptied.name, None)
        self._postponed.pop(emptied.name, None)
        if emptied.since is not None:
            self._known[emptied.name] = emptied

    def postpone(self, names: Iterable[str], until: datetime) -> None:
        """Do not propose these again before `until`."""
        self._postponed |= {name: until for name in names if name in self._known}

    def due(self, after: timedelta | None, now: datetime) -> tuple[str, ...]:
        """Return the nodes that have stood empty for `after` (None is for ever), longest first."""
        known = self._known.values()
        ready = [(one.since, one.name) for one in known if (at := self._due_at(one, after)) and at <= now]
        return tuple(name for _, name in sorted(ready))

    def next_due(self, after: timedelta | None) -> datetime | None:
        """Return when the next node will have stood empty for `after`, if any will."""
        all_due = (self._due_at(one, after) for one in self._known.values())
        return min((at for at in all_due if at is not None), default=None)

    def _due_at(self, one: NodeEmptied, after: timedelta | None) -> datetime | None:
        bounds = [bound for bound in (after, one.at_latest) if bound is not None]
        if one.since is None or not bounds:
            return None
        due = one.since + min(bounds)
        return max(due, one.not_before or due, self._postponed.get(one.name, due))
