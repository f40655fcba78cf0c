"""Status of a node class: its parts, looked up one after the other in the cloud, and their conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from treenail.domain.model.capacity_reservations import CapacityReservation
from treenail.domain.model.errors import NodeClassNotReadyError, PortError
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
from treenail.domain.model.node_classes import NodeClass, SelectorTerm
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.model.placement_groups import NO_GROUP, PlacementGroupRef

T = TypeVar("T")

_REASONS: Final = {
    SUBNETS_READY: "SubnetsNotFound",
    SECURITY_GROUPS_READY: "SecurityGroupsNotFound",
    IMAGES_READY: "AMINotFound",
    RESERVATIONS_READY: "CapacityReservationsNotFound",
    PLACEMENT_GROUP_READY: "PlacementGroupNotFound",
    INSTANCE_PROFILE_READY: "InstanceProfileNotReady",
}
_UNANSWERED: Final = "LookupFailed"


def look_up(part: str, find: Callable[[], T]) -> tuple[T | None, Condition]:
    """Return what `find` gives and a condition of type `part`; None, and why, where it gives nothing.

    A part that is not there is False by the reason that the error bears; one that cannot be looked up now
    is Unknown.
    """
    try:
        return find(), Condition(part, Status.TRUE, part)
    except NodeClassNotReadyError as error:
        return None, Condition(part, Status.FALSE, error.reason or _REASONS[part], str(error))
    except PortError as error:
        return None, Condition(part, Status.UNKNOWN, _UNANSWERED, str(error))


def status_of(
    node_class: NodeClass,
    *,
    subnets: Callable[[], tuple[SubnetMeant, ...]],
    images: Callable[[], tuple[ImageMeant, ...]],
    security_groups: Callable[[], tuple[SecurityGroupMeant, ...]],
    reservations: Callable[[], tuple[CapacityReservation, ...]],
    placement_group: Callable[[], PlacementGroupRef | None],
    instance_profile: Callable[[], str] | None = None,
) -> NodeClassStatus:
    """Return what a node class means, by what finds each of its parts, and a condition for each it has.

    A class that names a launch template of its user's has subnets alone: the template says the rest.
    """
    of_subnets, subnets_stand = look_up(SUBNETS_READY, subnets)
    if node_class.launch_template:
        meaning = NodeClassMeaning(subnets=of_subnets or ())
        return NodeClassStatus(meaning=meaning, conditions=(subnets_stand,))
    of_images, images_stand = look_up(IMAGES_READY, images)
    of_groups, groups_stand = look_up(SECURITY_GROUPS_READY, security_groups)
    profile, profile_stands = _if_any(INSTANCE_PROFILE_READY, instance_profile)
    wanted = reservations if node_class.reservation_terms else None
    of_reservations, reservations_stand = _if_any(RESERVATIONS_READY, wanted)
    placed = placement_group if node_class.placement_group is not None else None
    group, group_stands = _if_any(PLACEMENT_GROUP_READY, placed)
    meaning = NodeClassMeaning(
        subnets=of_subnets or (),
        security_groups=of_groups or (),
        images=of_images or (),
        reservations=of_reservations or (),
        placement_group=group or NO_GROUP,
        instance_profile=profile or "",
    )
    stand = (images_stand, reservations_stand, group_stands, subnets_stand, groups_stand, profile_stands)
    return NodeClassStatus(meaning=meaning, conditions=tuple(one for one in stand if one is not None))


def _if_any(part: str, find: Callable[[], T] | None) -> tuple[T | None, Condition | None]:
    return (None, None) if find is None else look_up(part, find)


def nothing_found(
    what: str, node_class: NodeClass, terms: Sequence[SelectorTerm], *, more: str = ""
) -> NodeClassNotReadyError:
    """Return the error that says which selector of a node class finds nothing."""
    asked = "; ".join(_spoken(term) for term in terms) or "it has no terms"
    problem = f"{node_class.ref}: its selector of {what} finds nothing ({asked}{more})"
    return NodeClassNotReadyError(problem, selector=what)


def _spoken(term: SelectorTerm) -> str:
    fields = (
        ("id", term.id),
        ("name", term.name),
        ("alias", term.alias),
        ("ssmParameter", term.ssm_parameter),
        *((f"tag {key}", value) for key, value in term.tags),
        ("owner", term.owner),
    )
    return ", ".join(f"{name} {value}" for name, value in fields if value) or "an empty term"
