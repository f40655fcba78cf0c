"""The status of a node class in a fake region."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeVar

from treenail.adapters.fake.ec2.region import Region
from treenail.adapters.fake.ec2.throttle import DELETE_INSTANCE_PROFILE
from treenail.domain.model import labels
from treenail.domain.model.fleets import InstanceState
from treenail.domain.model.node_class_status import (
    IMAGES_READY,
    INSTANCE_PROFILE_READY,
    PLACEMENT_GROUP_READY,
    RESERVATIONS_READY,
    SECURITY_GROUPS_READY,
    SUBNETS_READY,
    ImageMeant,
    NodeClassMeaning,
    NodeClassStatus,
    SecurityGroupMeant,
    SubnetMeant,
)
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import Condition
from treenail.domain.model.placement_groups import NO_GROUP
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.status.node_class_parts import look_up

T = TypeVar("T")

_ASKED: Final = {
    IMAGES_READY: "DescribeImages",
    RESERVATIONS_READY: "DescribeCapacityReservations",
    PLACEMENT_GROUP_READY: "DescribePlacementGroups",
    SUBNETS_READY: "DescribeSubnets",
    SECURITY_GROUPS_READY: "DescribeSecurityGroups",
    INSTANCE_PROFILE_READY: "GetInstanceProfile",
}


class NodeClassStatuses:
    """Looks node classes up, and takes away what was made for them.

    `admit` lets the call of an API through, or raises a PortError.
    """

    def __init__(self, region: Region, admit: Callable[[str], None], *, cluster: str) -> None:
        self._region = region
        self._admit = admit
        self._cluster = cluster

    def of(self, node_class: NodeClass) -> NodeClassStatus:
        """Return what a node class means, and how each part stands.

        A class that names a launch template of its user's has subnets alone: the template says the rest.
        """
        subnets, of_subnets = self._part(SUBNETS_READY, lambda: self._subnets(node_class))
        if node_class.launch_template:
            return NodeClassStatus(meaning=NodeClassMeaning(subnets=subnets or ()), conditions=(of_subnets,))
        images, of_images = self._part(IMAGES_READY, lambda: self._images(node_class))
        groups, of_groups = self._part(SECURITY_GROUPS_READY, lambda: self._groups(node_class))
        profile, of_profile = self._part(INSTANCE_PROFILE_READY, lambda: self._region.profiles.of(node_class))
        reservations, of_reservations = (
            self._part(RESERVATIONS_READY, lambda: self._region.reservations.counts(node_class))
            if node_class.reservation_terms
            else ((), None)
        )
        group, of_group = (
            self._part(PLACEMENT_GROUP_READY, lambda: self._region.placement_groups.of(node_class))
            if node_class.placement_group is not None
            else (None, None)
        )
        meaning = NodeClassMeaning(
            subnets=subnets or (),
            security_groups=groups or (),
            images=images or (),
            reservations=tuple(count.of for count in reservations or ()),
            placement_group=group or NO_GROUP,
            instance_profile=profile or "",
        )
        parts = (of_images, of_reservations, of_group, of_subnets, of_groups, of_profile)
        return NodeClassStatus(meaning=meaning, conditions=tuple(one for one in parts if one is not None))

    def release(self, node_class: NodeClass) -> None:
        """Delete the profiles made for a node class."""
        self._admit(DELETE_INSTANCE_PROFILE)
        self._region.profiles.release(node_class)

    def collect(self, node_classes: Collection[NodeClass]) -> tuple[str, ...]:
        """Delete the profiles that nobody needs, and return their names."""
        self._admit(DELETE_INSTANCE_PROFILE)
        return self._region.profiles.collect(node_classes, self._borne())

    def _borne(self) -> frozenset[str]:
        """Return the profiles that instances of the cluster bear."""
        return frozenset(
            self._region.profiles.name_of(machine.request.node_class)
            for machine in self._region.machines.all()
            if machine.cluster == self._cluster and machine.instance.state is not InstanceState.TERMINATED
        )

    def _part(self, part: str, find: Callable[[], T]) -> tuple[T | None, Condition]:
        def ask() -> T:
            self._admit(_ASKED[part])
            return find()

        return look_up(part, ask)

    def _subnets(self, node_class: NodeClass) -> tuple[SubnetMeant, ...]:
        vpc = self._region.vpc
        found = sorted(vpc.subnets_of(node_class), key=lambda one: (-vpc.free(one), one.id))
        return tuple(SubnetMeant(id=one.id, zone=one.zone) for one in found)

    def _groups(self, node_class: NodeClass) -> tuple[SecurityGroupMeant, ...]:
        found = self._region.vpc.groups_of(node_class)
        return tuple(sorted(SecurityGroupMeant(id=one.id, name=one.name) for one in found))

    def _images(self, node_class: NodeClass) -> tuple[ImageMeant, ...]:
        return tuple(
            ImageMeant(
                id=image.id,
                name=image.name,
                requirements=(Requirement.of(labels.ARCH, Operator.IN, (image.arch,)),),
            )
            for _, image in sorted(self._region.images.of(node_class).items())
        )
