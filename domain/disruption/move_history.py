"""Recent moves: no node is replaced by what it replaced, nor to save less than it was bought for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.consolidated_claims import Origin, Shape, read_origins, shape_of
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.requirements import Requirement
from treenail.domain.packing.plan import PlannedClaim

T = TypeVar("T")

# So long a move is not undone. A choice, not a measurement: where load comes and goes by day, and spot prices
# change every few hours, a node is then moved no more than a few times a day.
KEPT: Final = timedelta(hours=6)
_MOST_CLAIMS: Final = 10_000
# A node that was bought anew more often within the time kept says so of the latest of these.
_MOST_ORIGINS: Final = 16


class MoveHistory:
    """The reasons for which nodes were bought that replaced others, for six hours. Mutable.

    It is kept by the names of their claims, and written on these, for after a restart: `origins` tells what a
    new claim is to say (`write_origins`), and `bought` takes it in. Of more than `most` claims those that
    came first are forgotten, and known again by what they say.
    """

    def __init__(self, most: int = _MOST_CLAIMS) -> None:
        self._most = most
        self._origins: dict[str, tuple[Origin, ...]] = {}
        self._refused: dict[str, datetime] = {}
        self._loops = 0

    @property
    def loops(self) -> int:
        """The number of moves refused so far because they undo another, each counted once in six hours."""
        return self._loops

    def origins(self, removed: Sequence[NodeClaim], saving: float, now: datetime) -> tuple[Origin, ...]:
        """Return what a claim is bought for that replaces `removed`, to save so much ($/h) by itself.

        Where several claims are bought together, that is its part of what they save.
        """
        shapes = tuple(sorted({shape_of(claim) for claim in removed}))
        own = Origin(saving=max(0.0, saving), at=now, replaced=shapes)
        # What these replaced is not to come back either: a loop may have more than two steps.
        earlier = {origin for claim in removed for origin in self._recent(claim, now) if origin.replaced}
        latest = sorted(earlier, key=lambda one: (one.at, one.saving, one.replaced), reverse=True)
        return (own, *latest[: _MOST_ORIGINS - 1])

    def bought(self, claim: NodeClaim) -> None:
        """Take in that a claim is made, and what for, as it says."""
        if origins := _said(claim):
            self._origins.pop(claim.name, None)
            self._origins[claim.name] = origins
            _trim(self._origins, self._most)

    def withdrawn(self, names: Iterable[str]) -> None:
        """Take in that the move which these claims were made for was withdrawn: they save nothing by it.

        Some may be in use by then, and nothing is to keep them from going. A restart forgets this.
        """
        for name in names:
            origins = self._origins.get(name)
            if origins:
                self._origins[name] = (replace(origins[0], saving=0.0), *origins[1:])

    def least_saving(self, claim: NodeClaim, now: datetime) -> float:
        """Return what replacing a node must save beyond: the saving it was bought for itself, $/h.

        It is 0 for a node that replaced none, or not within six hours, and infinite for a younger one whose
        saving cannot be read.
        """
        return max((origin.saving for origin in self._recent(claim, now)[:1]), default=0.0)

    def forgotten_at(self, claim: NodeClaim, now: datetime) -> datetime | None:
        """Return before when `least_saving` and `replaced` of a node stay the same, None where always."""
        return min((origin.at + KEPT for origin in self._recent(claim, now)), default=None)

    def replaced(self, claim: NodeClaim, now: datetime) -> tuple[Shape, ...]:
        """Return what a node came in place of, or what that one had replaced before, lately."""
        return tuple(sorted({shape for one in self._recent(claim, now) for shape in one.replaced}))

    def undoes(
        self, removed: Sequence[NodeClaim], claims: Sequence[PlannedClaim], now: datetime
    ) -> Blocker | None:
        """Return why `claims` should not replace `removed`, None where no recent move is undone by it.

        A move is undone if one of the claims may become what a node replaced, or what that one had replaced
        before.
        """
        for claim in sorted(removed, key=lambda one: one.name) if claims else ():
            why = next(self._objections(claim, claims, now), None)
            if why is not None:
                self._count(claim.name, now)
                return why
        return None

    def _objections(
        self, claim: NodeClaim, claims: Sequence[PlannedClaim], now: datetime
    ) -> Iterator[Blocker]:
        for origin in self._recent(claim, now):
            until = origin.at + KEPT
            if not origin.replaced:
                said = f"{claim.name} may be a recent replacement: its {labels.CONSOLIDATED} is unreadable"
                yield Block.UNDOES.by(detail=said, until=until)
            for shape in origin.replaced:
                if any(_may_become(one, shape) for one in claims):
                    came = f"{claim.name} came at {origin.at:%H:%M} UTC in place of {shape}"
                    yield Block.UNDOES.by(detail=f"{came}, and would go for one again", until=until)

    def _recent(self, claim: NodeClaim, now: datetime) -> tuple[Origin, ...]:
        """Return what a node was bought for within the time kept, its own origin first."""
        origins = self._origins.get(claim.name)
        if origins is None:
            origins = _said(claim)
        return tuple(origin for origin in origins if now < origin.at + KEPT)

    def _count(self, name: str, now: datetime) -> None:
        """Count a loop that was refused; plans are made every few seconds, and it comes up in each."""
        last = self._refused.get(name)
        if last is None or now >= last + KEPT:
            self._loops += 1
            self._refused.pop(name, None)
            self._refused[name] = now
            _trim(self._refused, self._most)


def _said(claim: NodeClaim) -> tuple[Origin, ...]:
    """Return what a claim says it was bought for."""
    origins = read_origins(claim)
    if origins is None:
        # It may have replaced a node: the unknown saving counts as infinite as long as it may matter.
        return (Origin(saving=math.inf, at=claim.created_at, replaced=()),)
    # The reasons for a claim are older than the claim: a later time, which somebody wrote, does not keep the
    # node any longer.
    return tuple(
        Origin(saving=one.saving, at=min(one.at, claim.created_at), replaced=one.replaced) for one in origins
    )


def _may_become(claim: PlannedClaim, shape: Shape) -> bool:
    """Return whether the launch of a claim may bring a node of this shape, in whatever zone.

    For its pods and for whoever pays, the same node in another zone has come back as well.
    """
    return (
        claim.pool == shape.pool
        and shape.instance_type in ("", *claim.instance_types)
        and _may_be(claim.requirements.get(labels.CAPACITY_TYPE), shape.capacity_type)
    )


def _may_be(requirement: Requirement | None, value: str) -> bool:
    return not value or requirement is None or requirement.has(value)


def _trim(entries: dict[str, T], most: int) -> None:
    """Drop what was put in first until no more than `most` are left."""
    while len(entries) > most:
        del entries[next(iter(entries))]
