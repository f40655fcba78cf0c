"""The capacity reservations that a node class selects, and how much of each is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

from treenail.adapters.ec2.call_errors import code_of
from treenail.adapters.ec2.discovery.asking import Aws, bearing, matching
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.domain.model.capacity_reservations import CapacityReservation, Count, MatchCriteria
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.node_classes import AmiFamily, NodeClass, SelectorTerm
from treenail.domain.model.reservations import DEFAULT, Reservation

if TYPE_CHECKING:  # the types of answers are not there at run time
    from types_boto3_ec2.type_defs import (
        CapacityReservationTypeDef,
        DescribeCapacityReservationsRequestTypeDef,
        FilterTypeDef,
    )

_SECONDS: Final = 60.0
_PAGE: Final = 1000
_MOST_IDS: Final = 100
# What EC2 says of a reservation that is not there, or of an id that is none.
_UNKNOWN: Final = "InvalidCapacityReservationId"
# What instances run as that no node class says otherwise of: on shared hardware.
_USABLE: Final = (matching("state", ("active",)), matching("tenancy", ("default",)))
# What EC2 calls the systems of our images: it lets an instance into reservations of just its own platform.
_WINDOWS: Final = "Windows"
_LINUX: Final = "Linux/UNIX"

Terms = tuple[SelectorTerm, ...]


class CapacityReservations:
    """A finder of capacity reservations; results are cached for a minute."""

    def __init__(self, aws: Aws, caches: AnswerCaches) -> None:
        self._aws = aws
        self._clock = caches.clock
        self._found = caches.of("capacity reservations", self._find, seconds=_SECONDS)

    def of(self, node_class: NodeClass) -> tuple[Count, ...]:
        """Return the active reservations that a node class selects and its images may run in, sorted.

        There may be none: a class that finds no reservation goes on without.

        Raises:
            PortError: they could not be looked up.
        """
        if not node_class.reservation_terms:
            return ()
        found = self._found.get(node_class.reservation_terms)
        return tuple(count for platform, count in found if _runs(node_class.ami_family, platform))

    def _find(self, terms: Terms) -> tuple[tuple[str, Count], ...]:
        counted_at = self._clock.now()
        found: dict[str, tuple[str, Count]] = {}
        for one in self._ask(terms):
            reservation = _reservation(one)
            left = one.get("AvailableInstanceCount", 0)
            count = Count(of=reservation.as_of(counted_at), left=left, at=counted_at)
            found[reservation.reservation.id] = one.get("InstancePlatform", ""), count
        return tuple(found[name] for name in sorted(found))

    def _ask(self, terms: Terms) -> Iterator[CapacityReservationTypeDef]:
        ids = sorted({term.id for term in terms if term.id})
        yield from _by_id(self._aws, ids, list(_USABLE))
        for term in terms:
            if not term.id:
                yield from _pages(self._aws, Filters=_filters(term), MaxResults=_PAGE)


def described_reservations(aws: Aws, ids: Sequence[str], now: datetime) -> tuple[CapacityReservation, ...]:
    """Return the reservations that exist, in their state at `now`.

    Raises:
        PortError: they could not be looked up.
    """
    return tuple(_reservation(one).as_of(now) for one in _by_id(aws, ids, []))


def _by_id(
    aws: Aws, ids: Sequence[str], filters: list[FilterTypeDef]
) -> Iterator[CapacityReservationTypeDef]:
    """Yield those of these reservations that exist: EC2 returns none of them where one does not exist."""
    for n in range(0, len(ids), _MOST_IDS):
        some = list(ids[n : n + _MOST_IDS])
        try:
            yield from _pages(aws, CapacityReservationIds=some, Filters=filters)
        except (NotFoundError, InvalidError) as error:
            if not code_of(error).startswith(_UNKNOWN):
                raise
            if len(some) > 1:
                for one in some:
                    yield from _by_id(aws, [one], filters)


def _pages(
    aws: Aws, **asked: Unpack[DescribeCapacityReservationsRequestTypeDef]
) -> Iterator[CapacityReservationTypeDef]:
    ask = partial(aws.clients.ec2.describe_capacity_reservations, **asked)
    for page in aws.pages("ec2", "DescribeCapacityReservations", ask):
        yield from page["CapacityReservations"]


def _filters(term: SelectorTerm) -> list[FilterTypeDef]:
    filters = [*_USABLE, *bearing(term.tags)]
    if term.owner:
        filters.append(matching("owner-id", (term.owner,)))
    if term.match_criteria:
        filters.append(matching("instance-match-criteria", (term.match_criteria,)))
    return filters


def _reservation(found: CapacityReservationTypeDef) -> CapacityReservation:
    return CapacityReservation(
        reservation=Reservation(
            found["CapacityReservationId"],
            found.get("ReservationType", DEFAULT),
            found.get("Interruptible", False),
        ),
        instance_type=found["InstanceType"],
        zone=found["AvailabilityZone"],
        zone_id=found.get("AvailabilityZoneId", ""),
        owner_id=found.get("OwnerId", ""),
        match_criteria=MatchCriteria(found.get("InstanceMatchCriteria", MatchCriteria.OPEN)),
        ends_at=found.get("EndDate"),
    )


def _runs(family: AmiFamily, platform: str) -> bool:
    """Return whether images of a family run in a reservation of this platform (custom ones: unknown)."""
    return family is AmiFamily.CUSTOM or platform == (_WINDOWS if family.windows else _LINUX)
