"""Events of pods that are planned for, in Karpenter's words: FailedScheduling and Nominated."""

from __future__ import annotations

from treenail.domain.model.event_subjects import of_pod
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.pods import Pod


def failed_scheduling(pod: Pod, why: str) -> ClusterEvent:
    """Return the warning that no place was found for a pod, and why."""
    message = f"Failed to schedule pod, {why}"
    return ClusterEvent(about=of_pod(pod), reason="FailedScheduling", message=message, warning=True)


def nominated(pod: Pod, place: str) -> ClusterEvent:
    """Return the event that a pod has a place, which people know by this name."""
    return ClusterEvent(about=of_pod(pod), reason="Nominated", message=f"Pod should schedule on: {place}")
