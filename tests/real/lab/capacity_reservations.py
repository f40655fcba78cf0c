"""Capacity reservations, which moto lacks: made, told of, cancelled, and used up by instances."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response

from tests.real.lab.estate import ACCOUNT
from tests.real.lab.paging import page

_MOST: Final = 1000
_ONLY: Final = "capacity-reservations-only"
_ENDED: Final = ("shutting-down", "terminated")
# What filters are called, and the fields they look at.
_FILTERS: Final = {
    "state": "State",
    "tenancy": "Tenancy",
    "owner-id": "OwnerId",
    "instance-match-criteria": "InstanceMatchCriteria",
    "instance-type": "InstanceType",
    "availability-zone": "AvailabilityZone",
}


class CapacityReservations:
    """The reservations of the account, by id, as EC2 tells them."""

    def __init__(self) -> None:
        self._by_id: dict[str, dict[str, Any]] = {}
        self._instances: dict[str, list[Any]] = {}
        self._numbers = itertools.count(1)

    def reset(self) -> None:
        self._by_id, self._instances = {}, {}

    def install(self) -> None:
        """Patch moto."""
        reservations = self

        def create_capacity_reservation(self: Any) -> Any:
            return ActionResult({"CapacityReservation": reservations.create(self)})

        def describe_capacity_reservations(self: Any) -> Any:
            ids, filters = self._get_param("CapacityReservationIds", []), self._filters_from_querystring()
            found = reservations.described(ids, filters)
            return ActionResult(page(self, "CapacityReservations", found, most=_MOST, usual=_MOST))

        def cancel_capacity_reservation(self: Any) -> Any:
            reservations.cancel(self._get_param("CapacityReservationId"))
            return ActionResult({"Return": True})

        EC2Response.create_capacity_reservation = create_capacity_reservation
        EC2Response.describe_capacity_reservations = describe_capacity_reservations
        EC2Response.cancel_capacity_reservation = cancel_capacity_reservation

    def create(self, request: Any) -> dict[str, Any]:
        """Make a reservation; all of it is free."""
        specifications = request._get_param("TagSpecifications", [])
        made = {
            "CapacityReservationId": f"cr-{next(self._numbers):017x}",
            "OwnerId": ACCOUNT,
            "InstanceType": request._get_param("InstanceType"),
            "InstancePlatform": request._get_param("InstancePlatform"),
            "AvailabilityZone": request._get_param("AvailabilityZone"),
            "Tenancy": request._get_param("Tenancy") or "default",
            "TotalInstanceCount": int(request._get_param("InstanceCount")),
            "State": "active",
            "InstanceMatchCriteria": request._get_param("InstanceMatchCriteria") or "open",
            "ReservationType": "default",
            **({"EndDate": _time(end)} if (end := request._get_param("EndDate")) else {}),
            "Tags": [tag for one in specifications for tag in one.get("Tags", ())],
        }
        self._by_id[made["CapacityReservationId"]] = made
        return self._told(made)

    def make_block(self, reservation_id: str) -> None:
        """Have a reservation be a capacity block, which is bought in a way that nobody plays here."""
        self._known(reservation_id)["ReservationType"] = "capacity-block"

    def cancel(self, reservation_id: str) -> None:
        """Cancel a reservation: its instances go on on demand."""
        self._known(reservation_id)["State"] = "cancelled"
        for instance in self._instances.pop(reservation_id, ()):
            instance.capacity_reservation_id = None

    def described(self, ids: list[str], filters: Mapping[str, list[str]]) -> list[dict[str, Any]]:
        """Return what is asked for; an id that is not there is an error, as in EC2."""
        found = [self._known(one) for one in ids] or list(self._by_id.values())
        return [self._told(one) for one in found if _passes(one, filters or {})]

    def refusal(
        self, specification: Mapping[str, Any], name: str, zone: str, taken: int
    ) -> tuple[str, str] | None:
        """Return why one more instance cannot be launched into what a launch template names, if so.

        So many are `taken` by the same fleet already.
        """
        wanted = _target(specification)
        if not wanted:
            return None
        one = self._by_id.get(wanted)
        if one is None or one["State"] != "active":
            return (
                "InvalidCapacityReservationId.NotFound",
                f"The capacity reservation {wanted} does not exist",
            )
        if (one["InstanceType"], one["AvailabilityZone"]) != (name, zone):
            return "InvalidParameterValue", f"The attributes of {wanted} are not those of the instance"
        if self._left(one) <= taken:
            return "ReservationCapacityExceeded", f"The requested capacity exceeds that of {wanted}"
        return None

    def launched(self, specification: Mapping[str, Any], instance: Any) -> None:
        """Have an instance bear what its launch template says of reservations, and take a place in one."""
        if not specification:
            return
        instance.capacity_reservation_specification = dict(specification)
        wanted = _target(specification)
        if wanted:
            instance.capacity_reservation_id = wanted
            self._instances.setdefault(wanted, []).append(instance)

    def _left(self, one: Mapping[str, Any]) -> int:
        there = self._instances.get(one["CapacityReservationId"], ())
        used = sum(instance.state not in _ENDED for instance in there)
        return int(one["TotalInstanceCount"]) - used

    def _told(self, one: Mapping[str, Any]) -> dict[str, Any]:
        return {**one, "AvailableInstanceCount": self._left(one)}

    def _known(self, reservation_id: str) -> dict[str, Any]:
        if reservation_id not in self._by_id:
            message = f"The capacity reservation ID '{reservation_id}' does not exist"
            raise EC2ClientError("InvalidCapacityReservationId.NotFound", message)
        return self._by_id[reservation_id]


def _time(written: Any) -> datetime:
    return written if isinstance(written, datetime) else datetime.fromisoformat(str(written))


def _target(specification: Mapping[str, Any]) -> str:
    if specification.get("CapacityReservationPreference") != _ONLY:
        return ""
    return str(specification.get("CapacityReservationTarget", {}).get("CapacityReservationId", ""))


def _passes(one: Mapping[str, Any], filters: Mapping[str, list[str]]) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in one["Tags"]}
    for name, values in filters.items():
        if name.startswith("tag:"):
            good = tags.get(name.removeprefix("tag:")) in values
        elif name == "tag-key":
            good = any(value in tags for value in values)
        else:
            good = str(one[_FILTERS[name]]) in values
        if not good:
            return False
    return True
