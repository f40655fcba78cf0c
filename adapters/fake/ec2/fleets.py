"""Instant fleets: instances bought by one call, once per client token."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from treenail.adapters.api.account import Subnet
from treenail.adapters.fake.ec2.allocation import Option, allocate, candidates
from treenail.adapters.fake.ec2.capacity import Pool
from treenail.adapters.fake.ec2.region import Region
from treenail.adapters.fake.ec2.shop import Assortment
from treenail.adapters.fake.ec2.spells import Spell
from treenail.adapters.fake.luck import chance, draw, fork, uuid
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import (
    SUBNET_FULL,
    FleetAnswer,
    FleetError,
    FleetRequest,
    Instance,
    InstanceState,
    Override,
    with_adapters,
)
from treenail.domain.model.instance_types import InstanceType, Offering

_FLEET_TAG: Final = "aws:ec2:fleet-id"
_LONGEST_TOKEN: Final = 64
# EC2's quota of instances per fleet.
_MOST_INSTANCES: Final = 10_000


class Fleets:
    """Answers CreateFleet calls."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._dice = fork(region.dice)
        self._answers: dict[str, tuple[str, FleetAnswer]] = {}

    def create(self, request: FleetRequest) -> FleetAnswer:
        """Buy what a request asks for, or as much of it as there is; asked again, answer as before.

        Raises:
            InvalidError: the request is refused as a whole, or its token was used for another one.
            NodeClassNotReadyError: the node class cannot be launched from.
        """
        self._check(request)
        digest = request.digest()
        known = self._answers.get(request.token)
        if known is not None:
            if known[0] != digest:
                raise InvalidError(
                    f"IdempotentParameterMismatch: the token {request.token} was used for another request"
                )
            return known[1]
        assortment = self._region.assortment(request.node_class, request.kubelet)
        answer = self._buy(request, assortment)
        self._answers[request.token] = (digest, answer)
        return answer

    def _check(self, request: FleetRequest) -> None:
        if not 0 < len(request.token) <= _LONGEST_TOKEN:
            raise InvalidError(f"InvalidParameterValue: a client token has 1 to {_LONGEST_TOKEN} characters")
        if not 0 < request.count <= _MOST_INSTANCES:
            raise InvalidError(
                f"InvalidTargetCapacitySpecification: {request.count} is not from 1 to {_MOST_INSTANCES}"
            )
        if request.capacity_type not in (labels.SPOT, labels.ON_DEMAND, labels.RESERVED):
            raise InvalidError(
                f"InvalidTargetCapacitySpecification: fleets do not know {request.capacity_type!r} capacity"
            )
        if not request.overrides:
            raise InvalidError("MissingParameter: the fleet has no overrides to choose from")
        if bool(request.reservations) != (request.capacity_type == labels.RESERVED):
            raise InvalidError("InvalidFleetConfig: reserved capacity, and no other, names its reservation")
        offered = [(o.instance_type, o.zone) for o in request.overrides]
        if len(dict.fromkeys(offered)) < len(offered):
            raise InvalidError(
                "InvalidFleetConfig: the fleet configuration contains duplicate instance pools"
            )
        unknown = sorted({name for name, _ in offered if not self._region.shop.knows(name)})
        if unknown:
            raise InvalidError(
                f"InvalidInstanceType: these instance types do not exist: {', '.join(unknown)}"
            )

    def _buy(self, request: FleetRequest, assortment: Assortment) -> FleetAnswer:
        options: list[Option] = []
        errors: list[FleetError] = []
        for override in sorted(request.overrides):
            option = self._no_profile(override) or self._option(override, request, assortment)
            if isinstance(option, FleetError):
                errors.append(option)
            else:
                options.append(option)
        self._run_short(options, request.capacity_type)
        fleet_id = f"fleet-{uuid(self._dice)}"
        bought: list[Instance] = []
        # As whoever calls chooses one for each zone.
        subnets = {
            zone: subnet
            for zone in sorted({option.zone for option in options})
            if (subnet := self._region.vpc.roomiest(assortment.subnets, zone)) is not None
        }

        def take(option: Option) -> None:
            bought.append(self._start(option, request, assortment, subnets[option.zone], fleet_id))

        errors += allocate(
            options,
            request.count,
            request.capacity_type,
            dice=self._dice,
            refusal=partial(self._refusal, request, assortment, subnets),
            take=take,
        )
        return FleetAnswer(
            instances=tuple(bought), errors=tuple(errors), fleet_id=fleet_id, request_id=uuid(self._dice)
        )

    def _no_profile(self, override: Override) -> FleetError | None:
        """Return why nothing is launched while the instance profile is not to be seen."""
        if not self._region.spells.on(Spell.PROFILE_HIDDEN):
            return None
        why = "Value for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"
        return FleetError("InvalidParameterValue", why, override.instance_type, override.zone)

    def _option(
        self, override: Override, request: FleetRequest, assortment: Assortment
    ) -> Option | FleetError:
        """Return an override as an option, or why EC2 does not take it for one."""
        name, zone = override.instance_type, override.zone
        if self._region.vpc.roomiest(assortment.subnets, zone) is None:
            raise InvalidError(f"InvalidSubnetID.NotFound: {request.node_class.ref} has no subnet in {zone}")
        instance_type = assortment.types.get(name)
        offering = None
        if instance_type is not None:
            if assortment.image_for(instance_type) is None:
                why = f"The architecture of {name} does not match the architecture of the specified AMI."
                return FleetError("InvalidFleetConfiguration", why, name, zone)
            offering = _offering(instance_type, override, request.capacity_type)
        if offering is None and override.reservation is not None:
            why = f"The capacity reservation {override.reservation.id} does not exist."
            return FleetError("InvalidCapacityReservationId.NotFound", why, name, zone)
        if offering is None:
            why = (
                f"Your requested instance type ({name}) is not supported "
                f"in your requested Availability Zone ({zone})."
            )
            return FleetError("InvalidFleetConfiguration", why, name, zone)
        price = override.price if request.ranked else offering.price
        return Option(price, name, zone, self._region.market.depth(name, zone))

    def _run_short(self, options: list[Option], capacity_type: str) -> None:
        """By bad luck, have a pool run out that would have been taken from."""
        if options and chance(self._dice, self._region.faults().shortage):
            unlucky = self._dice.choice(candidates(sorted(options), capacity_type))
            seconds = draw(self._dice, self._region.faults().shortage_seconds)
            pool = Pool(capacity_type, unlucky.instance_type, unlucky.zone)
            self._region.pools.run_out(pool, self._region.agenda.monotonic() + seconds)

    def _refusal(
        self, request: FleetRequest, assortment: Assortment, subnets: Mapping[str, Subnet], option: Option
    ) -> FleetError | None:
        name, zone, capacity_type = option.instance_type, option.zone, request.capacity_type
        for reservation in request.reservations:
            if self._region.reservations.left(reservation.id) < 1:
                why = f"The requested capacity exceeds the available count of {reservation.id}."
                return FleetError("ReservationCapacityExceeded", why, name, zone)
        if (full := self._full_group(request, zone)) is not None:
            return FleetError("InsufficientInstanceCapacity", full, name, zone)
        if not self._region.pools.has_room(Pool(capacity_type, name, zone)):
            if capacity_type == labels.SPOT:
                why = "There is no Spot capacity available that matches your request."
            else:
                why = (
                    f"We currently do not have sufficient {name} capacity "
                    f"in the Availability Zone you requested ({zone})."
                )
            return FleetError("InsufficientInstanceCapacity", why, name, zone)
        subnet, vpc = subnets[zone], self._region.vpc
        if vpc.free(subnet) == 0:
            why = f"There are not enough free addresses in subnet '{subnet.id}'."
            elsewhere = any(one.zone == zone and vpc.free(one) for one in assortment.subnets)
            return FleetError(SUBNET_FULL, why, name, zone, elsewhere)
        return None

    def _full_group(self, request: FleetRequest, zone: str) -> str | None:
        """Return why the placement group of a request holds no more in a zone; None where it does."""
        groups = self._region.placement_groups
        group = groups.of(request.node_class)
        most = groups.most_in_a_zone(group)
        instances = (machine.instance for machine in self._region.machines.all())
        if most is None:
            return None
        there = sum(one.live and one.zone == zone and one.placement_group.same(group) for one in instances)
        return (
            None if there < most else "You've reached the limit of instances in this spread placement group."
        )

    def _start(
        self, option: Option, request: FleetRequest, assortment: Assortment, subnet: Subnet, fleet_id: str
    ) -> Instance:
        instance_type = assortment.types[option.instance_type]
        image = assortment.image_for(instance_type)
        override = next(
            o for o in request.overrides if (o.instance_type, o.zone) == (option.instance_type, option.zone)
        )
        offering = _offering(instance_type, override, request.capacity_type)
        assert image is not None and offering is not None  # noqa: S101, PT018
        instance = Instance(
            id=f"i-{self._dice.getrandbits(68):017x}",
            instance_type=option.instance_type,
            zone=option.zone,
            capacity_type=request.capacity_type,
            state=InstanceState.PENDING,
            launched_at=self._region.agenda.now(),
            image_id=image.id,
            price=offering.price,
            tags={**request.tags, _FLEET_TAG: fleet_id},
            capacity=with_adapters(instance_type.capacity, efa=request.has_efa),
            allocatable=with_adapters(instance_type.allocatable, efa=request.has_efa),
            labels={
                **instance_type.requirements.labels(),
                **offering.labels,
                labels.INSTANCE_TENANCY: request.tenancy,
                **({labels.PARTITION: str(request.partition)} if request.partition else {}),
            },
            subnet_id=subnet.id,
            security_groups=self._region.vpc.group_ids_of(request.node_class),
            placement_group=self._region.placement_groups.of(request.node_class),
            reservation="" if override.reservation is None else override.reservation.id,
            instance_profile=self._region.profiles.name_of(request.node_class),
        )
        estimate = instance.allocatable.plus(instance_type.overhead.missing)
        self._region.machines.start(instance, request, subnet, estimate)
        return instance


def _offering(instance_type: InstanceType, override: Override, capacity_type: str) -> Offering | None:
    wanted = (override.zone, capacity_type, override.reservation)
    return next(
        (
            o
            for o in instance_type.offerings
            if o.available and (o.zone, o.capacity_type, o.reservation) == wanted
        ),
        None,
    )
