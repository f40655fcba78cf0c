"""The capacity reservation of a launch, as EC2 is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetRequest
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.reservations import CAPACITY_BLOCK, Reservation

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.literals import DefaultTargetCapacityTypeType, MarketTypeType
    from types_boto3_ec2.type_defs import (
        InstanceTypeDef,
        LaunchTemplateCapacityReservationSpecificationRequestTypeDef,
        LaunchTemplateInstanceMarketOptionsRequestTypeDef,
        ReservedCapacityOptionsRequestTypeDef,
    )

RESERVED_ONLY: Final = "capacity-reservations-only"
_INTERRUPTIBLE: Final[MarketTypeType] = "interruptible-capacity-reservation"
_BLOCK: Final[MarketTypeType] = "capacity-block"
# Those who could name reservations in the class, and did not, do not mean to use up open ones.
_NAMING: Final = "EC2NodeClass"


def capacity_reservation(
    node_class: NodeClass, reservation: Reservation | None
) -> LaunchTemplateCapacityReservationSpecificationRequestTypeDef | None:
    """Return which reservation instances are to run in, or that they are to run in none.

    None where nothing is said: then EC2 lets them run in any that is open to all.
    """
    if reservation is not None:
        return {
            "CapacityReservationPreference": RESERVED_ONLY,
            "CapacityReservationTarget": {"CapacityReservationId": reservation.id},
        }
    return {"CapacityReservationPreference": "none"} if node_class.ref.kind == _NAMING else None


def market_options(
    reservation: Reservation | None,
) -> LaunchTemplateInstanceMarketOptionsRequestTypeDef | None:
    """Return how instances in a reservation are bought, where that is not as on demand."""
    if reservation is None:
        return None
    if reservation.block:
        return {"MarketType": _BLOCK}
    return {"MarketType": _INTERRUPTIBLE} if reservation.interruptible else None


def target_type(request: FleetRequest) -> DefaultTargetCapacityTypeType:
    """Return what a fleet calls the capacity that is asked for."""
    if request.capacity_type != labels.RESERVED:
        return "spot" if request.capacity_type == labels.SPOT else "on-demand"
    if any(one.block for one in request.reservations):
        return CAPACITY_BLOCK
    return "reserved-capacity" if any(one.interruptible for one in request.reservations) else "on-demand"


def reserved_options() -> ReservedCapacityOptionsRequestTypeDef:
    """Return which kinds of reserved capacity will do, where the target is that which is lent."""
    return {"ReservationTypes": ["interruptible-capacity-reservation"]}


def reservation_of(found: InstanceTypeDef) -> str:
    """Return the id of the reservation that an instance was launched for, "" where it was for none.

    One that merely fell into an open reservation was not; nor is one that lost its reservation any more.
    """
    preference = found.get("CapacityReservationSpecification", {}).get("CapacityReservationPreference", "")
    return found.get("CapacityReservationId", "") if preference == RESERVED_ONLY else ""
