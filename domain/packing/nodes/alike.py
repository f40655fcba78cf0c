"""Alike pods: the cheapest nodes for pods that are all alike, by dynamic programming."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

# For more pods than this, nodes of the type that costs least per pod come first.
_EXACTLY: Final = 256


@dataclass(frozen=True, slots=True)
class Nodes:
    """Equal nodes: `copies` of a node of type `at`, each with `pods` pods."""

    at: int
    pods: int
    copies: int


def nodes_for(pods: int, holds: Sequence[int], prices: Sequence[float]) -> list[Nodes]:
    """Return nodes for `pods` alike pods, of types that hold so many each at such prices; none if none does.

    No nodes cost less, up to 256 pods. Of more, the rest are exact: what is beyond goes to full nodes of
    the type that costs least per pod. Of types equal in both the first is taken.
    """
    types = _worth_having(pods, holds, prices)
    if not types:
        return []
    full: Counter[tuple[int, int]] = Counter()
    thrifty = min(types, key=lambda at: (prices[at] / holds[at], at))
    # With many pods, full nodes of the best price per pod cost at most a node more than the optimum. The
    # program, which takes O(pods x types), only solves the rest.
    beyond = max(pods - _EXACTLY, 0) // holds[thrifty]
    if beyond:
        full[thrifty, holds[thrifty]] += beyond
    left = pods - beyond * holds[thrifty]
    last = _last_nodes(left, [(at, holds[at], prices[at]) for at in types])
    # Read back from the end: each number of pods knows the type of one of its nodes.
    while left:
        at = last[left]
        full[at, min(holds[at], left)] += 1
        left = max(left - holds[at], 0)
    return [Nodes(at, on_each, copies) for (at, on_each), copies in full.items()]


def _worth_having(pods: int, holds: Sequence[int], prices: Sequence[float]) -> list[int]:
    """Return the types that hold any, less those that another type outdoes: as many pods for no more cost."""
    able = (at for at, held in enumerate(holds) if held > 0)
    kept: list[int] = []
    cheapest = inf
    # A type that holds no more and costs no less is never needed. Fewer types make the program short.
    for at in sorted(able, key=lambda at: (-min(holds[at], pods), prices[at], at)):
        if prices[at] < cheapest:
            cheapest = prices[at]
            kept.append(at)
    return kept


def _last_nodes(pods: int, types: Sequence[tuple[int, int, float]]) -> list[int]:
    """Return for every number of pods up to `pods` the type of one of its nodes, where they cost least."""
    costs, last = [0.0], [-1]
    for some in range(1, pods + 1):
        least, best = inf, -1
        for at, held, price in types:
            # The last node of an optimal plan, plus the optimal plan for the pods that are not on it.
            cost = price + (costs[some - held] if some > held else 0.0)
            if cost < least:
                least, best = cost, at
        costs.append(least)
        last.append(best)
    return last
