"""Messages to disruptors about the nodes of their pools: in use, or empty since when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.duplicate_nodes import is_duplicate
from treenail.domain.cluster.emptiness import empty_since
from treenail.domain.disruption.disruption import (
    CandidateChanged,
    DisruptionRefused,
    NodeEmptied,
    PoolChanged,
)
from treenail.domain.disruption.moves_under_way import MovesUnderWay
from treenail.domain.model.cordons import marked
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.runtime import Ref

# After a start, pods that wait are first given places on nodes that may have been empty for long enough.
_PODS_FIRST: Final = timedelta(seconds=15)
# A node waits so long for pods of the move that it was bought for: a budget may hold the last for days.
_MOVES_FIRST: Final = timedelta(minutes=10)

DisruptorHears: TypeAlias = NodeEmptied | CandidateChanged | PoolChanged | DisruptionRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class _Empty:
    """A node as it was `found` empty, and as the disruptor of its pool was `told`.

    `pods` are those to be evicted, by uid: its time restarts where others are there.
    """

    pool: str
    pods: tuple[str, ...]
    found: NodeEmptied
    told: NodeEmptied


class CandidatePublisher:
    """Publisher of node changes to the disruptor of each node's pool; `disruptor` finds or makes it.

    A node that was already in use when first seen has been empty for as long as the API says. One that was
    bought for one of the `moves` waits while the move is under way: its pods may still come, wherever they
    were planned to go. It is left over where the move was withdrawn, and nothing needed it since.
    """

    def __init__(
        self,
        model: ClusterModel,
        moves: MovesUnderWay,
        disruptor: Callable[[str], Ref[DisruptorHears]],
    ) -> None:
        self._model = model
        self._moves = moves
        self._disruptor = disruptor
        self._in_use: dict[str, NodeClaim] = {}
        self._empty: dict[str, _Empty] = {}
        # First-seen times of nodes whose state predates this process.
        self._found: dict[str, datetime] = {}

    def tell(self, changed: NodeChanged, now: datetime, *, first: bool) -> None:
        """Send the pool's disruptor what a change of a node means. With `first`, the node was unknown."""
        name, view = changed.name, changed.view
        if view is None:
            self._found.pop(name, None)
        elif first and view.initialized:
            self._found[name] = now
        ours = view is not None and changed.left_alone is None and self._used(view)
        claim = view.claim if view is not None and ours else None
        self._tell_use(name, claim)
        self._tell_emptiness(name, view if claim is not None else None, now)
        if claim is not None:
            self._found.pop(name, None)

    def _used(self, view: NodeView) -> bool:
        """Return whether a node may be given up. A cordoned one may: it is paid for too."""
        return view.initialized and not self._model.marks.ending(view) and not marked(view)

    def _tell_use(self, name: str, claim: NodeClaim | None) -> None:
        before = self._in_use.get(name)
        if claim is before:
            return
        if claim is not None:
            self._in_use[name] = claim
            self._disruptor(claim.pool).tell(CandidateChanged(name=name, claim=claim))
        elif before is not None:
            del self._in_use[name]
            self._disruptor(before.pool).tell(CandidateChanged(name=name, claim=None))

    def _tell_emptiness(self, name: str, view: NodeView | None, now: datetime) -> None:
        before = self._empty.get(name)
        if view is None or not self._model.empty(name):
            if before is not None:
                del self._empty[name]
                self._disruptor(before.pool).tell(NodeEmptied(name=name, since=None))
            return
        duplicate, pods = self._duplicate(view), self._to_evict(view)
        if before and (before.pool, before.pods, before.told.duplicate) != (view.pool, pods, duplicate):
            before = None
        found = self._emptied(name, view, now) if before is None else before.found
        told = replace(found, duplicate=duplicate, left_over=self._moves.left_over(name))
        if self._moves.replacing(name) and not duplicate and found.since is not None:
            told = replace(told, not_before=found.since + _MOVES_FIRST)
        if before is None or told != before.told:
            self._empty[name] = _Empty(pool=view.pool, pods=pods, found=found, told=told)
            self._disruptor(view.pool).tell(told)

    def _to_evict(self, view: NodeView) -> tuple[str, ...]:
        """Return the pods that run on an empty node, by uid."""
        return tuple(pod.uid for pod in self._model.objects.pods_of(view) if pod.reschedulable)

    def _duplicate(self, view: NodeView) -> bool:
        model, claim = self._model, view.claim
        return claim is not None and is_duplicate(
            claim, model.objects.pods, model.objects.nodes, model.objects.claims.values()
        )

    def _emptied(self, name: str, view: NodeView, now: datetime) -> NodeEmptied:
        found_at = self._found.get(name)
        since = empty_since(view) if found_at is not None else None
        if found_at is None or since is None or since >= now:
            return NodeEmptied(name=name, since=now)
        return NodeEmptied(name=name, since=since, not_before=found_at + _PODS_FIRST)
