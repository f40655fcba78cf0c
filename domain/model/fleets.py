"""EC2 Fleet: requests, answers, instances and errors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import Final, Never

from treenail.domain.model.instance_types import place_of
from treenail.domain.model.node_classes import DEFAULT_KUBELET, Kubelet, NodeClass
from treenail.domain.model.placement_groups import NO_GROUP, PlacementGroupRef
from treenail.domain.model.reservations import Reservation
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.model.taints import Taint

LAUNCH_TAG: Final = "treenail.sh/launch"
EFA: Final = "vpc.amazonaws.com/efa"
CLUSTER_TAG: Final = "eks:eks-cluster-name"

SUBNET_FULL: Final = "InsufficientFreeAddressesInSubnet"
# Codes by which EC2 says that an offering has run out, for now.
UNFULFILLABLE: Final[frozenset[str]] = frozenset(
    {
        "InsufficientInstanceCapacity",
        "MaxSpotInstanceCountExceeded",
        "VcpuLimitExceeded",
        "UnfulfillableCapacity",
        "Unsupported",
        SUBNET_FULL,
        "MaxFleetCountExceeded",
        "ReservationCapacityExceeded",
    }
)

# What EC2 says of a reservation that is not there or not active any more.
_NO_RESERVATION: Final = "InvalidCapacityReservation"
# By this EC2 says, as a lack of capacity, that a spread placement group holds no more in a zone.
_SPREAD_LIMIT: Final = "limit of instances in this spread placement group"

# By this EC2 says that spot cannot be bought at all: the account lacks the role that spot needs.
NO_SPOT: Final = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"


@dataclass(frozen=True, slots=True, order=True)
class Override:
    """One instance type in one zone that the fleet may choose. Price in US dollars per hour.

    Of reserved capacity, in which `reservation`; into which placement `group`, and which of its partitions.
    """

    instance_type: str
    zone: str
    price: float
    reservation: Reservation | None = None
    group: str = ""
    partition: int = 0

    @property
    def place(self) -> str:
        """The place that runs out as one, as `place_of` says it."""
        return place_of(self.zone, self.reservation.id if self.reservation is not None else "", self.group)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRequest:
    """One CreateFleet call of type instant. Calls with equal `token` answer alike and launch once.

    `labels`, `taints` and `kubelet` go into the user data; `tags` onto the instances. With `ranked` the fleet
    goes by the prices of the overrides, else by those that EC2 knows. `dedicated` ones run
    on hardware of the account's alone; with `efa` they get all Elastic Fabric Adapters their type has. Those
    that `relaxed` minValues are bought without the context of their class, which may ask for that choice.
    """

    token: str
    node_class: NodeClass
    capacity_type: str
    overrides: tuple[Override, ...]
    count: int
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    kubelet: Kubelet = DEFAULT_KUBELET
    tags: Mapping[str, str] = field(default_factory=dict)
    dedicated: bool = False
    efa: bool = False
    relaxed: bool = False
    ranked: bool = False

    @property
    def context(self) -> str:
        """The reserved context that EC2 is told, "" where none."""
        return "" if self.relaxed else self.node_class.context

    @property
    def tenancy(self) -> str:
        """The tenancy of the instances, as the label of nodes has it: "dedicated" or "default"."""
        return "dedicated" if self.dedicated else "default"

    @property
    def has_efa(self) -> bool:
        """True if the instances get fabric adapters, for a pod's sake or as their class has it."""
        return self.efa or any(one.efa_only for one in self.node_class.network_interfaces)

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """The capacity reservations it is to be met from, sorted; none where that is not how it is bought."""
        return tuple(sorted({o.reservation for o in self.overrides if o.reservation is not None}))

    @property
    def partition(self) -> int:
        """The partition of their placement group that the instances are to be in, 0 where it has none."""
        return self.overrides[0].partition if self.overrides else 0

    def digest(self) -> str:
        """Return 16 hexadecimal digits that are equal for calls that ask for the same thing."""
        parts = (
            str(self.node_class.ref),
            str(self.node_class.generation),
            self.capacity_type,
            *(f"{o.instance_type}/{o.zone}" for o in sorted(self.overrides)),
            str(self.count),
            *(f"{k}={v}" for k, v in sorted(self.labels.items())),
            *(str(t) for t in sorted(self.taints)),
            *(f"{k}={v}" for k, v in sorted(self.tags.items()) if k != LAUNCH_TAG),
            *(name for name in ("dedicated", "efa", "relaxed", "ranked") if getattr(self, name)),
            *(one.id for one in self.reservations),
            *((f"partition {self.partition}",) if self.partition else ()),
        )
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def with_adapters(amounts: Resources, *, efa: bool) -> Resources:
    """Return what a node has: the fabric adapters of its type only where it was launched with them."""
    if efa or EFA not in amounts:
        return amounts
    return Resources({name: amount for name, amount in amounts.items() if name != EFA})


