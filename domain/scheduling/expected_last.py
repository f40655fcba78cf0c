"""Plans that hold with expected pods only: else one is made anew without them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.packing.refusal_reasons import TOPOLOGY, Reason

_IN_THE_WAY: Final = TOPOLOGY | {Reason.LIMIT_REACHED, Reason.NO_CAPACITY}


def to_be_made_without(expected: AbstractSet[str], decided: PlanDecided) -> bool:
    """Return whether a plan is to be made anew without the `expected` pods, which come last.

    So it is where it has places for them, and maybe therefore none for a pod that waits; and where it buys
    for them from a pool that is for pods only, or of less weight than one of which EC2 did not answer what it
    sells.
    """
    plan = decided.plan
    placed = {*plan.nominations, *(uid for claim in plan.claims for uid in claim.pods)}
    if placed.isdisjoint(expected):
        return False
    pools = decided.snapshot.pools
    least = max((pool.weight for pool in pools if pool.name in decided.unanswered), default=0)
    strict = {pool.name for pool in pools if pool.for_pods_only or pool.weight < least}
    if any(not expected.isdisjoint(claim.pods) for claim in plan.claims if claim.pool in strict):
        return True
    return any(
        refusal.reason in _IN_THE_WAY
        for group in plan.refused
        if any(uid not in expected for uid in group.pods)
        for refusal in group.refusals
    )
