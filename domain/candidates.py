"""The nodes of one pool that are in use, and which of them are to be replaced when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.disruption import Cause, DisruptionProposed
from treenail.domain.expiry import expires_at, forceful
from treenail.domain.node_pools import NodePool
from treenail.domain.nodes import NodeClaim

_AFTER_REFUSAL: Final = timedelta(seconds=10)
# What becomes of a proposal shows within this time; a node that came back is tried after longer and longer.
_FIRST_RETRY: Final = timedelta(seconds=60)
_LAST_RETRY: Final = timedelta(minutes=10)


class Candidates:
    """Claims of nodes in use, and before when none of them is to be proposed again."""

    def __init__(self) -> None:
        self._claims: dict[str, NodeClaim] = {}
        self._not_before: dict[str, datetime] = {}
        self._tries: dict[str, int] = {}

    def note(self, name: str, claim: NodeClaim | None) -> None:
        """Take in that a node is in use, or (None) no longer, or not for now."""
        if claim is None:
            self._claims.pop(name, None)
        else:
            self._claims[name] = claim

    def refuse(self, names: Iterable[str], now: datetime) -> None:
        """Note that these may not go now: that is no fault of theirs, and may change soon."""
        for name in names:
            if name in self._not_before:
                self._not_before[name] = now + _AFTER_REFUSAL
                self._tries[name] = max(0, self._tries.get(name, 0) - 1)

    def due_at(self, name: str, pool: NodePool) -> datetime | None:
        """Return when a node is to be proposed next, None where it may live on."""
        claim = self._claims.get(name)
        at = expires_at(claim, pool) if claim is not None else None
        return None if at is None else max(at, self._not_before.get(name, at))

    def next_due(self, pool: NodePool) -> datetime | None:
        """Return when the next node is to be proposed, if any is."""
        times = (self.due_at(name, pool) for name in self._claims)
        return min((at for at in times if at is not None), default=None)

    def propose(self, pool: NodePool, now: datetime) -> tuple[DisruptionProposed, ...]:
        """Return proposals of all that are due, those first that are so for longest; again after a while."""
        due = [name for name in self._claims if (at := self.due_at(name, pool)) is not None and at <= now]
        due.sort(key=lambda name: (self._claims[name].created_at, name))
        made: list[DisruptionProposed] = []
        for force in (True, False):
            names = tuple(name for name in due if forceful(self._claims[name]) is force)
            if names:
                made.append(
                    DisruptionProposed(
                        pool=pool.name,
                        candidates=names,
                        cause=Cause.EXPIRED,
                        forceful=force,
                        proposed_at=now,
                    )
                )
        for name in due:
            self._put_off(name, now)
        self._forget_old(now)
        return tuple(made)

    def _put_off(self, name: str, now: datetime) -> None:
        tries = self._tries.get(name, 0)
        self._not_before[name] = now + min(_FIRST_RETRY * 2**tries, _LAST_RETRY)
        self._tries[name] = min(tries + 1, 5)

    def _forget_old(self, now: datetime) -> None:
        for name in [n for n, at in self._not_before.items() if at < now - _LAST_RETRY]:
            del self._not_before[name]
            self._tries.pop(name, None)
