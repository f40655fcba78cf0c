"""Impaired instances: status checks that fail, and events EC2 has scheduled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model.capacity_reservations import CapacityReservation
from treenail.domain.model.fleets import Instance

# Checks that fail for less may be mended by themselves.
_LASTING: Final = timedelta(seconds=120)
# The kinds that are found in statuses of instances, and those found in reservations.
OF_STATUSES: Final = frozenset(
    {InterruptionKind.INSTANCE_STATUS, InterruptionKind.SYSTEM_STATUS, InterruptionKind.EVENT_STATUS}
)
OF_RESERVATIONS: Final = frozenset({InterruptionKind.CAPACITY_RESERVATION_INTERRUPTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Impairment:
    """An instance that EC2 finds unwell, or has plans with.

    `kind` is `INSTANCE_STATUS` or `SYSTEM_STATUS` where a check has failed `since` then, `EVENT_STATUS`
    where EC2 stops, reboots or retires the instance at `deadline`, and `CAPACITY_RESERVATION_INTERRUPTED`
    where its capacity block ends then. A time is None where EC2 does not say.
    """

    instance_id: str
    kind: InterruptionKind
    since: datetime | None = None
    deadline: datetime | None = None

    @property
    def checked(self) -> bool:
        """True if a status check failed: nobody can rely on what runs there."""
        return self.kind in (InterruptionKind.INSTANCE_STATUS, InterruptionKind.SYSTEM_STATUS)

    @property
    def unhealthy(self) -> bool:
        """True if it is the instance, or its host, that is at fault, and no contract that ends."""
        return self.kind is not InterruptionKind.CAPACITY_RESERVATION_INTERRUPTED

    def lasts(self, now: datetime) -> bool:
        """Return whether it is there for long enough to be acted on."""
        return self.since is None or now - self.since >= _LASTING

    def ends_at(self, now: datetime) -> datetime | None:
        """Return when the instance goes, None where that is not known: plans may be late."""
        return self.deadline if self.deadline is not None and self.deadline > now else None

    def sooner_than(self, other: Impairment) -> bool:
        """Return whether the instance goes earlier than `other` says, or that alone does not say when."""
        return self.deadline is not None and (other.deadline is None or self.deadline < other.deadline)


@dataclass(frozen=True, slots=True, kw_only=True)
class Impairments:
    """The faults of instances: by their statuses, then by their reservations, each sorted by id.

    Nothing is known of the kinds in `unanswered`.
    """

    found: tuple[Impairment, ...] = ()
    unanswered: frozenset[InterruptionKind] = frozenset()


def of_ending_reservations(
    instances: Iterable[Instance], reservations: Iterable[CapacityReservation]
) -> tuple[Impairment, ...]:
    """Return what is planned with instances whose reservation ends them soon, sorted by id."""
    ending = {one.reservation.id: one.instances_end_at for one in reservations if one.expiring}
    return tuple(
        Impairment(
            instance_id=instance.id,
            kind=InterruptionKind.CAPACITY_RESERVATION_INTERRUPTED,
            deadline=ending[instance.reservation],
        )
        for instance in sorted(instances, key=lambda one: one.id)
        if instance.reservation in ending
    )
