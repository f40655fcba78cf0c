"""The status of a node class: what each part of it resolves to in the cloud, and what it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treenail.domain.model.capacity_reservations import CapacityReservation
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import Condition
from treenail.domain.model.placement_groups import NO_GROUP, PlacementGroupRef
from treenail.domain.model.requirements import Requirement

# As Karpenter calls the conditions, in the order it looks into them.
IMAGES_READY: Final = "AMIsReady"
SUBNETS_READY: Final = "SubnetsReady"
SECURITY_GROUPS_READY: Final = "SecurityGroupsReady"
RESERVATIONS_READY: Final = "CapacityReservationsReady"
PLACEMENT_GROUP_READY: Final = "PlacementGroupReady"
INSTANCE_PROFILE_READY: Final = "InstanceProfileReady"
VALIDATED: Final = "ValidationSucceeded"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SubnetMeant:
    """A subnet that instances of a node class may run in."""

    id: str
    zone: str
    zone_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SecurityGroupMeant:
    """A security group that instances of a node class belong to."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageMeant:
    """An image, and what a node must be like to run it; the requirements are sorted by key."""

    id: str
    name: str = ""
    deprecated: bool = False
    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClassMeaning:
    """All that a node class's selectors find, and the instance profile its instances get.

    `subnets` are sorted by free addresses, the most first; `security_groups` by id; `images` by age, the
    newest first; `reservations` as they compare. What is not to be found, or cannot be looked up now, is
    empty, and so is what a class does not name. `generation` is that of the class this is about, 0 where it
    is not known.
    """

    generation: int = 0
    subnets: tuple[SubnetMeant, ...] = ()
    security_groups: tuple[SecurityGroupMeant, ...] = ()
    images: tuple[ImageMeant, ...] = ()
    reservations: tuple[CapacityReservation, ...] = ()
    placement_group: PlacementGroupRef = NO_GROUP
    instance_profile: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClassStatus:
    """The status of a node class in the cloud: what it means, and a condition for each part of that.

    A condition is False where the class says something that is not there, Unknown where nobody could tell.
    `VALIDATED` is among them, as False, where the controller may not launch from it.
    Without conditions node classes mean nothing to this cloud.
    """

    meaning: NodeClassMeaning = NodeClassMeaning()
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClassStatusSeen:
    """The status that EC2 told of a node class, as the class was then."""

    node_class: NodeClass
    status: NodeClassStatus
