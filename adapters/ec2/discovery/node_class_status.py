"""The status of a node class in the account, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treenail.adapters.ec2.discovery.capacity_reservations import CapacityReservations
from treenail.adapters.ec2.discovery.images import Images
from treenail.adapters.ec2.discovery.network import SecurityGroups, Subnets
from treenail.adapters.ec2.discovery.placement_groups import PlacementGroups
from treenail.adapters.ec2.labels import ACCELERATOR, GPU
from treenail.adapters.ec2.resolved import Image, Variant
from treenail.domain.model import labels
from treenail.domain.model.node_class_status import (
    IMAGES_READY,
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
from treenail.domain.model.placement_groups import NO_GROUP
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.status.node_class_parts import look_up

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
    """Return what the selectors of a node class find, and a condition for each it has.

    A class that names a launch template of its user's has subnets alone: the template says the rest.
    """
    of_subnets, subnets_stand = look_up(SUBNETS_READY, lambda: subnets.of(node_class))
    subnets_meant = tuple(
        SubnetMeant(id=one.id, zone=one.zone, zone_id=one.zone_id) for one in of_subnets or ()
    )
    if node_class.launch_template:
        return NodeClassStatus(meaning=NodeClassMeaning(subnets=subnets_meant), conditions=(subnets_stand,))
    of_images, images_stand = look_up(IMAGES_READY, lambda: images.of(node_class))
    of_groups, groups_stand = look_up(SECURITY_GROUPS_READY, lambda: groups.of(node_class))
    of_reservations, reservations_stand = look_up(RESERVATIONS_READY, lambda: reservations.of(node_class))
    group, group_stands = look_up(PLACEMENT_GROUP_READY, lambda: placement_groups.of(node_class))
    meaning = NodeClassMeaning(
        subnets=subnets_meant,
        security_groups=tuple(SecurityGroupMeant(id=one.id, name=one.name) for one in of_groups or ()),
        images=tuple(image_meant(one) for one in of_images or ()),
        reservations=tuple(count.of for count in of_reservations or ()),
        placement_group=NO_GROUP if group is None else group.ref,
    )
    conditions = (
        images_stand,
        *((reservations_stand,) if node_class.reservation_terms else ()),
        *((group_stands,) if node_class.placement_group is not None else ()),
        subnets_stand,
        groups_stand,
    )
    return NodeClassStatus(meaning=meaning, conditions=conditions)


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
