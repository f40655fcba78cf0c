"""What EC2's own look at its instances finds: checks that fail, and what it has planned with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.interruption import InterruptionKind

# Checks that fail for less may be mended by themselves.
_LASTING: Final = timedelta(seconds=120)


@dataclass(frozen=True, slots=True, kw_only=True)
class Impairment:
    """An instance that EC2 finds unwell, or has plans with.

    `kind` is `INSTANCE_STATUS` or `SYSTEM_STATUS` where a check has failed `since` then, and `EVENT_STATUS`
    where EC2 stops, reboots or retires the instance at `deadline`. A time is None where EC2 does not say.
    """

    instance_id: str
    kind: InterruptionKind
    since: datetime | None = None
    deadline: datetime | None = None

    @property
    def checked(self) -> bool:
        """Whether it was a check that failed: then nobody can rely on what runs there."""
        return self.kind is not InterruptionKind.EVENT_STATUS

    def lasts(self, now: datetime) -> bool:
        """Tell whether it is there for long enough to be acted on."""
        return self.since is None or now - self.since >= _LASTING

    def ends_at(self, now: datetime) -> datetime | None:
        """Return when the instance goes, None where that is not known: plans may be late."""
        return self.deadline if self.deadline is not None and self.deadline > now else None
