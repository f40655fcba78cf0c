"""Places of the pods of a node that is being replaced: whether all are ready."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.model.pods import Pod
from treenail.domain.termination.leaving import Leaving

# A decision on where its pods go is made soon, or not at all.
_DECIDED_WITHIN: Final = timedelta(seconds=30)
# New nodes that are not ready by then are not waited for.
_READY_WITHIN: Final = timedelta(minutes=10)


def places_awaited(pods: Sequence[Pod], state: Leaving, now: datetime) -> datetime | None:
    """Return until when to wait for the new places of these pods; None where all are ready.

    A time that is over says that they will not be had.
    """
    moving = [pod for pod in pods if pod.reschedulable and not pod.protected(now)]
    if all(state.places.get(pod.uid, False) for pod in moving):
        return None
    decided = all(pod.uid in state.places for pod in moving)
    return state.began_at + (_READY_WITHIN if decided else _DECIDED_WITHIN)
