"""Pending pods: since when each waits, and when refused ones are retried."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model.pods import Pod

_FIRST_RETRY: Final = timedelta(seconds=10)
_LAST_RETRY: Final = timedelta(seconds=60)
# Where a pool could not buy for now, it is likely that it can before long.
_LAST_RETRY_OF_POOLS: Final = timedelta(seconds=10)


@dataclass(slots=True)
class _Wait:
    since: datetime
    refused: int = 0
    retry_at: datetime | None = None


@dataclass(slots=True)
class PendingPods:
    """The pods that wait. Refused ones are tried again after 10 s, 20 s, 40 s, then every minute.

    Where a pool was not ready for them, it is every 15 s.
    """

    _waits: dict[str, _Wait] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._waits)

    def enter(self, pod: Pod, now: datetime, not_before: datetime | None = None) -> datetime | None:
        """Note that `pod` waits. Return since when, None where that was known or it is put off."""
        if pod.uid in self._waits:
            return None
        since = pod.unschedulable_since or now
        put_off = not_before is not None and not_before > now
        self._waits[pod.uid] = _Wait(since, retry_at=not_before if put_off else None)
        return None if put_off else since

    def leave(self, uid: str) -> bool:
        """Note that a pod waits no longer; return whether it did."""
        return self._waits.pop(uid, None) is not None

    def refuse(self, uid: str, now: datetime, *, pools_ready: bool = True) -> bool:
        """Put a pod off for a while; return whether it is refused for the first time."""
        wait = self._waits.get(uid)
        if wait is None:
            return False
        longest = _LAST_RETRY if pools_ready else _LAST_RETRY_OF_POOLS
        wait.retry_at = now + min(_FIRST_RETRY * 2**wait.refused, longest)
        wait.refused = min(wait.refused + 1, 6)
        return wait.refused == 1

    def retry_refused(self) -> None:
        """Let all that were refused be tried again at once."""
        for wait in self._waits.values():
            wait.refused, wait.retry_at = 0, None

    def ready(self, now: datetime) -> tuple[tuple[str, datetime], ...]:
        """Return those to be tried now, as (uid, waiting since); a time to try again is used up by it."""
        ready: list[tuple[str, datetime]] = []
        for uid, wait in self._waits.items():
            if wait.retry_at is None or wait.retry_at <= now:
                wait.retry_at = None
                ready.append((uid, wait.since))
        return tuple(ready)

    def next_retry(self) -> datetime | None:
        """Return when the next refused pod is to be tried again, if any is."""
        return min((w.retry_at for w in self._waits.values() if w.retry_at is not None), default=None)
