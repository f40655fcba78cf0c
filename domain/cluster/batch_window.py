"""The batch window: how long to wait for more pods before a decision. Time is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from treenail.domain.telemetry.tracing import SpanContext

# A decision on so many pods fills nodes but for the last one: little is saved by waiting for others.
_MANY: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PodBecamePending:
    """The scheduler found no node for a pod, still finds none, or will find none; it is known `since` then.

    In place of the pod's `uid` there may be a name for the pods of a workload that it will find none for.

    `owner` is the uid of its owner, "" where it has none. `wished` is how many pods of this owner are planned
    with it, those to come and this one included; 0 where more of them may come than are known of.
    """

    uid: str
    since: datetime
    owner: str = ""
    wished: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLeft:
    """A pod we waited for was bound, promised a place or deleted."""

    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UrgentWork:
    """Pods are about to lose their node: decide soon. `why` is for the trace."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesToReplace:
    """Nodes are to be given back once their pods have places elsewhere: that may wait for what else comes."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One provisioning decision from its first moment on. `pods` is how many were waited for."""

    id: str
    opened_at: datetime
    closed_at: datetime
    pods: int
    urgent: str = ""

    @property
    def context(self) -> SpanContext:
        """The root span, `decide`."""
        return SpanContext.root(f"decide/{self.id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchClosed:
    """A window closed. The message carries no pods: ClusterState knows them."""

    decision: Decision


class BatchWindow:
    """The pods seen since the window opened, and the nodes to be replaced.

    It closes `idle_seconds` after the last new one, and never later than `max_seconds` after the first:
    a steady trickle must not starve packing. Pods of an owner whose wish is known are no news. Urgent work
    closes it `urgent_seconds` after it came. So does the last news where all its pods are of such owners, and
    these wish for 500 pods and more. With fewer, workloads that are applied one after the other would get
    a node each.
    """

    def __init__(self, *, idle_seconds: float, max_seconds: float, urgent_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._max_seconds = max_seconds
        self._urgent_seconds = urgent_seconds
        self._pods: set[str] = set()
        self._nodes: set[str] = set()
        # How many pods the owners wish for whose wish is known, and the pods that are of no such owner.
        self._wishes: dict[str, int] = {}
        self._single: set[str] = set()
        self._opened_at = 0.0
        self._touched_at = 0.0
        self._urgent_at: float | None = None
        self.urgent = ""

    def add(self, uid: str, *, now: float, owner: str = "", wished: int = 0) -> None:
        """Wait for `uid`. Seeing one again does not keep the window open, nor do pods that were to come."""
        touched_at = self._touched_at
        self._add(uid, self._pods, now)
        if owner in self._wishes:
            self._touched_at = touched_at
        elif wished:
            self._wishes[owner] = wished
        else:
            self._single.add(uid)

    def replace(self, name: str, *, now: float) -> None:
        """Wait for what else comes beside the pods of node `name`."""
        self._add(name, self._nodes, now)

    def _add(self, one: str, those: set[str], now: float) -> None:
        if one in those:
            return
        if self.empty:
            self._opened_at = now
            self._wishes, self._single = {}, set()
        self._touched_at = now
        those.add(one)

    def hurry(self, why: str, *, now: float) -> None:
        """Close soon, with or without pods."""
        if self.empty:
            self._opened_at = now
        if self._urgent_at is None:
            self._urgent_at, self.urgent = now, why

    def discard(self, uid: str) -> None:
        """Wait for `uid` no longer."""
        self._pods.discard(uid)
        self._single.discard(uid)

    @property
    def empty(self) -> bool:
        """True if nothing waits, and nobody asked for a decision soon."""
        return not self._pods and not self._nodes and self._urgent_at is None

    @property
    def opened_at(self) -> float:
        """The instant the window opened. Only meaningful while it is not empty."""
        return self._opened_at

    @property
    def closes_at(self) -> float | None:
        """The instant this window must close, or None while it is empty."""
        candidates = []
        if self._pods or self._nodes:
            known = not self._single and not self._nodes
            soon = known and sum(self._wishes.values()) >= _MANY
            idle = min(self._urgent_seconds, self._idle_seconds) if soon else self._idle_seconds
            candidates.append(min(self._touched_at + idle, self._opened_at + self._max_seconds))
        if self._urgent_at is not None:
            candidates.append(self._urgent_at + self._urgent_seconds)
        return min(candidates, default=None)

    def close(self) -> int:
        """Return how many pods were waited for, and wait for nothing."""
        pods = len(self._pods)
        self._pods, self._nodes = set(), set()
        self._wishes, self._single = {}, set()
        self._urgent_at, self.urgent = None, ""
        return pods
