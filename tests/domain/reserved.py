"""Capacity reservations in a few words."""

from __future__ import annotations

from datetime import datetime

from tests.builders import START
from treenail.domain.model.capacity_reservations import CapacityReservation, Count
from treenail.domain.model.reservations import Reservation


def count(
    name: str = "cr-1",
    of: str = "m5.large",
    zone: str = "a",
    *,
    left: int = 1,
    at: datetime = START,
    kind: str = "default",
    ends_at: datetime | None = None,
    expiring: bool = False,
) -> Count:
    """A reservation in which so many instances were left."""
    found = CapacityReservation(
        reservation=Reservation(name, kind),
        instance_type=of,
        zone=zone,
        ends_at=ends_at,
        expiring=expiring,
    )
    return Count(of=found, left=left, at=at)
