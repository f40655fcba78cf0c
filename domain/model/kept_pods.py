"""Pods with a do-not-disrupt annotation: until when, and which say it in a way that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.durations import parse_duration
from treenail.domain.model.event_subjects import of_pod
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.instants import write_instant
from treenail.domain.model.pods import Pod

_FOR_EVER: Final = "true"


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
