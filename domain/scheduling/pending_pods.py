"""Pending pods: since when each waits, and which to decide on next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model.pods import Pod

# So often at most people are told why a pod is refused, where that changes all the time.
_TOLD_AGAIN: Final = timedelta(minutes=1)


@dataclass(slots=True)
class _Wait:
    since: datetime
    put_off_until: datetime | None = None
    refused: bool = False
    said: str = ""
    said_at: datetime | None = None


@dataclass(slots=True)
class PendingPods:
    """The pods that wait. Refused ones are not asked for until they are let in again. Mutable."""

    _waits: dict[str, _Wait] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._waits)

    def enter(self, pod: Pod, now: datetime, not_before: datetime | None = None) -> datetime | None:
        """Note that `pod` waits. Return since when, None where that was known or it is put off."""
        if pod.uid in self._waits:
            return None
        since = pod.unschedulable_since or now
        put_off = not_before is not None and not_before > now
        self._waits[pod.uid] = _Wait(since, put_off_until=not_before if put_off else None)
        return None if put_off else since

    def leave(self, uid: str) -> bool:
        """Note that a pod waits no longer; return whether it did."""
        return self._waits.pop(uid, None) is not None

    def refuse(self, uid: str, why: str, now: datetime) -> bool:
        """Note that a pod was refused; return whether people are to be told `why`."""
        wait = self._waits.get(uid)
        if wait is None:
            return False
        wait.refused, wait.put_off_until = True, None
        if wait.said == why or (wait.said and wait.said_at and now - wait.said_at < _TOLD_AGAIN):
            return False
        wait.said, wait.said_at = why, now
        return True

    def try_again(self, uids: Iterable[str], *, afresh: bool = False) -> None:
        """Let these be asked for again; with `afresh`, why they are refused is news once more."""
        for uid in uids:
            wait = self._waits.get(uid)
            if wait is not None:
                wait.refused = False
                wait.said = "" if afresh else wait.said

    def ready(self, now: datetime) -> tuple[tuple[str, datetime], ...]:
        """Return those to be asked for now, as (uid, waiting since)."""
        ready: list[tuple[str, datetime]] = []
        for uid, wait in self._waits.items():
            until = wait.put_off_until
            if not wait.refused and (until is None or until <= now):
                wait.put_off_until = None
                ready.append((uid, wait.since))
        return tuple(ready)

    def next_put_off(self) -> datetime | None:
        """Return when the next pod that was put off is to be asked for, if any is."""
        times = (wait.put_off_until for wait in self._waits.values() if not wait.refused)
        return min((at for at in times if at is not None), default=None)
