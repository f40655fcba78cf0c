"""The status of a node class in the account, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treenail.adapters.ec2.discovery.capacity_reservations import CapacityReservations
from treenail.adapters.ec2.discovery.images import Images
from treenail.adapters.ec2.discovery.placement_groups import PlacementGroups
from treenail.adapters.ec2.discovery.subnets_and_security_groups import SecurityGroups, Subnets
from treenail.adapters.ec2.labels import ACCELERATOR, GPU
from treenail.adapters.ec2.resolved import Image, Variant
from treenail.domain.model import labels
from treenail.domain.model.node_class_status import (
    ImageMeant,
    NodeClassStatus,
    SecurityGroupMeant,
    SubnetMeant,
)
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.placement_groups import PlacementGroupRef
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.status.node_class_parts import status_of

_GPUS: Final = GPU + "count"
_ACCELERATORS: Final = ACCELERATOR + "count"
_NEEDS: Final = {
    Variant.ANY: (),
    Variant.STANDARD: (
        Requirement.of(_ACCELERATORS, Operator.DOES_NOT_EXIST),
        Requirement.of(_GPUS, Operator.DOES_NOT_EXIST),
    ),
    Variant.NVIDIA: (Requirement.of(_GPUS, Operator.EXISTS),),
    Variant.NEURON: (Requirement.of(_ACCELERATORS, Operator.EXISTS),),
}


def node_class_status_of(
    node_class: NodeClass,
    *,
    subnets: Subnets,
    groups: SecurityGroups,
    images: Images,
    reservations: CapacityReservations,
    placement_groups: PlacementGroups,
) -> NodeClassStatus:
    """Return what the selectors of a node class find, and a condition for each it has."""

    def group() -> PlacementGroupRef | None:
        found = placement_groups.of(node_class)
        return None if found is None else found.ref

    return status_of(
        node_class,
        subnets=lambda: tuple(
            SubnetMeant(id=one.id, zone=one.zone, zone_id=one.zone_id) for one in subnets.of(node_class)
        ),
        images=lambda: tuple(image_meant(one) for one in images.of(node_class)),
        security_groups=lambda: tuple(
            SecurityGroupMeant(id=one.id, name=one.name) for one in groups.of(node_class)
        ),
        reservations=lambda: tuple(count.of for count in reservations.of(node_class)),
        placement_group=group,
    )


def image_meant(image: Image) -> ImageMeant:
    """Return an image with what a node must be like to run it."""
    return ImageMeant(
        id=image.id,
        name=image.name,
        deprecated=image.deprecated,
        requirements=tuple(sorted(_requirements(image), key=lambda one: one.key)),
    )


def _requirements(image: Image) -> Iterator[Requirement]:
    yield Requirement.of(labels.ARCH, Operator.IN, (image.arch,))
    yield from _NEEDS[image.variant]
    yield from (Requirement.of(key, Operator.IN, (value,)) for key, value in image.labels)
