"""Pods and nodes with a do-not-disrupt annotation: what keeps them, until when, and what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.durations import parse_duration
from treenail.domain.model.event_subjects import of_pod
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.instants import write_instant
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod

_FOR_EVER: Final = "true"
# The second is what the first was called in the old API.
_KEEPING: Final = (labels.DO_NOT_DISRUPT, labels.DO_NOT_CONSOLIDATE)


def kept_pod(pod: Pod, now: datetime) -> Iterator[ClusterEvent]:
    """Yield what is to be told of a pod on a node that is to go, where its annotation keeps it for a time."""
    value = pod.annotations.get(labels.DO_NOT_DISRUPT)
    if value in (None, _FOR_EVER):
        return
    about, span = of_pod(pod), parse_duration(value)
    if span is None or span <= timedelta(0):
        message = (
            f'Invalid {labels.DO_NOT_DISRUPT} annotation value "{value}": not "true", nor a duration over 0'
        )
        yield ClusterEvent(about, "InvalidDoNotDisruptAnnotation", message, warning=True)
    elif pod.protected(now) and pod.started_at is not None:
        end = write_instant(pod.started_at + span)
        message = f"The {labels.DO_NOT_DISRUPT} grace period will elapse at {end}"
        yield ClusterEvent(about, "DoNotDisruptUntil", message)
    elif pod.started_at is not None:
        message = f"The {labels.DO_NOT_DISRUPT} grace period has elapsed"
        yield ClusterEvent(about, "DoNotDisruptGracePeriodElapsed", message)


def keeping(pod: Pod, now: datetime) -> Blocker | None:
    """Return that the annotation of a pod forbids to disrupt it, and until when; None where it does not."""
    if not pod.protected(now):
        return None
    span = parse_duration(pod.annotations.get(labels.DO_NOT_DISRUPT, ""))
    for_ever = pod.annotations.get(labels.DO_NOT_EVICT) == _FOR_EVER or span is None or pod.started_at is None
    until = None if for_ever or pod.started_at is None or span is None else pod.started_at + span
    return Block.POD_ANNOTATED.by(pod.key, until=until)


def protecting(pod: Pod) -> bool:
    """Return whether a pod has an annotation that may forbid to disrupt it, now or some time."""
    annotations = pod.annotations
    return labels.DO_NOT_DISRUPT in annotations or labels.DO_NOT_EVICT in annotations


def kept_by(view: NodeView) -> str | None:
    """Return the annotation by which a node is kept, None where it is not."""
    annotations = view.node.annotations if view.node is not None else {}
    return next((key for key in _KEEPING if annotations.get(key) == _FOR_EVER), None)
