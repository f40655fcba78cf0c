"""Trials that came to nothing, so that none is made again of nodes that are like those that were tried."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.domain.model.blockers import Blocker, BlockerKind
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.consolidation.rearrangement import Rearrangement


class VainTrials:
    """A memory of nodes that were tried together in vain, valid until a trial is kept.

    A cluster is mostly of nodes that are alike: of one pool, type and zone, with as many pods of the same
    kinds. What did not pay for some of them does not for others, and a trial is a whole plan. Mutable.
    """

    def __init__(self, cluster: Rearrangement) -> None:
        self._cluster = cluster
        self._numbers: dict[object, int] = {}
        self._kinds: dict[str, int] = {}
        self._revision = cluster.revision
        self._why: dict[tuple[int, ...], Blocker | None] = {}

    def tried(self, some: Sequence[CandidateNode]) -> bool:
        """Return whether nodes like these were tried together."""
        self._forget()
        return self._kind_of(some) in self._why

    def why(self, some: Sequence[CandidateNode]) -> Blocker | None:
        """Return why nodes like these stayed; None if none were tried, or if that names a pod of theirs."""
        self._forget()
        known = self._why.get(self._kind_of(some))
        return known if known is not None and known.kind is not BlockerKind.POD else None

    def note(self, some: Sequence[CandidateNode], why: Blocker | None = None) -> None:
        """Remember that these were tried in vain, and why they stay."""
        self._forget()
        self._why[self._kind_of(some)] = why

    def _forget(self) -> None:
        """Start anew where something was kept: pods have taken room, or nodes are gone."""
        if self._revision != self._cluster.revision:
            self._revision = self._cluster.revision
            self._why.clear()
            self._kinds.clear()

    def _kind_of(self, some: Sequence[CandidateNode]) -> tuple[int, ...]:
        return tuple(sorted(self._kind(one) for one in some))

    def _kind(self, one: CandidateNode) -> int:
        kind = self._kinds.get(one.name)
        if kind is None:
            like = _worth(one), self._cluster.likeness(one.name)
            kind = self._kinds[one.name] = self._numbers.setdefault(like, len(self._numbers))
        return kind


def _worth(one: CandidateNode) -> tuple[object, ...]:
    """Return what decides whether it is worth it to take a node away, beside where its pods find places."""
    return (
        one.pool,
        one.instance_type,
        one.zone,
        one.capacity_type,
        one.price,
        one.surcharge,
        one.disruption,
        one.remaining,
        one.least_saving,
        one.replaced,
    )
