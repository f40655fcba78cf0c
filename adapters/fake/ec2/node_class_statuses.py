"""The status of a node class in a fake region."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from treenail.adapters.fake.ec2.region import Region
from treenail.adapters.fake.ec2.throttle import DELETE_INSTANCE_PROFILE
from treenail.domain.model import labels
from treenail.domain.model.fleets import InstanceState
from treenail.domain.model.node_class_status import (
    ImageMeant,
    NodeClassStatus,
    SecurityGroupMeant,
    SubnetMeant,
)
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.status.node_class_parts import status_of

T = TypeVar("T")


class NodeClassStatuses:
    """Looks node classes up, and takes away what was made for them.

    `admit` lets the call of an API through, or raises a PortError.
    """

    def __init__(self, region: Region, admit: Callable[[str], None], *, cluster: str) -> None:
        self._region = region
        self._admit = admit
        self._cluster = cluster

    def of(self, node_class: NodeClass) -> NodeClassStatus:
        """Return what a node class selects, with a condition for each part."""
        region = self._region
        return status_of(
            node_class,
            subnets=self._after("DescribeSubnets", lambda: self._subnets(node_class)),
            images=self._after("DescribeImages", lambda: self._images(node_class)),
            security_groups=self._after("DescribeSecurityGroups", lambda: self._groups(node_class)),
            reservations=self._after(
                "DescribeCapacityReservations",
                lambda: tuple(count.of for count in region.reservations.counts(node_class)),
            ),
            placement_group=self._after(
                "DescribePlacementGroups", lambda: region.placement_groups.of(node_class)
            ),
            instance_profile=self._after("GetInstanceProfile", lambda: region.profiles.of(node_class)),
        )

    def release(self, node_class: NodeClass) -> None:
        """Delete the profiles made for a node class."""
        self._admit(DELETE_INSTANCE_PROFILE)
        self._region.profiles.release(node_class)

    def collect(self, node_classes: Collection[NodeClass]) -> tuple[str, ...]:
        """Delete the profiles that are not needed, and return their names."""
        self._admit(DELETE_INSTANCE_PROFILE)
        return self._region.profiles.collect(node_classes, self._borne())

    def _borne(self) -> frozenset[str]:
        """Return the profiles of instances of the cluster."""
        return frozenset(
            self._region.profiles.name_of(machine.request.node_class)
            for machine in self._region.machines.all()
            if machine.cluster == self._cluster and machine.instance.state is not InstanceState.TERMINATED
        )

    def _after(self, api: str, find: Callable[[], T]) -> Callable[[], T]:
        """Return what asks an API before it finds something."""

        def ask() -> T:
            self._admit(api)
            return find()

        return ask

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
