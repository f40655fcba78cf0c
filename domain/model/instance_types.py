"""Instance types: capacity, overhead and allocatable of a node, and offerings by zone at their price."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.reservations import Reservation
from treenail.domain.model.resources import NOTHING, Resources

_UNRESERVED: Final = tuple(Requirement(key) for key in labels.OF_RESERVATIONS)


def place_of(zone: str, reservation: str, group: str) -> str:
    """Return what runs out as one: a reservation, by its id, or else all that is sold so in the zone.

    What a placement group has no room for in a zone may still be had outside of it.
    """
    return reservation or (f"{zone}/{group}" if group else zone)


@dataclass(frozen=True, slots=True, order=True)
class Offering:
    """An instance type sold in one zone in one way. Price in US dollars per hour.

    Reserved capacity has its `reservation`, which had room for `left` instances when they were counted.
    `group` is the id of the placement group that all are launched into, "" where there is none.
    `overlay` is the name of the NodeOverlay that the price is from, "" where none.
    """

    zone: str
    capacity_type: str
    price: float
    available: bool = True
    zone_id: str = ""
    reservation: Reservation | None = None
    left: int = 0
    counted_at: datetime | None = None
    group: str = ""
    overlay: str = ""

    @property
    def place(self) -> str:
        """The place that runs out as one, as `place_of` says it."""
        return place_of(self.zone, self.reservation.id if self.reservation is not None else "", self.group)

    @property
    def labels(self) -> dict[str, str]:
        """The labels that tell of nodes how they were bought, and where."""
        known = {labels.ZONE: self.zone, labels.CAPACITY_TYPE: self.capacity_type}
        if self.zone_id:
            known[labels.ZONE_ID] = self.zone_id
        return known if self.reservation is None else {**known, **self.reservation.labels}

    def requirements(self) -> Requirements:
        """Return the labels of nodes of this offering, as requirements."""
        known = Requirements.from_labels(self.labels)
        return known.with_(_UNRESERVED) if self.reservation is None else known


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """Capacity of a node that pods cannot use.

    `missing` is how much less capacity nodes of the type turned out to have than EC2 states.
    """

    kube_reserved: Resources = NOTHING
    system_reserved: Resources = NOTHING
    eviction_threshold: Resources = NOTHING
    missing: Resources = NOTHING

    @property
    def total(self) -> Resources:
        """The sum of all overhead."""
        kept = self.kube_reserved.plus(self.system_reserved).plus(self.eviction_threshold)
        return kept.plus(self.missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """An instance type as a pool would use it.

    `requirements` define every label a node of the type would have; labels it lacks are DoesNotExist;
    zone and capacity type list what is offered. `allocatable` is capacity less overhead. An `exotic` type
    is bare metal or has chips beside the CPU: nobody wants one who did not ask for it. A `specialised` one is
    made for one kind of work: nobody wants one who did not name it. A burstable type may use only its
    `baseline` (millicores) of CPU all the time; of others it is None. `overlays` are the names of the
    NodeOverlays that some of its capacity is from, sorted.
    """

    name: str
    requirements: Requirements
    capacity: Resources
    overhead: Overhead = Overhead()
    offerings: tuple[Offering, ...] = ()
    exotic: bool = False
    specialised: bool = False
    baseline: int | None = None
    overlays: tuple[str, ...] = ()
    allocatable: Resources = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "allocatable", self.capacity.minus(self.overhead.total).at_least_zero())

    def cheapest(self, requirements: Requirements) -> Offering | None:
        """Return the cheapest available offering that meets `requirements`, if any."""
        zone = requirements.get(labels.ZONE)
        capacity_type = requirements.get(labels.CAPACITY_TYPE)
        zone_id = requirements.get(labels.ZONE_ID)
        reserved = any(key in requirements for key in labels.OF_RESERVATIONS)
        return min(
            (
                o
                for o in self.offerings
                if o.available
                and (zone is None or zone.has(o.zone))
                and (capacity_type is None or capacity_type.has(o.capacity_type))
                and (zone_id is None or zone_id.has(o.zone_id))
                and (not reserved or requirements.intersects(o.requirements()))
            ),
            key=lambda o: (o.price, o.capacity_type, o.zone),
            default=None,
        )

    def label(self, key: str) -> str | None:
        """Return the value of a label every node of this type has, None where there is no single one."""
        requirement: Requirement | None = self.requirements.get(key)
        return requirement.single if requirement else None

    def values(self, key: str) -> frozenset[str]:
        """Return the values that a label of nodes of this type may have; none where they are not known."""
        requirement = self.requirements.get(key)
        return requirement.values if requirement is not None and not requirement.complement else frozenset()
