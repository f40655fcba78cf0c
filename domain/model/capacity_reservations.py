"""Capacity that an account has reserved in one zone, for instances of one type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.reservations import Reservation

# What is reserved is paid for anyway: it costs next to nothing more, though large types more than small ones.
_SHARE_OF_PRICE: Final = 1e-7
# EC2 ends instances in a capacity block half an hour before it ends; their pods need some time before that.
_BLOCK_ENDS_EARLIER: Final = timedelta(minutes=30)
_TIME_TO_LEAVE: Final = timedelta(minutes=10)
_NONE: Final[Mapping[str, InstanceType]] = MappingProxyType({})


class MatchCriteria(StrEnum):
    """The instances that run in a reservation: all that fit, or only instances that name it."""

    OPEN = "open"
    TARGETED = "targeted"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class CapacityReservation:
    """A capacity reservation that is active. `owner_id` is an account; `ends_at` is None where it has no end.

    One that is `expiring` takes no more instances, and those it has are about to be ended.
    """

    reservation: Reservation
    instance_type: str
    zone: str
    zone_id: str = ""
    owner_id: str = ""
    match_criteria: MatchCriteria = MatchCriteria.OPEN
    ends_at: datetime | None = None
    expiring: bool = False

    @property
    def instances_end_at(self) -> datetime | None:
        """The time when EC2 ends the instances in it, where that is before it ends itself."""
        return self.ends_at - _BLOCK_ENDS_EARLIER if self.reservation.block and self.ends_at else None

    def as_of(self, now: datetime) -> CapacityReservation:
        """Return the reservation with what `now` says of its end."""
        ends_at = self.instances_end_at
        return replace(self, expiring=ends_at is not None and now >= ends_at - _TIME_TO_LEAVE)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Count:
    """The number of instances that a reservation had room for, at a time."""

    of: CapacityReservation
    left: int
    at: datetime


def with_reserved(
    types: tuple[InstanceType, ...],
    counts: Iterable[Count],
    *,
    unsold: Mapping[str, InstanceType] = _NONE,
    prices: PriceOverrides = NO_OVERRIDES,
) -> tuple[InstanceType, ...]:
    """Return `types`, sorted by name, with what is reserved of them on offer too.

    `unsold` are types, by name, that cannot be bought otherwise. `prices` are one's own.
    """
    by_type: dict[str, list[Count]] = {}
    for count in sorted(counts):
        by_type.setdefault(count.of.instance_type, []).append(count)
    if not by_type:
        return types
    found = {one.name: one for one in types}
    for name, reserved in by_type.items():
        one = found.get(name) or unsold.get(name)
        if one is not None:
            found[name] = _with(one, reserved, prices)
    return tuple(found[name] for name in sorted(found))


def _with(instance_type: InstanceType, counts: Iterable[Count], prices: PriceOverrides) -> InstanceType:
    sold = instance_type.offerings
    # If none is available, the node class cannot launch the type at all, or the type is unknown.
    possible = not sold or any(one.available for one in sold)
    reserved = tuple(
        Offering(
            count.of.zone,
            labels.RESERVED,
            _price(instance_type, prices),
            possible and not count.of.expiring,
            count.of.zone_id or _zone_id(instance_type, count.of.zone),
            count.of.reservation,
            count.left,
            count.at,
            next((one.group for one in sold), ""),
        )
        for count in counts
    )
    return replace(
        instance_type,
        offerings=(*sold, *reserved),
        requirements=_allowing_reserved(instance_type.requirements, reserved),
    )


def _price(instance_type: InstanceType, prices: PriceOverrides) -> float:
    own = prices.find(instance_type.name, labels.RESERVED)
    if own is not None and own.price is not None and own.capacity_types:
        return own.price
    known = [o.price for o in instance_type.offerings if o.capacity_type == labels.ON_DEMAND and o.available]
    public = min(known, default=0.0) * _SHARE_OF_PRICE
    return public if own is None or own.factor is None else public * own.factor


def _zone_id(instance_type: InstanceType, zone: str) -> str:
    return next((o.zone_id for o in instance_type.offerings if o.zone == zone), "")


def _allowing_reserved(own: Requirements, reserved: Iterable[Offering]) -> Requirements:
    """Return the requirements of a type's nodes when some are reserved: zones and capacity types."""
    more = {
        labels.CAPACITY_TYPE: frozenset({labels.RESERVED}),
        labels.ZONE: frozenset(o.zone for o in reserved),
        labels.ZONE_ID: frozenset(o.zone_id for o in reserved if o.zone_id),
    }
    widened = [
        Requirement(key, values | (known.values if (known := own.get(key)) is not None else frozenset()))
        for key, values in more.items()
    ]
    return own.without(more).with_(widened)
