"""Events of nodes, claims and pods while a node ends, under Karpenter's reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.causes import BUDGETED, Cause
from treenail.domain.model.event_subjects import of_node, of_pod, of_view
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.instants import write_instant
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.telemetry.log_facts import shortened

_NOT_OUR_CHOICE: Final = "Forceful Termination"


def evicted(pod: Pod, cause: Cause) -> ClusterEvent:
    """Return that a pod was evicted, and why its node goes."""
    return ClusterEvent(of_pod(pod), "Evicted", f"Evicted pod: {BUDGETED.get(cause, _NOT_OUR_CHOICE)}")


def hurried(pod: Pod, grace: int, end: datetime, cause: Cause) -> ClusterEvent:
    """Return that a pod was deleted with so many seconds of grace, as its node's time is up at `end`."""
    message = (
        f"Deleted for the termination time {write_instant(end)} of the node ({cause.value}), with {grace} of "
        f"its {pod.spec.grace_seconds} seconds of grace; no budget and no {labels.DO_NOT_DISRUPT} holds it"
    )
    return ClusterEvent(of_pod(pod), "Disrupted", message)


def failed_draining(view: NodeView, why: str) -> Iterator[ClusterEvent]:
    """Yield, for a node that is there, why its drain does not go on."""
    if view.node is not None:
        yield ClusterEvent(of_node(view.node), "FailedDraining", f"Failed to drain node, {why}", warning=True)


def held_up(pods: Sequence[Pod]) -> str:
    """Return the pods that a drain waits for and that may not be evicted."""
    which = shortened([pod.key for pod in pods])
    return f"{len(pods)} pods are waiting to be evicted and have {labels.DO_NOT_DISRUPT}: {which}"


def awaiting_volumes(view: NodeView, volumes: Iterable[str]) -> Iterator[ClusterEvent]:
    """Yield, for a node that is there, which volumes must be detached before its instance goes."""
    if view.node is not None:
        message = f"Awaiting deletion of bound volumeattachments ({shortened(sorted(volumes))})"
        yield ClusterEvent(of_node(view.node), "AwaitingVolumeDetachment", message)


def expiring(view: NodeView, deadline: datetime) -> Iterator[ClusterEvent]:
    """Yield, for a node and its claim, when the termination grace period of the claim ends."""
    message = f"All pods will be deleted by {write_instant(deadline)}"
    for about in of_view(view):
        yield ClusterEvent(about, "TerminationGracePeriodExpiring", message, warning=True)
