"""The events that people find beside claims and their nodes, in Karpenter's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from treenail.domain.disruption import BUDGETED, Cause, DisruptNodes, NodeInterrupted
from treenail.domain.event_subjects import of_claim, of_view
from treenail.domain.events import ClusterEvent
from treenail.domain.launching import ClaimFailed
from treenail.domain.node_pools import Generation
from treenail.domain.nodes import (
    INITIALIZED,
    LAUNCHED,
    REGISTERED,
    Condition,
    NodeClaim,
    NodeView,
    Status,
    condition_of,
)
from treenail.domain.watching import NodeChanged

_MILESTONES: Final = (LAUNCHED, REGISTERED, INITIALIZED)
_LONGEST_WHY: Final = 300


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
    Cause.INSTANCE_STATUS: _Notice("InstanceUnhealthy", "The instance fails its status check"),
    Cause.SYSTEM_STATUS: _Notice("InstanceUnhealthy", "The host of the instance fails its status check"),
    Cause.INSTANCE_STOPPED: _Notice("InstanceStopping", "The instance is stopping"),
    Cause.INSTANCE_TERMINATED: _Notice("InstanceTerminating", "The instance is terminating"),
}


class NodeEvents:
    """Remembers claims and nodes as they were, and says what is to be told of a change. Mutable.

    What stood already when it was first heard of is no news.
    """

    def __init__(self) -> None:
        self._views: dict[str, NodeView] = {}
        self._by_instance: dict[str, str] = {}

    def note(self, changed: NodeChanged) -> Iterator[ClusterEvent]:
        """Take a view in as it stands; yield the conditions of its claim that have changed."""
        before = self._views.pop(changed.name, None)
        if before is not None and before.claim is not None:
            self._by_instance.pop(before.claim.instance_id, None)
        view = changed.view
        if view is None:
            return
        self._views[changed.name] = view
        if view.claim is not None and view.claim.instance_id:
            self._by_instance[view.claim.instance_id] = changed.name
        if view.claim is not None and before is not None and before.claim is not None:
            yield from _transitions(before.claim, view.claim)

    def interrupted(self, notice: NodeInterrupted) -> Iterator[ClusterEvent]:
        """Yield what is to be told of a warning: what it says, and that the node goes for it."""
        view = self._views.get(self._by_instance.get(notice.instance_id, ""))
        told = _NOTICES.get(notice.cause)
        if view is None or told is None:
            return
        for about in of_view(view):
            yield ClusterEvent(about, told.reason, told.message, warning=True)
            message = f"The warning ends the {about.kind}"
            yield ClusterEvent(about, "TerminatingOnInterruption", message, warning=True)

    def disrupting(self, order: DisruptNodes) -> Iterator[ClusterEvent]:
        """Yield, for nodes that are given back, why."""
        why = BUDGETED.get(order.cause, order.cause.value)
        for view in order.nodes:
            for about in of_view(view):
                yield ClusterEvent(about, "DisruptionTerminating", f"Disrupting {about.kind}: {why}")

    def failed(self, failure: ClaimFailed) -> Iterator[ClusterEvent]:
        """Yield, for a claim that EC2 has no capacity for, what it said."""
        view = self._views.get(failure.claim)
        if failure.cause is Cause.INSUFFICIENT_CAPACITY and view is not None and view.claim is not None:
            about = of_claim(view.claim)
            message = f"{about.kind} {about.name} event: {failure.why[:_LONGEST_WHY]}"
            yield ClusterEvent(about, "InsufficientCapacityError", message, warning=True)


def _transitions(before: NodeClaim, after: NodeClaim) -> Iterator[ClusterEvent]:
    for kind in _MILESTONES:
        was, now = condition_of(before.conditions, kind), condition_of(after.conditions, kind)
        if now is not None and now.status is not _status(was):
            yield _transition(after, now, _status(was))


def _transition(claim: NodeClaim, now: Condition, was: Status) -> ClusterEvent:
    name = f"Machine{now.type}" if claim.generation is Generation.V1ALPHA5 else now.type
    said = [f"Type: {name}", f"Status: {was.value} -> {now.status.value}", f"Reason: {now.reason or name}"]
    if now.message:
        said.append(f"Message: {now.message}")
    return ClusterEvent(of_claim(claim), name, f"Status condition transitioned, {', '.join(said)}")


def _status(condition: Condition | None) -> Status:
    return condition.status if condition is not None else Status.UNKNOWN
