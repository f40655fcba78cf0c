"""Candidates for disruption: the nodes of one pool in use, and when each is to be replaced."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from treenail.domain.disruption.disruption import DisruptionProposed, DisruptionRefused
from treenail.domain.disruption.drift_brake import FIRST_PAUSE, DriftBrake
from treenail.domain.disruption.expiry import expires_at, forceful
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim

_AFTER_REFUSAL: Final = timedelta(seconds=10)
# What becomes of a proposal shows within this time; a node that came back is tried after longer and longer.
_FIRST_RETRY: Final = timedelta(seconds=60)
_LAST_RETRY: Final = timedelta(minutes=10)


class Candidates:
    """Claims of nodes in use, and before when none of them is to be proposed again."""

    def __init__(self, brake: DriftBrake | None = None) -> None:
        self._brake = brake or DriftBrake()
        self._claims: dict[str, NodeClaim] = {}
        self._drifted: dict[str, datetime] = {}
        self._not_before: dict[str, datetime] = {}
        self._tries: dict[str, int] = {}

    def note(self, name: str, claim: NodeClaim | None) -> None:
        """Take in that a node is in use, or (None) no longer, or not for now."""
        if claim is None:
            self._claims.pop(name, None)
            self._drifted.pop(name, None)
        else:
            self._claims[name] = claim

    def claim(self, name: str) -> NodeClaim | None:
        """Return the claim of a node in use, None where it is not in use."""
        return self._claims.get(name)

    @property
    def claims(self) -> tuple[NodeClaim, ...]:
        """The claims of all nodes in use, in the order they were noted first."""
        return tuple(self._claims.values())

    def note_drift(self, name: str, since: datetime | None) -> None:
        """Take in that a node in use drifted, seen so since then, or (None) is as it should be."""
        if since is None:
            self._drifted.pop(name, None)
        elif name in self._claims:
            self._drifted.setdefault(name, since)

    def refuse(self, refused: DisruptionRefused, now: datetime, chance: float) -> None:
        """Note that these may not go now. That may change soon, unless it is `lasting`.

        These are proposed again after a minute, 2, 4... ten, less up to half by `chance`, from 0 to 1.
        """
        for name in refused.candidates:
            if name not in self._not_before:
                continue
            if refused.lasting:
                pause = _pause(self._tries.get(name, 1) - 1)
                self._not_before[name] = now + pause * (1 - chance / 2)
            else:
                self._not_before[name] = now + _AFTER_REFUSAL
                self._tries[name] = max(0, self._tries.get(name, 0) - 1)

    def due_at(self, name: str, pool: NodePool) -> datetime | None:
        """Return when a node is to be proposed next, None where it may live on."""
        claim = self._claims.get(name)
        expires = expires_at(claim, pool) if claim is not None else None
        drifted = self._drifted.get(name)
        if drifted is not None and self._brake.until is not None:
            drifted = max(drifted, self._brake.until)
        at = min((one for one in (expires, drifted) if one is not None), default=None)
        return None if at is None else max(at, self._not_before.get(name, at))

    def next_due(self, pool: NodePool) -> datetime | None:
        """Return when the next node is to be proposed, if any is."""
        times = (self.due_at(name, pool) for name in self._claims)
        return min((at for at in times if at is not None), default=None)

    def propose(self, pool: NodePool, now: datetime) -> tuple[DisruptionProposed, ...]:
        """Return proposals of all that are due, those first that are so for longest; again after a while."""
        due = [name for name in self._claims if (at := self.due_at(name, pool)) is not None and at <= now]
        due.sort(key=lambda name: (self._drifted.get(name, now), self._claims[name].created_at, name))
        whys: dict[tuple[Cause, bool], list[str]] = {
            (Cause.EXPIRED, True): [],
            (Cause.EXPIRED, False): [],
            (Cause.DRIFTED, False): [],
        }
        for name in due:
            why = _why(self._claims[name], pool, now)
            if why[0] is Cause.DRIFTED and whys[why] and self._brake.one_at_a_time(now):
                self._not_before[name] = now + FIRST_PAUSE
                continue
            whys[why].append(name)
            self._put_off(name, now)
        self._forget_old(now)
        return tuple(
            DisruptionProposed(pool=pool.name, candidates=tuple(names), cause=cause, forceful=force)
            for (cause, force), names in whys.items()
            if names
        )

    def _put_off(self, name: str, now: datetime) -> None:
        tries = self._tries.get(name, 0)
        self._not_before[name] = now + _pause(tries)
        self._tries[name] = min(tries + 1, 5)

    def _forget_old(self, now: datetime) -> None:
        for name in [n for n, at in self._not_before.items() if at < now - _LAST_RETRY]:
            del self._not_before[name]
            self._tries.pop(name, None)


def _pause(tries: int) -> timedelta:
    return min(_FIRST_RETRY * (1 << max(0, tries)), _LAST_RETRY)


def _why(claim: NodeClaim, pool: NodePool, now: datetime) -> tuple[Cause, bool]:
    """Return why a node that is due goes, and whether it goes against all objections."""
    expires = expires_at(claim, pool)
    if expires is not None and expires <= now:
        return Cause.EXPIRED, forceful(claim)
    return Cause.DRIFTED, False
