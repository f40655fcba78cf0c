"""Instances as EC2 describes them, with what a node of each is expected to have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from cachetools import LRUCache

from treenail.adapters.ec2.launch.fleet_call import FleetCall
from treenail.adapters.ec2.launch.reserved import reservation_of
from treenail.adapters.ec2.launch.tags import NODE_CLASS_TAG, read
from treenail.domain.model import labels
from treenail.domain.model.fleets import (
    LAUNCH_TAG,
    FleetError,
    FleetRequest,
    Instance,
    InstanceState,
    with_adapters,
)
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.placement_groups import PlacementGroupRef
from treenail.domain.model.resources import NOTHING

if TYPE_CHECKING:  # the types of answers are not there at run time
    from types_boto3_ec2.type_defs import (
        CreateFleetErrorTypeDef,
        CreateFleetInstanceTypeDef,
        CreateFleetResultTypeDef,
        FleetLaunchTemplateOverridesTypeDef,
        InstanceTypeDef,
    )

Types = Mapping[str, InstanceType]

# Interfaces that are fabric adapters; others carry none of their traffic.
_FABRIC: Final = frozenset({"efa", "efa-only"})
_MOST_CLASSES: Final = 512
_MOST_LAUNCHES: Final = 8192
_MOST_INDEXES: Final = 32


class _Where(NamedTuple):
    """The zone, capacity type and reservation that an instance was bought in."""

    zone: str
    capacity_type: str
    reservation: str

    @classmethod
    def of(cls, offering: Offering) -> _Where:
        reservation = offering.reservation
        return cls(offering.zone, offering.capacity_type, "" if reservation is None else reservation.id)


class Descriptions:
    """Describes instances by the catalogue they were bought from. Threads may share it.

    For those bought before this process began, that is the last catalogue of a node class of the name
    their tags tell. Where there is none yet, nothing is told of what they have.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_class: LRUCache[str, Types] = LRUCache(_MOST_CLASSES)
        self._by_launch: LRUCache[str, Types] = LRUCache(_MOST_LAUNCHES)
        self._indexes: LRUCache[int, tuple[tuple[InstanceType, ...], Types]] = LRUCache(_MOST_INDEXES)

    def note_catalogue(self, node_class: NodeClassRef, types: tuple[InstanceType, ...]) -> Types:
        """Remember what a node class can launch, and return it by name."""
        with self._lock:
            by_name = self._index(types)
            self._by_class[node_class.name] = by_name
            return by_name

    def note_launch(self, token: str, node_class: NodeClassRef, types: tuple[InstanceType, ...]) -> Types:
        """Remember what the instances of a call are bought from, and return it by name."""
        by_name = self.note_catalogue(node_class, types)
        with self._lock:
            self._by_launch[token] = by_name
        return by_name

    def _index(self, types: tuple[InstanceType, ...]) -> Types:
        """Return types by name: for the very same tuple, of which there are few, the same mapping."""
        known = self._indexes.get(id(types))
        if known is None or known[0] is not types:
            known = self._indexes[id(types)] = (types, {one.name: one for one in types})
        return known[1]

    def described(self, found: InstanceTypeDef) -> Instance:
        """Return an instance as DescribeInstances tells of it."""
        tags = read(found.get("Tags", []))
        reservation = reservation_of(found)
        spot = found.get("InstanceLifecycle") == labels.SPOT
        instance = self._instance(
            instance_id=found["InstanceId"],
            instance_type=found["InstanceType"],
            where=_Where(
                found["Placement"].get("AvailabilityZone", ""),
                labels.RESERVED if reservation else labels.SPOT if spot else labels.ON_DEMAND,
                reservation,
            ),
            state=InstanceState(found["State"]["Name"]),
            launched_at=found["LaunchTime"],
            image_id=found.get("ImageId", ""),
            tags=tags,
            efa=any(one.get("InterfaceType", "") in _FABRIC for one in found.get("NetworkInterfaces", ())),
        )
        groups = (group.get("GroupId", "") for group in found.get("SecurityGroups", ()))
        placed = replace(
            instance,
            # By this name the kubelet of an EKS image registers its node.
            node_name=found.get("PrivateDnsName", ""),
            subnet_id=found.get("SubnetId", ""),
            security_groups=tuple(sorted(groups)),
            placement_group=PlacementGroupRef(
                id=found["Placement"].get("GroupId", ""), name=found["Placement"].get("GroupName", "")
            ),
            # EC2 tells the profile's ARN, which ends with its path and name.
            instance_profile=found.get("IamInstanceProfile", {}).get("Arn", "").rpartition("/")[2],
        )
        placement = found["Placement"]
        placed = _in_partition(placed, placement.get("PartitionNumber", 0))
        return _on_hardware(placed, placement.get("Tenancy", "default"))

    def bought(
        self, call: FleetCall, request: FleetRequest, answer: CreateFleetResultTypeDef, now: datetime
    ) -> tuple[Instance, ...]:
        """Return the instances of an answer to CreateFleet, sorted by id. They are new: pending."""
        tags = {
            tag["Key"]: tag["Value"]
            for made in call.parameters.get("TagSpecifications", ())
            if made.get("ResourceType") == "instance"
            for tag in made.get("Tags", ())
        }
        instances = (
            self._instance(
                instance_id=instance_id,
                instance_type=group.get("InstanceType", ""),
                where=_where_of(group, call, request),
                state=InstanceState.PENDING,
                launched_at=now,
                image_id=call.images.get(group.get("InstanceType", ""), ""),
                tags=tags,
                efa=request.has_efa,
            )
            for group in answer.get("Instances", ())
            for instance_id in group.get("InstanceIds", ())
        )
        profile = _profile_of(call)
        known = (
            replace(
                _on_hardware(_in_partition(instance, request.partition), request.tenancy),
                instance_profile=profile,
            )
            for instance in instances
        )
        return tuple(sorted(known, key=lambda instance: instance.id))

    def _instance(
        self,
        *,
        instance_id: str,
        instance_type: str,
        where: _Where,
        state: InstanceState,
        launched_at: datetime,
        image_id: str,
        tags: Mapping[str, str],
        efa: bool,
    ) -> Instance:
        bought = self._types_for(tags).get(instance_type)
        offering = None if bought is None else _offering(bought, where)
        return Instance(
            id=instance_id,
            instance_type=instance_type,
            zone=where.zone,
            capacity_type=where.capacity_type,
            state=state,
            launched_at=launched_at,
            image_id=image_id,
            price=offering.price if offering is not None and offering.available else 0.0,
            tags=tags,
            capacity=NOTHING if bought is None else with_adapters(bought.capacity, efa=efa),
            allocatable=NOTHING if bought is None else with_adapters(bought.allocatable, efa=efa),
            labels={} if bought is None else _labels(bought, where, offering),
            reservation=where.reservation,
        )

    def _types_for(self, tags: Mapping[str, str]) -> Types:
        with self._lock:
            bought_from = self._by_launch.get(tags.get(LAUNCH_TAG, ""))
            if bought_from is not None:
                return bought_from
            return self._by_class.get(tags.get(NODE_CLASS_TAG, ""), {})


