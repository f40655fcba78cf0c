"""The lower bound of a plan's cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import TINY, Bools, Floats, count_fitting, holds

# The linear program has one row per resource: a library would take longer to start than this takes to end.
# Pivots are bounded against cycling: a result that is cut short is still a valid bound.
_MOST_PIVOTS: Final = 60
_CLOSE: Final = 1e-9
# What it costs to leave all of a resource unprovided, in prices of the dearest type.
_UNPROVIDED: Final = 1e6
# Sums of prices are rounded; a bound must be below the cost all the same.
_ROUNDING: Final = 1e-9


def dual_prices_of(demand: Floats, room: Floats, prices: Floats) -> Floats:
    """Return what one unit of each resource (R) is worth where `demand` (R) is covered for the least.

    It is covered with fractions of the types that have `room` (T, R) at `prices` (T). No type offers more for
    its price than that is worth, so `demand @ dual_prices` is never above the cost of nodes that provide it.
    Found by the simplex method; were that cut short, the dual prices would be lower, and no less true.
    """
    worth: Floats = np.zeros(len(demand))
    asked = ((demand > 0) & np.logical_or.reduce(room > 0, axis=0)).nonzero()[0]
    if len(asked):
        whole = len(asked) == len(demand)
        amounts = demand if whole else demand[asked]
        # In shares of the demand, so that bytes of memory and millicores weigh the same in the pivots.
        worth[asked] = _simplex((room if whole else room[:, asked]) / amounts, prices) / amounts
    offered = room @ worth
    over = (offered > prices).nonzero()[0]
    if len(over):
        # Scaled down until no type is worth more than its price: then the worth is dual feasible whatever the
        # rounding, and the bound is true.
        worth *= float(np.minimum.reduce(prices[over] / offered[over]))
    return worth


def _simplex(share: Floats, prices: Floats) -> Floats:
    """Return what each row is worth where all are covered, of which each type covers a `share` (T, R).

    A cover may cover too much for nothing, and go without a row that no type covers together with the
    others at a forbidding price, to begin with.
    """
    tolerance = _CLOSE * float(np.maximum.reduce(prices))
    costs, inverse, amounts = _start(share, prices)
    for _ in range(_MOST_PIVOTS):
        worth = costs @ inverse
        gain = share @ worth - prices
        entering = int(gain.argmax())
        over = int(worth.argmin())
        # Either a type enters that is worth more than its price, or the surplus of a row whose worth is
        # negative.
        best, spared = float(gain[entering]), -float(worth[over])
        if max(best, spared) <= tolerance:
            break
        of_type = best >= spared
        change = inverse @ share[entering] if of_type else -inverse[:, over]
        changes = change.tolist()
        # The ratio test keeps all amounts at zero or above; ties go to the first row, so that the result is
        # the same.
        leaving = _leaving(changes, amounts)
        costs[leaving] = prices[entering] if of_type else 0.0
        pivot = inverse[leaving] / changes[leaving]
        # The inverse is updated in place: five by five numbers, cheaper than solving anew.
        inverse -= change[:, np.newaxis] * pivot
        inverse[leaving] = pivot
        taken = amounts[leaving] / changes[leaving]
        amounts = [amount - by * taken for amount, by in zip(amounts, changes, strict=True)]
        amounts[leaving] = taken
    return np.maximum(worth, 0.0)


def _start(share: Floats, prices: Floats) -> tuple[Floats, Floats, list[float]]:
    """Return what a basis to begin with costs by row, its inverse, and how much there is of each.

    The basis is the one type that covers all rows for the least, and surpluses for the other rows. Where no
    type has some of every resource, it is artificial: nothing is covered, at a forbidding price.
    """
    rows = share.shape[1]
    least = np.minimum.reduce(share, axis=1)
    costs: Floats = np.zeros(rows)
    inverse = np.eye(rows)
    if not np.maximum.reduce(least) > 0:
        costs[:] = _UNPROVIDED * max(float(np.maximum.reduce(prices)), 1.0)
        return costs, inverse, [1.0] * rows
    one = int((prices / np.maximum(least, TINY)).argmin())
    covered = share[one]
    at = int(covered.argmin())
    costs[at] = prices[one]
    inverse *= -1.0
    inverse[:, at] = covered / covered[at]
    inverse[at, at] = 1.0 / covered[at]
    amounts: list[float] = (inverse[:, at] - 1.0).tolist()
    amounts[at] = float(inverse[at, at])
    return costs, inverse, amounts


def _leaving(change: Sequence[float], amounts: Sequence[float]) -> int:
    """Return the row that is used up first as its amount falls by `change`, of several the first."""
    ratios = [a / c if c > _CLOSE else inf for c, a in zip(change, amounts, strict=True)]
    return ratios.index(min(ratios))


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """Classes (I) that keep apart, so that all their pods together need at least so many `nodes`."""

    classes: Bools
    nodes: float


def lower_bound(
    pods: Floats, requests: Floats, room: Floats, prices: Floats, apart: Sequence[Apart] = ()
) -> float:
    """Return a cost ($/h) below which no nodes hold `pods` (I) of the classes that request `requests` (I, R).

    `room` (T, R) is every type there is, `prices` (I, T) what each costs with pods of a class on it,
    infinite where they cannot be.
    """
    cheapest = np.minimum.reduce(prices, axis=0)
    # Types that no class may be on would only cheapen the cover.
    known = (cheapest < inf).nonzero()[0]
    room, prices, cheapest = room[known], prices[:, known], cheapest[known]
    # The cost of each type with a pod of a class that it holds (I, T).
    held = np.where(holds(room, requests[:, np.newaxis]), prices, inf)
    demand = pods @ requests
    if apart:
        # Separated classes make nodes a resource too: each type that holds a pod of such a class provides
        # one.
        nodes = np.array([np.minimum.reduce(held[each.classes], axis=0) < inf for each in apart])
        demand = np.concatenate([demand, [each.nodes for each in apart]])
        bound = _covered(demand, np.hstack([room, nodes.T]), cheapest)
    else:
        bound = _covered(demand, room, cheapest)
    ones = np.minimum.reduce(held, axis=1)
    # Whole pods: a class needs at least one node that holds a pod, and so many pods a node at best.
    # Only a class that would come dearer with each pod on its own can raise the bound.
    for i in (pods * ones > bound).nonzero()[0].tolist():
        able = (held[i] < inf).nonzero()[0]
        fitting = np.minimum(count_fitting(room[able], requests[i]), pods[i])
        bound = max(bound, float(ones[i]), float((held[i, able] / fitting).min() * pods[i]))
    # Rounded down, for the cost is a sum of floats too.
    return bound * (1 - _ROUNDING)


def _covered(demand: Floats, room: Floats, prices: Floats) -> float:
    return float(demand @ dual_prices_of(demand, room, prices))
