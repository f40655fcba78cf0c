"""Conditions of a claim whose node ends, as Karpenter has them. Machines have none."""

from __future__ import annotations

from typing import Final

from treenail.domain.model.causes import BUDGETED, Cause
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import (
    DISRUPTION_REASON,
    DRAINED,
    INSTANCE_TERMINATING,
    VOLUMES_DETACHED,
    Condition,
    NodeClaim,
    NodeView,
    Status,
    condition_of,
)

DRAINING: Final = Condition(DRAINED, Status.UNKNOWN, "Draining", "Draining")
AWAITING_VOLUMES: Final = Condition(
    VOLUMES_DETACHED, Status.UNKNOWN, "AwaitingVolumeDetachment", "AwaitingVolumeDetachment"
)
_TIME_IS_UP: Final = Condition(
    VOLUMES_DETACHED, Status.FALSE, "TerminationGracePeriodElapsed", "TerminationGracePeriodElapsed"
)


def disrupting(claim: NodeClaim, cause: Cause) -> tuple[Condition, ...]:
    """Return what a claim says of why it is given up; nothing where that was not our choice."""
    reason = BUDGETED.get(cause)
    if reason is None:
        return ()
    return told(claim, Condition(DISRUPTION_REASON, Status.TRUE, reason, reason))


def ended(view: NodeView, *, volumes_left: bool) -> tuple[Condition, ...]:
    """Return what a claim says whose instance is terminated now; `volumes_left`: some stay attached."""
    if view.claim is None:
        return ()
    detached = _TIME_IS_UP if volumes_left else Condition(VOLUMES_DETACHED, Status.TRUE, VOLUMES_DETACHED)
    drained = (Condition(DRAINED, Status.TRUE, DRAINED), detached) if view.node is not None else ()
    terminating = Condition(INSTANCE_TERMINATING, Status.TRUE, INSTANCE_TERMINATING)
    return told(view.claim, *drained, terminating)


def told(claim: NodeClaim, *conditions: Condition) -> tuple[Condition, ...]:
    """Return those of the conditions that a claim is to bear and does not."""
    if claim.generation is Generation.V1ALPHA5:
        return ()
    return tuple(c for c in conditions if not _says(claim, c))


def _says(claim: NodeClaim, wanted: Condition) -> bool:
    there = condition_of(claim.conditions, wanted.type)
    return there is not None and (there.status, there.reason) == (wanted.status, wanted.reason)
