"""Expected pods come last: a plan is made anew without them where pods that wait have no place."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.packing.reasons import TOPOLOGY, Reason

_IN_THE_WAY: Final = TOPOLOGY | {Reason.LIMIT_REACHED, Reason.NO_CAPACITY}


def puts_others_first(decided: PlanDecided, expected: Collection[str]) -> bool:
    """Return whether a plan has places for `expected` pods, and maybe therefore none for one that waits."""
    plan = decided.plan
    placed = {*plan.nominations, *(uid for claim in plan.claims for uid in claim.pods)}
    if placed.isdisjoint(expected):
        return False
    return any(
        refusal.reason in _IN_THE_WAY
        for group in plan.refused
        if any(uid not in expected for uid in group.pods)
        for refusal in group.refusals
    )
