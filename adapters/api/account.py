"""An AWS account's parts that nodes are made of, and the header of a cluster snapshot.

Values of the kinds Account and ClusterSnapshot of treenail.sh.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.storage_book import OF_DEVICES
from treenail.domain.model.capacity_reservations import CapacityReservation, MatchCriteria
from treenail.domain.model.reservations import DEFAULT, Reservation

_ACCOUNT: Final = "123456789012"
# Where one object of these is missing, more or fewer devices may be free than the other objects say.
_ALL_OR_NONE: Final = (Kind.RESOURCE_CLAIM, *OF_DEVICES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """A subnet. Where `tags` is None it has any tags asked for, and without a `name` any name."""

    id: str
    zone: str
    cidr: str
    name: str = ""
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityGroup:
    """A security group. Where `tags` is None it has any tags asked for, and without a `name` any name."""

    id: str
    name: str = ""
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A machine image for one architecture ("amd64" or "arm64")."""

    id: str
    arch: str
    name: str = ""
    owner: str = "self"
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedCapacity:
    """A reservation of so many `instances`. Its `kind` is "default" or "capacity-block", which has an end."""

    id: str
    instance_type: str
    zone: str
    instances: int
    tags: Mapping[str, str] | None = None
    owner: str = _ACCOUNT
    match_criteria: MatchCriteria = MatchCriteria.TARGETED
    kind: str = DEFAULT
    interruptible: bool = False
    ends_at: datetime | None = None

    @property
    def known_as(self) -> CapacityReservation:
        """The reservation as status and decisions have it, less how much is left of it."""
        return CapacityReservation(
            reservation=Reservation(self.id, self.kind, self.interruptible),
            instance_type=self.instance_type,
            zone=self.zone,
            owner_id=self.owner,
            match_criteria=self.match_criteria,
            ends_at=self.ends_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementGroup:
    """A placement group: in so many `partitions`, or `spread` over racks, or neither."""

    name: str
    id: str
    partitions: int = 0
    spread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account in one region. What is None is not known: then all that is asked for is there.

    Prices are in US dollars per hour: on demand by type, spot by type and zone.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    region: str = ""
    subnets: tuple[Subnet, ...] | None = None
    security_groups: tuple[SecurityGroup, ...] | None = None
    images: tuple[Image, ...] | None = None
    roles: tuple[str, ...] | None = None
    capacity_reservations: tuple[ReservedCapacity, ...] = ()
    placement_groups: tuple[PlacementGroup, ...] | None = None
    on_demand_prices: Mapping[str, float] = field(default_factory=dict)
    spot_prices: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of its subnets and reservations, sorted."""
        zones = {one.zone for one in self.subnets or ()} | {one.zone for one in self.capacity_reservations}
        return tuple(sorted(zones))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """The header of a snapshot: its time, and what could not be read: "KIND: why" or "KIND NAME: why"."""

    name: str
    uid: str = ""
    resource_version: int = 0
    taken_at: datetime
    not_read: tuple[str, ...] = ()

    def unreadable(self) -> Iterator[Kind]:
        """Yield the kinds that could not be read; those of devices also where one object could not."""
        for line in self.not_read:
            kind, _, name = line.partition(":")[0].partition(" ")
            if kind in (_ALL_OR_NONE if name else tuple(Kind)):
                yield Kind(kind)