class InstanceState(StrEnum):
    """The state of an instance in its life, as EC2 names it."""

    PENDING = "pending"
    RUNNING = "running"
    SHUTTING_DOWN = "shutting-down"
    TERMINATED = "terminated"
    STOPPING = "stopping"
    STOPPED = "stopped"

    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise ValueError(f"{value!r} is no state of instances: there are {', '.join(cls)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An instance of EC2, or of another `provider`, which its provider id begins with.

    `capacity` and `allocatable` are what a node of it is expected to have.

    `node_name` is what its node will be called, `subnet_id` and `security_groups` (ids, sorted) where in the
    network it is, and `placement_group` beside which others; they are empty where the answer at hand does
    not say. `reservation` is the id of the capacity reservation it was launched for and still is in, and
    `instance_profile` the name of its profile, "" where it has none.
    """

    id: str
    instance_type: str
    zone: str
    capacity_type: str
    state: InstanceState
    launched_at: datetime
    image_id: str = ""
    price: float = 0.0
    tags: Mapping[str, str] = field(default_factory=dict)
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    labels: Mapping[str, str] = field(default_factory=dict)
    node_name: str = ""
    subnet_id: str = ""
    security_groups: tuple[str, ...] = ()
    placement_group: PlacementGroupRef = NO_GROUP
    reservation: str = ""
    instance_profile: str = ""
    provider: str = "aws"

    @property
    def provider_id(self) -> str:
        """The instance as its node names it, such as "aws:///us-east-1a/i-0abc"."""
        return f"{self.provider}:///{self.zone}/{self.id}"

    @property
    def live(self) -> bool:
        """True unless the instance is terminated, or about to be."""
        return self.state not in (InstanceState.SHUTTING_DOWN, InstanceState.TERMINATED)


@dataclass(frozen=True, slots=True, order=True)
class FleetError:
    """The reason why EC2 gave nothing for one override (or, with empty type and zone, for the whole call).

    It may be had `elsewhere` in the same zone: one subnet is full, and another is not.
    """

    code: str
    message: str
    instance_type: str = ""
    zone: str = ""
    elsewhere: bool = False

    @property
    def capacity(self) -> bool:
        """True if the error says that capacity ran out, so that other offerings may do."""
        return self.code in UNFULFILLABLE or self.code == NO_SPOT

    @property
    def spread_limit(self) -> bool:
        """True if it says that a placement group of one rack for each has its seven instances in the zone."""
        return _SPREAD_LIMIT in self.message

    @property
    def of_reservation(self) -> bool:
        """True if it says that a reservation is not there, or not active any more."""
        return self.code.startswith(_NO_RESERVATION)


def _in_one(alike: tuple[tuple[str, str], ...]) -> str:
    code, message = alike[0]
    others = len(alike) - 1
    return f"{code}: {message} (and {others} more like it)" if others else f"{code}: {message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetAnswer:
    """The answer of CreateFleet: at most `count` instances, and errors. Errors may come with instances."""

    instances: tuple[Instance, ...] = ()
    errors: tuple[FleetError, ...] = ()
    fleet_id: str = ""
    request_id: str = ""
    waited_seconds: float = 0.0

    @property
    def why(self) -> str:
        """The reason why it did not give more: one of EC2's errors of each code, and how many are like it.

        Of a zone that is lost there is one for each instance type.
        """
        said = sorted({(e.code, e.message) for e in self.errors})
        told = (tuple(alike) for _, alike in groupby(said, key=itemgetter(0)))
        return "; ".join(map(_in_one, told)) or "no instance given"

    @property
    def elsewhere(self) -> bool:
        """True if something of what it did not give may be had elsewhere in the same zone."""
        return any(error.elsewhere for error in self.errors)