def _profile_of(call: FleetCall) -> str:
    """Return the name of the instance profile of a call's templates, which have the same."""
    named = (template.data.get("IamInstanceProfile", {}).get("Name", "") for template in call.templates)
    return next(named, "")


def errors_of(answer: CreateFleetResultTypeDef, call: FleetCall) -> tuple[FleetError, ...]:
    """Return what an answer to CreateFleet complains of, sorted, each complaint once."""
    return tuple(
        sorted(
            {
                FleetError(
                    code=error.get("ErrorCode", ""),
                    message=error.get("ErrorMessage", ""),
                    instance_type=_override_of(error).get("InstanceType", ""),
                    zone=zone_of(error, call),
                )
                for error in answer.get("Errors", ())
            }
        )
    )


def zone_of(part: CreateFleetInstanceTypeDef | CreateFleetErrorTypeDef, call: FleetCall) -> str:
    """Return the zone that a part of an answer to CreateFleet is about."""
    override = _override_of(part)
    return override.get("AvailabilityZone", "") or call.zones.get(override.get("SubnetId", ""), "")


def _override_of(
    part: CreateFleetInstanceTypeDef | CreateFleetErrorTypeDef,
) -> FleetLaunchTemplateOverridesTypeDef:
    return part.get("LaunchTemplateAndOverrides", {}).get("Overrides", {})


def _where_of(group: CreateFleetInstanceTypeDef, call: FleetCall, request: FleetRequest) -> _Where:
    zone = zone_of(group, call)
    reservation = call.reservations.get((group.get("InstanceType", ""), zone))
    return _Where(zone, request.capacity_type, "" if reservation is None else reservation.id)


def _offering(bought: InstanceType, where: _Where) -> Offering | None:
    return next((o for o in bought.offerings if _Where.of(o) == where), None)


def _in_partition(instance: Instance, partition: int) -> Instance:
    """Return the instance with a label of its partition, where its labels are known and it is in one."""
    if not (partition and instance.labels):
        return instance
    return replace(instance, labels={**instance.labels, labels.PARTITION: str(partition)})


def _on_hardware(instance: Instance, tenancy: str) -> Instance:
    """Return the instance with a label for whose hardware it runs on, where its labels are known at all."""
    if not instance.labels:
        return instance
    return replace(instance, labels={**instance.labels, labels.INSTANCE_TENANCY: tenancy})


def _labels(bought: InstanceType, where: _Where, offering: Offering | None) -> dict[str, str]:
    """Return what is certain of a node of this type."""
    known = {labels.ZONE: where.zone, labels.CAPACITY_TYPE: where.capacity_type}
    if where.reservation:
        known[labels.RESERVATION_ID] = where.reservation
    return {**bought.requirements.labels(), **(known if offering is None else offering.labels)}
