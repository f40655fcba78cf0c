"""A request for instances as one call to CreateFleet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from treenail.adapters.ec2.launch.reserved import reserved_options, target_type
from treenail.adapters.ec2.launch.tags import launch_tags, machine_tags, specification
from treenail.adapters.ec2.launch.template import Build, Template
from treenail.adapters.ec2.resolved import Resolved, Subnet
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import EFA, FleetRequest, Override
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.reservations import Reservation
from treenail.domain.model.resources import PODS

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.type_defs import (
        CreateFleetRequestTypeDef,
        FleetLaunchTemplateConfigRequestTypeDef,
        FleetLaunchTemplateOverridesRequestTypeDef,
    )

_LONGEST_TOKEN: Final = 60
_ANY: Final = Build(max_pods=0)
_WAYS: Final = (labels.SPOT, labels.ON_DEMAND, labels.RESERVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An override that can be bought: where, and as what."""

    override: Override
    subnet_id: str
    image_id: str
    build: Build


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCall:
    """A call as it is made, and made again: the same token must come with the very same parameters.

    `templates` are those it needs, `zones` and `images` what answers are read with: zones by the id of
    the subnet, images by the name of the instance type, and `reservations` by instance type and zone.
    `addresses` are those an instance takes at least, by the id of the subnet; `spare` are the subnets that
    were not chosen, by zone.
    """

    digest: str
    parameters: CreateFleetRequestTypeDef
    templates: tuple[Template, ...]
    zones: Mapping[str, str]
    images: Mapping[str, str]
    addresses: Mapping[str, int]
    spare: Mapping[str, tuple[Subnet, ...]]
    reservations: Mapping[tuple[str, str], Reservation]


def check(request: FleetRequest) -> None:
    """Refuse what can never be met.

    Raises:
        InvalidError: it says why.
    """
    if not 0 < len(request.token) <= _LONGEST_TOKEN:
        raise InvalidError(f"a client token has 1 to {_LONGEST_TOKEN} characters, not {len(request.token)}")
    if request.count < 1:
        raise InvalidError(f"a fleet of {request.count} instances cannot be bought")
    if request.capacity_type not in _WAYS:
        raise InvalidError(f"fleets do not know {request.capacity_type!r} capacity")
    if not request.overrides:
        raise InvalidError("the fleet has no overrides to choose from")
    reserved = request.capacity_type == labels.RESERVED
    if any((one.reservation is not None) != reserved for one in request.overrides):
        raise InvalidError(f"overrides name their reservation where the capacity is {labels.RESERVED}")


def choices(
    request: FleetRequest,
    resolved: Resolved,
    types: Mapping[str, InstanceType],
    subnets: Mapping[str, Subnet],
) -> tuple[Choice, ...]:
    """Return what of a request's overrides can be bought by now, sorted; `subnets` are those to use, by zone.

    Raises:
        InvalidError: nothing: there is no such type, or no image of its architecture, or no subnet.
    """
    found = []
    for override in sorted({(o.instance_type, o.zone): o for o in request.overrides}.values()):
        instance_type, subnet = types.get(override.instance_type), subnets.get(override.zone)
        if instance_type is None or subnet is None or not resolved.launches(instance_type):
            continue
        image = resolved.image_for(instance_type)
        found.append(
            Choice(
                override=override,
                subnet_id=subnet.id,
                image_id="" if image is None else image.id,
                build=Build(
                    max_pods=instance_type.capacity.get(PODS, 0),
                    efa=instance_type.capacity.get(EFA, 0) if request.efa else 0,
                    reservation=override.reservation,
                ),
            )
        )
    if not found:
        raise InvalidError(f"{request.node_class.ref} can launch none of the types and zones asked for")
    return tuple(found)


