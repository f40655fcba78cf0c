"""What disruptors are told of the nodes of their pools: which are in use, and which stand empty."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from treenail.domain.cluster import ClusterModel
from treenail.domain.disruption import CandidateChanged, DisruptionRefused, NodeEmptied, PoolChanged
from treenail.domain.drain import marked
from treenail.domain.nodes import NodeClaim, NodeView
from treenail.domain.runtime import Ref
from treenail.domain.watching import NodeChanged

DisruptorHears: TypeAlias = NodeEmptied | CandidateChanged | PoolChanged | DisruptionRefused


class CandidateTeller:
    """Tells the disruptor of each node's pool what is news of it; `disruptor` finds, or makes, that."""

    def __init__(self, model: ClusterModel, disruptor: Callable[[str], Ref[DisruptorHears]]) -> None:
        self._model = model
        self._disruptor = disruptor
        self._in_use: dict[str, NodeClaim] = {}
        self._empty: dict[str, str] = {}

    def tell(self, changed: NodeChanged, now: datetime) -> None:
        """Tell what a change of a node means to its pool's disruptor, if anything."""
        name, view = changed.name, changed.view
        claim = view.claim if view is not None and self._used(view) else None
        self._tell_use(name, claim)
        self._tell_emptiness(name, claim, now)

    def _used(self, view: NodeView) -> bool:
        """Tell whether a node may be given up: one that somebody cordoned may, as it is paid for too."""
        return view.initialized and not self._model.ending(view) and not marked(view)

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

    def _tell_emptiness(self, name: str, claim: NodeClaim | None, now: datetime) -> None:
        empty = claim is not None and self._model.empty(name)
        if empty == (name in self._empty):
            return
        if empty and claim is not None:
            self._empty[name] = claim.pool
            self._disruptor(claim.pool).tell(NodeEmptied(name=name, since=now))
        else:
            pool = self._empty.pop(name)
            self._disruptor(pool).tell(NodeEmptied(name=name, since=None))
