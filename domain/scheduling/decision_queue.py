"""The queue of decisions: pods that lose their machine come before those that wait."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.planning import Snapshot

# So many pods are planned in well under a second, and nothing need wait for less.
_FEW: Final = 500
_QUIET: Final = timedelta(seconds=2)
_LONGEST: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    decision: Decision
    pods: int
    since: datetime

    @property
    def long(self) -> bool:
        return self.pods > _FEW and not self.decision.urgent


class DecisionQueue:
    """The decision that is being made, and those to be made next; one is made at a time, urgent ones first.

    Where EC2 announced the end of a machine, the urgent decision on its pods does not even wait for one on
    many pods that is being made: that gives way, and is begun again when nothing was announced for two
    seconds. Once it has waited for thirty, it gives way no more.
    """

    def __init__(self) -> None:
        self._open: _Open | None = None
        self._urgent: Decision | None = None
        self._usual: Decision | None = None
        self._announced_at: datetime | None = None
        self._gave_way_at: datetime | None = None

    @property
    def making(self) -> bool:
        """True if a decision is being made."""
        return self._open is not None

    @property
    def idle(self) -> bool:
        """True if no decision is being made, or is to be made next."""
        return self._open is None and self._urgent is None and self._usual is None

    def add(self, decision: Decision) -> None:
        """Have a decision made next, together with a waiting one of its kind."""
        if decision.urgent:
            self._urgent = _together(self._urgent, decision)
        else:
            self._usual = _together(self._usual, decision)

    def announce(self, now: datetime) -> None:
        """Take in that EC2 announced the end of a machine of ours."""
        self._announced_at = now

    def take(self, now: datetime) -> Decision | None:
        """Return the decision to begin now, and have it wait no longer; None where none is."""
        if self._open is not None:
            if not self._gives_way(self._open, now):
                return None
            self._usual = _together(self._usual, self._open.decision)
            self._gave_way_at = self._gave_way_at or now
            self._open = None
        urgent, self._urgent = self._urgent, None
        if urgent is not None:
            return urgent
        resumes_at = self.resumes_at
        if resumes_at is not None and now < resumes_at:
            return None
        usual, self._usual = self._usual, None
        return usual

    @property
    def resumes_at(self) -> datetime | None:
        """The time when what gave way is begun again; None where nothing did."""
        if self._gave_way_at is None or self._announced_at is None or self._usual is None:
            return None
        return min(self._announced_at + _QUIET, self._gave_way_at + _LONGEST)

    def _gives_way(self, there: _Open, now: datetime) -> bool:
        # What was announced shortly before may have been too late for it, and has an urgent one of its own.
        announced = self._announced_at is not None and self._announced_at >= there.since - _QUIET
        waited = now - self._gave_way_at if self._gave_way_at is not None else timedelta(0)
        return self._urgent is not None and there.long and announced and waited < _LONGEST

    def begin(self, decision: Decision, pods: int, now: datetime) -> None:
        """Take in that a decision on so many pods is being made."""
        self._open = _Open(decision=decision, pods=pods, since=now)

    def end(self, decision: str) -> bool:
        """Take in that a decision was made, or given up; return whether it is the one being made."""
        if self._open is None or self._open.decision.id != decision:
            return False
        if not self._open.decision.urgent:
            self._gave_way_at = None
        self._open = None
        return True


def _together(earlier: Decision | None, later: Decision) -> Decision:
    if earlier is None:
        return later
    opened_at = min(earlier.opened_at, later.opened_at)
    return replace(later, opened_at=opened_at, pods=earlier.pods + later.pods)


def part_of(snapshot: Snapshot, decision: Decision) -> Snapshot:
    """Return the part of a snapshot that a decision is on.

    An urgent one is on pods that lose their node alone, where it would be on many otherwise.
    """
    if not decision.urgent or len(snapshot.pods) <= _FEW:
        return snapshot
    losing = tuple(pod for pod in snapshot.pods if pod.bound)
    return replace(snapshot, pods=losing) if losing else snapshot
