"""Proposals of consolidation moves: one for each move of a plan, with the places it brings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from math import fsum
from typing import Final

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.consolidating import ConsolidationPlanned
from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.disruption.disruption import DisruptionProposed
from treenail.domain.disruption.move_validity import move_id
from treenail.domain.model.backoff import Backoff
from treenail.domain.model.causes import Cause
from treenail.domain.packing.consolidation.consolidation_plan import Move
from treenail.domain.packing.consolidation.worth import move_dollars
from treenail.domain.packing.plan import PackingPlan

_FIRST_PAUSE: Final = timedelta(seconds=10)
_LAST_PAUSE: Final = timedelta(minutes=10)
_WITHDRAWN: Final = Backoff(first=120.0, longest=3600.0, jitter=0.2)
# Withdrawals are remembered so long after the last pause: the next move may go on for an hour before it is
# withdrawn as well. Refusals come within seconds.
_REMEMBERED: Final = timedelta(hours=2)
# What becomes of a proposal is known within this time.
_SETTLED_WITHIN: Final = timedelta(minutes=1)


def proposal_of(found: ConsolidationPlanned, index: int, move: Move) -> DisruptionProposed:
    """Return the proposal of a pass's move number `index`: all its nodes go, or none."""
    taken_at = found.snapshot.taken_at
    pods = {*move.nominations, *(uid for claim in move.claims for uid in claim.pods)}
    cost = fsum(claim.price for claim in move.claims)
    whole_cost = cost + fsum(claim.surcharge for claim in move.claims)
    removed = [one for one in found.consolidation.candidates if one.name in move.removed]
    planned = PlanDecided(
        decision=Decision(
            id=move_id(found.decision.id, index), opened_at=taken_at, closed_at=taken_at, pods=len(pods)
        ),
        snapshot=replace(found.snapshot, pods=tuple(pod for pod in found.snapshot.pods if pod.uid in pods)),
        plan=PackingPlan(
            claims=move.claims,
            nominations=move.nominations,
            cost=cost,
            whole_cost=whole_cost,
        ),
        considered=found.considered,
        selected_at=found.selected_at,
        packed_at=found.packed_at,
        removed=move.removed,
        saves=move.saves,
        costs=move_dollars(removed, whole_cost),
        after=tuple(move_id(found.decision.id, number) for number in move.after),
        back_to=move.back_to,
        premium=move.premium,
    )
    return DisruptionProposed(
        pool="", candidates=move.removed, cause=Cause.UNDERUTILIZED, together=True, planned=planned
    )


class ProposedMoves:
    """The nodes of moves that were proposed, and before when none of them is proposed again. Mutable.

    One that was refused is proposed again after 10 s, 20... ten minutes; one that began and was withdrawn
    after two minutes, four... an hour. `uniform` draws between two bounds.
    """

    def __init__(self, uniform: Callable[[float, float], float]) -> None:
        self._uniform = uniform
        self._not_before: dict[str, datetime] = {}
        self._refusals: dict[str, int] = {}
        self._withdrawals: dict[str, int] = {}

    def due(self, moves: Iterable[Move], now: datetime) -> Iterator[tuple[int, Move]]:
        """Yield the moves that may be proposed now, each with its number."""
        self._forget_old(now)
        for index, move in enumerate(moves):
            if all(self._not_before.get(name, now) <= now for name in move.removed):
                yield index, move

    def propose(self, names: Collection[str], now: datetime) -> None:
        """Take in that these are proposed."""
        self._not_before |= dict.fromkeys(names, now + _SETTLED_WITHIN)

    def refuse(self, names: Collection[str], now: datetime) -> None:
        """Take in that these were refused."""
        for name in names:
            tries = self._refusals.get(name, 0)
            self._refusals[name] = tries + 1
            self._not_before[name] = now + min(_FIRST_PAUSE * (1 << min(tries, 10)), _LAST_PAUSE)

    def withdraw(self, names: Collection[str], now: datetime) -> None:
        """Take in that a move of these began and did not work out: that costs a launch, or evictions."""
        failures = max((self._withdrawals.get(name, 0) for name in names), default=0) + 1
        pause = timedelta(seconds=self._uniform(*_WITHDRAWN.bounds(failures)))
        self._withdrawals |= dict.fromkeys(names, failures)
        self._not_before |= dict.fromkeys(names, now + pause)

    def next_due(self, now: datetime) -> datetime | None:
        """Return when the next node may be proposed that may not be proposed now."""
        return min((at for at in self._not_before.values() if at > now), default=None)

    def _forget_old(self, now: datetime) -> None:
        for name, at in tuple(self._not_before.items()):
            if at < now - _LAST_PAUSE:
                self._refusals.pop(name, None)
            if at < now - _REMEMBERED:
                self._withdrawals.pop(name, None)
                del self._not_before[name]
