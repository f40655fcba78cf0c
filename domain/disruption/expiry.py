"""Expiry: the age at which nodes go, and how they go then."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import FOREVER, NodeClaim


def expires_at(claim: NodeClaim, pool: NodePool | None) -> datetime | None:
    """Return when a claim's time is over, None where it never is.

    A claim that does not say how long it may live leaves that to its pool as it stands.
    """
    life = claim.expire_after
    if life is None and pool is not None:
        life = pool.disruption.expire_after
    return None if life is None or life == FOREVER else claim.created_at + life


def forceful(claim: NodeClaim) -> bool:
    """Return whether a claim that expired goes whatever budgets and annotations say.

    Nodes of the old API are replaced first, as many at a time as may be disrupted.
    """
    return claim.generation is not Generation.V1ALPHA5
