"""Eviction cost: how much it disturbs to evict a pod, and to evict all that come back from a node."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.pods import Pod

# Draining a node costs this much, whatever runs there.
_BASE_COST: Final = 1.0
_ORDINARY: Final = 1.0
_MOST: Final = 10.0
# A pod's deletion cost is an int32, its priority goes up to 10^9: each may outweigh some 16 or 30 pods.
_DELETION_COST_UNIT: Final = 2.0**27
_PRIORITY_UNIT: Final = 2.0**25
# As Go reads them: Python would take spaces and underscores as well.
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_INFINITY: Final = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


def eviction_cost(pod: Pod) -> float:
    """Return what evicting a pod costs, from -10 to 10; 1 where nothing says otherwise.

    A deletion cost that cannot be read counts as none, as in Karpenter.
    """
    written = pod.annotations.get(labels.POD_DELETION_COST)
    cost = _ORDINARY + pod.spec.priority / _PRIORITY_UNIT
    if written is not None:
        cost += _deletion_cost(written) / _DELETION_COST_UNIT
    return max(-_MOST, min(cost, _MOST))


def _deletion_cost(written: str) -> float:
    if _INFINITY.fullmatch(written):
        return float(written)
    cost = float(written) if _NUMBER.fullmatch(written) else 0.0
    # Beyond what a float holds is an error in Go.
    return cost if abs(cost) != float("inf") else 0.0


def disruption_cost(evictions: Iterable[float]) -> float:
    """Return the cost of draining a node: 1, and the eviction costs of its pods that are above 0."""
    return _BASE_COST + sum(max(0.0, cost) for cost in evictions)
