"""What an override of a fleet means, and why EC2 would refuse it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

from tests.real.lab.allocation import Pool
from tests.real.lab.world import World


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing can be launched from an override."""

    code: str
    message: str


@cache
def _offered(region: str) -> frozenset[tuple[str, str]]:
    rows = INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, ())
    return frozenset((row["InstanceType"], row["Location"]) for row in rows)


def pool_of(
    backend: Any, world: World, capacity_type: str, template: Any, said: Mapping[str, Any]
) -> Pool | Refused:
    """Return the pool an override is about, or why EC2 refuses it."""
    name = said.get("InstanceType") or template.data.get("InstanceType") or ""
    try:
        subnet = backend.get_subnet(said["SubnetId"]) if said.get("SubnetId") else None
    except EC2ClientError as error:
        return Refused(error.code, error.message)
    zone = subnet.availability_zone if subnet else said.get("AvailabilityZone", "")
    image_id = said.get("ImageId") or template.data.get("ImageId") or ""
    on_demand = world.on_demand_price(name)
    price = world.spot_price(name, zone) if capacity_type == "spot" else on_demand
    refusal = (
        _not_sold(backend.region_name, name, zone)
        or _wrong_class(name, capacity_type)
        or _wrong_image(backend, name, image_id)
        or _too_dear(said.get("MaxPrice"), price)
    )
    return refusal or Pool(
        instance_type=name,
        zone=zone,
        price=inf if price is None else price,
        depth=world.depth(name, zone),
        priority=float(said.get("Priority", inf)),
        subnet_id=subnet.id if subnet else None,
        image_id=image_id,
        template=template,
        said=said,
    )


def _not_sold(region: str, name: str, zone: str) -> Refused | None:
    if (name, zone) in _offered(region):
        return None
    asked = f"Your requested instance type ({name})"
    return Refused("Unsupported", f"{asked} is not supported in your requested Availability Zone ({zone}).")


def _wrong_class(name: str, capacity_type: str) -> Refused | None:
    if capacity_type in INSTANCE_TYPES[name].get("SupportedUsageClasses", ()):
        return None
    return Refused("Unsupported", f"The instance type {name} is not sold as {capacity_type}.")


def _wrong_image(backend: Any, name: str, image_id: str) -> Refused | None:
    image = backend.amis.get(image_id)
    if image is None:
        return Refused("InvalidAMIID.NotFound", f"The image id '[{image_id}]' does not exist")
    able = INSTANCE_TYPES[name]["ProcessorInfo"]["SupportedArchitectures"]
    if image.architecture in able:
        return None
    message = (
        f"The architecture '{','.join(able)}' of the specified instance type does not match the "
        f"architecture '{image.architecture}' of the specified AMI."
    )
    return Refused("InvalidParameterValue", message)


def _too_dear(most: str | None, price: float | None) -> Refused | None:
    if most is None or price is None or float(most) >= price:
        return None
    message = (
        f"Your Spot request price of {most} is lower than the minimum required Spot request fulfillment "
        f"price of {price}."
    )
    return Refused("SpotMaxPriceTooLow", message)
