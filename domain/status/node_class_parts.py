"""Parts of a node class, looked up one after the other in the cloud, and their conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from treenail.domain.model.errors import NodeClassNotReadyError, PortError
from treenail.domain.model.node_class_status import (
    IMAGES_READY,
    INSTANCE_PROFILE_READY,
    PLACEMENT_GROUP_READY,
    RESERVATIONS_READY,
    SECURITY_GROUPS_READY,
    SUBNETS_READY,
)
from treenail.domain.model.nodes import Condition, Status

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
