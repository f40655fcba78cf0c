"""Stand-alone claims: NodeClaims that somebody made without a pool."""

from __future__ import annotations

from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.claim_conditions import after_failed_launch, awaiting_launch
from treenail.domain.model.event_subjects import of_claim
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import LAUNCHED, NodeClaim, condition_of
from treenail.domain.model.patches import ClaimPatch

# What a claim says of its launch, in place of a mark, when it is known to have come to nothing.
NOTHING_BOUGHT: Final = "nothing-bought"


def own_pool(claim: NodeClaim) -> NodePool:
    """Return what a claim of no pool is launched from in place of one: it says all of it itself."""
    return NodePool(name="", generation=claim.generation, node_class=claim.node_class, kubelet=claim.kubelet)


def before_launch(claim: NodeClaim) -> ClaimPatch:
    """Return what is still to be said on a claim before its launch; nothing on one that we wrote."""
    said = not claim.stands_alone or condition_of(claim.conditions, LAUNCHED) is not None
    held = labels.TERMINATION_FINALIZER in claim.finalizers
    return ClaimPatch(
        add_finalizers=() if held else (labels.TERMINATION_FINALIZER,),
        conditions=() if said else awaiting_launch(claim),
    )


def retried(claim: NodeClaim, cause: Cause) -> bool:
    """Return whether a claim whose launch failed is kept, and launched again: nobody would make another one.

    As in Karpenter it goes where there is no capacity for it, or its node class is not ready.
    """
    return claim.stands_alone and cause is Cause.LAUNCH_FAILED


def failed_attempts(claim: NodeClaim) -> int:
    """Return how many launches of a claim came to nothing before."""
    written = claim.annotations.get(labels.LAUNCH_ATTEMPTS, "")
    return int(written) if written.isascii() and written.isdigit() else 0


def after_attempt(claim: NodeClaim, why: str) -> ClaimPatch:
    """Return what a claim says after a launch that came to nothing, before the next one."""
    failed = str(failed_attempts(claim) + 1)
    return ClaimPatch(
        annotations={labels.LAUNCH: NOTHING_BOUGHT, labels.LAUNCH_ATTEMPTS: failed},
        conditions=after_failed_launch(claim, why),
    )


def launch_failed(claim: NodeClaim, why: str) -> ClusterEvent:
    """Return the event about a launch that came to nothing."""
    return ClusterEvent(of_claim(claim), "LaunchFailed", f"It is launched again: {why}", warning=True)
