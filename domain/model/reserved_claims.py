"""Claims by the capacity reservation they run in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from treenail.domain.model import labels
from treenail.domain.model.nodes import LAUNCHED, NodeClaim
from treenail.domain.model.requirements import Requirements

# When each claim in a reservation was launched, by the reservation's id; None where it is still to be.
InReservations = Mapping[str, Sequence[datetime | None]]


def in_reservations(claims: Iterable[NodeClaim]) -> dict[str, tuple[datetime | None, ...]]:
    """Return when each claim in a reservation was launched, by the reservation's id."""
    found: dict[str, list[datetime | None]] = {}
    for claim in claims:
        reservation = reservation_of(claim)
        if reservation:
            found.setdefault(reservation, []).append(claim.since(LAUNCHED) if claim.launched else None)
    return {name: tuple(times) for name, times in sorted(found.items())}


def reservation_of(claim: NodeClaim) -> str:
    """Return the id of the reservation a claim is, or is to be, launched into; "" where it is into none."""
    if claim.launched:
        return claim.labels.get(labels.RESERVATION_ID, "")
    return asked_reservation(claim.requirements)


def asked_reservation(requirements: Requirements) -> str:
    """Return the id of the one reservation that is asked for; "" where none is, or no certain one."""
    asked = requirements.get(labels.RESERVATION_ID)
    return (asked.single or "") if asked is not None else ""
