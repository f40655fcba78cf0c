"""Launch backoff: growing pauses for pods whose nodes could not be bought."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model.backoff import Backoff

# For so many failures in a row a pod is decided on again at once, for other types, ways of buying, and
# pools. After more it waits.
AT_ONCE: Final = 8
_BACKOFF: Final = Backoff(first=2.0, longest=60.0)


@dataclass(slots=True)
class _Failures:
    number: int = 0
    until: datetime | None = None


@dataclass(slots=True)
class LaunchBackoff:
    """The number of times each pod was promised a node that could not be bought, for want of capacity.

    Eight times that is no reason to wait; then it is for 2 s, 4 s... a minute, less up to half by chance.
    """

    _by_pod: dict[str, _Failures] = field(default_factory=dict)

    def note(self, uids: Iterable[str], now: datetime, chance: float) -> bool:
        """Note that pods lost a node; return whether any of them need not wait. `chance` is from 0 to 1."""
        at_once = False
        for uid in uids:
            failures = self._by_pod.setdefault(uid, _Failures())
            failures.number += 1
            over = failures.number - AT_ONCE
            if over <= 0:
                at_once = True
            else:
                failures.until = now + timedelta(seconds=_BACKOFF.after(over, chance))
        return at_once

    def until(self, uid: str) -> datetime | None:
        """Return until when a pod is to wait, None where it need not."""
        failures = self._by_pod.get(uid)
        return failures.until if failures is not None else None

    def forget(self, uid: str) -> None:
        """Begin anew with a pod that has a node, or is gone."""
        self._by_pod.pop(uid, None)