def fleet_call(
    request: FleetRequest,
    chosen: tuple[Choice, ...],
    template_for: Callable[[Build], Template],
    prices: PriceOverrides = NO_OVERRIDES,
    *,
    subnets: tuple[Subnet, ...] = (),
) -> FleetCall:
    """Return the call. `template_for` gives the template for instances of one build.

    `subnets` are all that could have been chosen.

    EC2 itself goes by the public prices. Where the request is ranked, or by one's own `prices` another
    type may cost the least, the call says in which order they are wanted.

    Raises:
        InvalidError: it would have more tags than EC2 takes.
        NodeClassNotReadyError: as `template_for` does.
    """
    own = request.node_class.launch_template
    builds: dict[Build, list[Choice]] = {}
    for choice in chosen:
        # A template of the user's says itself what its instances are told.
        builds.setdefault(_ANY if own else choice.build, []).append(choice)
    templates = () if own else tuple(template_for(build) for build in sorted(builds))
    names = (own,) if own else tuple(template.name for template in templates)
    ranks = _ranks(request, chosen, prices)
    return FleetCall(
        digest=request.digest(),
        parameters=_parameters(
            request,
            [
                _config(name, members, ranks)
                for name, (_, members) in zip(names, sorted(builds.items()), strict=True)
            ],
            ranked=bool(ranks),
        ),
        templates=templates,
        zones={choice.subnet_id: choice.override.zone for choice in chosen},
        images={choice.override.instance_type: choice.image_id for choice in chosen},
        addresses=_least_addresses(chosen),
        spare=_spare(chosen, subnets),
        reservations={
            (one.instance_type, one.zone): one.reservation
            for one in (choice.override for choice in chosen)
            if one.reservation is not None
        },
    )


def _spare(chosen: tuple[Choice, ...], subnets: tuple[Subnet, ...]) -> Mapping[str, tuple[Subnet, ...]]:
    taken = {choice.subnet_id for choice in chosen}
    zones = sorted({choice.override.zone for choice in chosen})
    return {zone: tuple(one for one in subnets if one.zone == zone and one.id not in taken) for zone in zones}


def _least_addresses(chosen: tuple[Choice, ...]) -> Mapping[str, int]:
    """Return how many addresses an instance takes at least, by subnet: one for each pod it may run."""
    least: dict[str, int] = {}
    for choice in chosen:
        pods = choice.build.max_pods
        least[choice.subnet_id] = min(pods, least.get(choice.subnet_id, pods))
    return least


def _ranks(
    request: FleetRequest, chosen: tuple[Choice, ...], prices: PriceOverrides
) -> Mapping[Override, float]:
    """Return 0 for the cheapest, 1 for what costs more and so on; nothing where EC2 finds it by itself."""
    overrides = [choice.override for choice in chosen]
    names = (one.instance_type for one in overrides)
    if not request.ranked and not prices.reorder(names, request.capacity_type):
        return {}
    order = {price: float(rank) for rank, price in enumerate(sorted({one.price for one in overrides}))}
    return {one: order[one.price] for one in overrides}


def _config(
    template: str, chosen: list[Choice], ranks: Mapping[Override, float]
) -> FleetLaunchTemplateConfigRequestTypeDef:
    return {
        "LaunchTemplateSpecification": {"LaunchTemplateName": template, "Version": "$Latest"},
        "Overrides": [_override(choice, ranks) for choice in chosen],
    }


def _override(choice: Choice, ranks: Mapping[Override, float]) -> FleetLaunchTemplateOverridesRequestTypeDef:
    override: FleetLaunchTemplateOverridesRequestTypeDef = {
        "InstanceType": choice.override.instance_type,  # type: ignore[typeddict-item]
        "SubnetId": choice.subnet_id,
        # The subnet implies it too, but this way it is in errors.
        "AvailabilityZone": choice.override.zone,
    }
    if choice.image_id:
        override["ImageId"] = choice.image_id
    if choice.override in ranks:
        override["Priority"] = ranks[choice.override]
    return override


def _parameters(
    request: FleetRequest, configs: list[FleetLaunchTemplateConfigRequestTypeDef], *, ranked: bool
) -> CreateFleetRequestTypeDef:
    machines = machine_tags(request)
    parameters: CreateFleetRequestTypeDef = {
        "Type": "instant",
        "ClientToken": request.token,
        "LaunchTemplateConfigs": configs,
        "TargetCapacitySpecification": {
            "TotalTargetCapacity": request.count,
            "DefaultTargetCapacityType": target_type(request),
        },
        "TagSpecifications": [
            specification("fleet", launch_tags(request)),
            specification("instance", machines),
            specification("volume", machines),
        ],
    }
    # Prices are not in the call: they change, and a repeated call must be the same.
    if request.capacity_type == labels.SPOT:
        parameters["SpotOptions"] = {
            "AllocationStrategy": "capacity-optimized-prioritized" if ranked else "price-capacity-optimized"
        }
    elif target_type(request) == "on-demand":
        parameters["OnDemandOptions"] = {"AllocationStrategy": "prioritized" if ranked else "lowest-price"}
    elif target_type(request) == "reserved-capacity":
        parameters["ReservedCapacityOptions"] = reserved_options()
    if request.context:
        parameters["Context"] = request.context
    return parameters
