"""Events of nodes and claims whose machine EC2 warned of, in Karpenter's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.model.causes import Cause
from treenail.domain.model.event_subjects import of_view
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.nodes import NodeView


@dataclass(frozen=True, slots=True)
class _Notice:
    reason: str
    message: str


_NOTICES: Final[Mapping[Cause, _Notice]] = {
    Cause.SPOT_INTERRUPTED: _Notice("SpotInterrupted", "EC2 warned that it takes the spot instance back"),
    Cause.REBALANCE_RECOMMENDED: _Notice(
        "SpotRebalanceRecommendation", "EC2 warned that the spot instance is at risk"
    ),
    Cause.CAPACITY_RESERVATION_INTERRUPTED: _Notice(
        "CapacityReservationInstanceInterrupted", "EC2 warned that the reserved capacity ends"
    ),
    Cause.SCHEDULED_CHANGE: _Notice("InstanceUnhealthy", "AWS Health announced a change of the instance"),
    Cause.EVENT_STATUS: _Notice("InstanceUnhealthy", "EC2 has planned an event of the instance"),
    Cause.UNHEALTHY: _Notice("NodeUnhealthy", "The node is unhealthy for too long"),
    Cause.INSTANCE_STATUS: _Notice("InstanceUnhealthy", "The instance fails its status check"),
    Cause.SYSTEM_STATUS: _Notice("InstanceUnhealthy", "The host of the instance fails its status check"),
    Cause.INSTANCE_STOPPED: _Notice("InstanceStopping", "The instance is stopping"),
    Cause.INSTANCE_TERMINATED: _Notice("InstanceTerminating", "The instance is terminating"),
}


def warned(view: NodeView, notice: NodeInterrupted) -> Iterator[ClusterEvent]:
    """Yield what a warning says, for the node it is about and its claim."""
    told = _NOTICES.get(notice.cause)
    if told is None:
        return
    for about in of_view(view):
        what = f"{told.message}: {notice.why}" if notice.why else told.message
        yield ClusterEvent(about, told.reason, what, warning=True)


def ended_by_warning(view: NodeView) -> Iterator[ClusterEvent]:
    """Yield, for a node and its claim, that they go because of a warning."""
    for about in of_view(view):
        message = f"The warning ends the {about.kind}"
        yield ClusterEvent(about, "TerminatingOnInterruption", message, warning=True)
