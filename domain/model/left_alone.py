"""Nodes that are not given up by choice: of static pools, of unknown pools, and of no pool."""

from __future__ import annotations

from enum import StrEnum

from treenail.domain.model.causes import STOPPING, TAKEN, Cause
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim


class LeftAlone(StrEnum):
    """The reason why a node is not given up by choice. The value is the text for people.

    What somebody deletes is seen out in any case.
    """

    STATIC_POOL = "its pool is static, and the feature gate StaticCapacity is off"
    UNKNOWN_POOL = "its pool is not there, or is not understood"
    NO_POOL = "it is of no pool: it is neither consolidated nor replaced when it drifts"

    @property
    def entirely(self) -> bool:
        """True if nothing is bought or deleted for it either, nor anything written on its machine."""
        return self is LeftAlone.STATIC_POOL

    def spares(self, cause: Cause) -> bool:
        """Return whether it stays though it was announced to end.

        Where EC2 takes the machine anyway, the pods of a node whose pool is not known leave it before. One of
        no pool has all that is to be known of it on its claim.
        """
        if self is LeftAlone.NO_POOL:
            return False
        return self.entirely or cause not in TAKEN | STOPPING


def left_alone(claim: NodeClaim, pool: NodePool | None, *, static_capacity: bool) -> LeftAlone | None:
    """Return why a claim's node is left alone, None where it is not. `pool` is the pool the claim names.

    Nodes of static pools are left alone unless `static_capacity` is on.
    """
    if claim.stands_alone:
        return LeftAlone.NO_POOL
    if pool is None:
        return LeftAlone.UNKNOWN_POOL
    return LeftAlone.STATIC_POOL if pool.static and not static_capacity else None
