"""CreateFleet of type instant, which moto answers with its first override, whatever it is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses.fleets import Fleets
from moto.ec2.utils import convert_tag_spec, random_fleet_id

from tests.real.lab.allocation import Pool, in_order
from tests.real.lab.capacity_reservations import CapacityReservations
from tests.real.lab.fleet_launch import Order, launch
from tests.real.lab.fleet_pools import Refused, pool_of
from tests.real.lab.placement_groups import PlacementGroups
from tests.real.lab.tokens import Tokens
from tests.real.lab.world import World

_MOST_OVERRIDES: Final = 300
# What a fleet calls capacity that somebody else lends; no type says that it is sold so.
_LENT: Final = "reserved-capacity"
_MESSAGES: Final = {
    "InsufficientInstanceCapacity": "We currently do not have sufficient {type} capacity in the Availability "
    "Zone you requested ({zone}). Our system will be working on provisioning additional capacity.",
    "MaxSpotInstanceCountExceeded": "Max spot instance count exceeded",
    "VcpuLimitExceeded": "You have requested more vCPU capacity than your current vCPU limit allows for the "
    "instance bucket that the specified instance type belongs to.",
    "UnfulfillableCapacity": "Unable to fulfill capacity due to your request configuration.",
}


def install(
    world: World, tokens: Tokens, reservations: CapacityReservations, groups: PlacementGroups
) -> None:
    """Patch moto."""
    plain = Fleets.create_fleet

    def create_fleet(self: Any) -> Any:
        if self._get_param("Type", if_none="maintain") != "instant":
            return plain(self)
        self.error_on_dryrun()
        fleet = _InstantFleet(self, world, reservations, groups)
        return tokens.once(self, lambda: ActionResult(fleet.create()))

    Fleets.create_fleet = create_fleet


class _InstantFleet:
    """One request, as it is answered."""

    def __init__(
        self, request: Any, world: World, reservations: CapacityReservations, groups: PlacementGroups
    ) -> None:
        target = request._get_param("TargetCapacitySpecification", {})
        self._request = request
        self._world = world
        self._reservations = reservations
        self._placement_groups = groups
        self._backend = request.ec2_backend
        self._count = int(target["TotalTargetCapacity"])
        self._capacity_type = target.get("DefaultTargetCapacityType", "on-demand")
        options = "SpotOptions" if self._capacity_type == "spot" else "OnDemandOptions"
        asked = request._get_param(options) or {}
        self._strategy = asked.get("AllocationStrategy", "lowest-price")
        self._errors: list[dict[str, Any]] = []

    def create(self) -> dict[str, Any]:
        """Buy what is to be had.

        Raises:
            EC2ClientError: the request is refused as a whole.
        """
        fleet_id = random_fleet_id()
        pools = list(self._pools())
        taken = self._take(in_order(pools, self._capacity_type, self._strategy))
        order = Order(
            fleet_id=fleet_id,
            capacity_type=self._capacity_type,
            token=self._request._get_param("ClientToken"),
            tags=convert_tag_spec(self._request._get_param("TagSpecifications", [])),
        )
        answers = [self._bought(pool, count, order) for pool, count in taken]
        return {"FleetId": fleet_id, "Errors": self._errors, "Instances": [a for a in answers if a]}

    def _pools(self) -> Iterator[Pool]:
        overrides = [
            (template, said)
            for config in self._request._get_param("LaunchTemplateConfigs", [])
            for template in [self._template(config["LaunchTemplateSpecification"])]
            for said in config.get("Overrides") or [{}]
        ]
        if len(overrides) > _MOST_OVERRIDES:
            message = f"The number of overrides {len(overrides)} is over the limit of {_MOST_OVERRIDES}."
            raise EC2ClientError("InvalidParameterValue", message)
        for template, said in overrides:
            way = "on-demand" if self._capacity_type == _LENT else self._capacity_type
            found = pool_of(self._backend, self._world, way, template, said)
            if isinstance(found, Refused):
                self._refuse(template, said, found.code, found.message)
            else:
                yield found

    def _template(self, specification: Mapping[str, str]) -> Any:
        if specification.get("LaunchTemplateId"):
            found = self._backend.get_launch_template(specification["LaunchTemplateId"])
        else:
            found = self._backend.get_launch_template_by_name(specification["LaunchTemplateName"])
        return found.get_version(specification.get("Version", "$Default"))

    def _take(self, pools: list[Pool]) -> list[tuple[Pool, int]]:
        """Take instances from the pools, one by one, the best first."""
        addresses: dict[str, int] = {}
        taken: Counter[int] = Counter()
        for number, pool in enumerate(pools):
            while sum(taken.values()) < self._count:
                refusal = self._reservations.refusal(
                    _of_reservations(pool), pool.instance_type, pool.zone, taken[number]
                )
                if refusal is not None:
                    self._refuse(pool.template, pool.said, *refusal)
                    break
                code = self._take_one(pool, addresses)
                if code is not None:
                    text = _MESSAGES.get(code, "There is not enough capacity for your request.")
                    self._refuse(
                        pool.template, pool.said, code, text.format(type=pool.instance_type, zone=pool.zone)
                    )
                    break
                taken[number] += 1
        return [(pools[number], count) for number, count in sorted(taken.items())]

    def _take_one(self, pool: Pool, addresses: dict[str, int]) -> str | None:
        if pool.subnet_id is not None:
            subnet = self._backend.get_subnet(pool.subnet_id)
            left = addresses.setdefault(pool.subnet_id, subnet.available_ip_address_count)
            if left < 1:
                return "InsufficientFreeAddressesInSubnet"
        code = self._world.take(self._capacity_type, pool.instance_type, pool.zone)
        if code is None and pool.subnet_id is not None:
            addresses[pool.subnet_id] -= 1
        return code

    def _bought(self, pool: Pool, count: int, order: Order) -> dict[str, Any] | None:
        try:
            instances = launch(self._backend, pool, count, order)
        except EC2ClientError as error:
            self._refuse(pool.template, pool.said, error.code, error.message)
            return None
        for instance in instances:
            self._reservations.launched(_of_reservations(pool), instance)
            self._placement_groups.launched(pool.template.data.get("Placement") or {}, instance)
        return {
            "LaunchTemplateAndOverrides": _named(pool.template, {**pool.said, "AvailabilityZone": pool.zone}),
            "Lifecycle": self._capacity_type,
            "InstanceType": pool.instance_type,
            "InstanceIds": [instance.id for instance in instances],
        }

    def _refuse(self, template: Any, said: Mapping[str, Any], code: str, message: str) -> None:
        self._errors.append(
            {
                "LaunchTemplateAndOverrides": _named(template, said),
                "Lifecycle": self._capacity_type,
                "ErrorCode": code,
                "ErrorMessage": message,
            }
        )


def _of_reservations(pool: Pool) -> Mapping[str, Any]:
    return pool.template.data.get("CapacityReservationSpecification") or {}


def _named(template: Any, said: Mapping[str, Any]) -> dict[str, Any]:
    specification = {"LaunchTemplateId": template.template.id, "Version": str(template.number)}
    return {"LaunchTemplateSpecification": specification, "Overrides": dict(said)}
