"""What no plan can be cheaper than."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treenail.domain.packing.arrays import Bools, Floats, count_fitting, holds

# A linear program with one row per resource: a library would take longer to start than this to end.
_MOST_PIVOTS: Final = 60
_CLOSE: Final = 1e-9
# What it costs to leave all of a resource unprovided, in prices of the dearest type.
_UNPROVIDED: Final = 1e6
# Sums of prices are rounded; a bound must be below the cost all the same.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """The cheapest way to provide a demand with fractions of types.

    `worth` (R) is what one unit of each resource is worth at most: no type offers for its price more
    than its price's worth, so that `demand @ worth` is never above the cost of nodes that provide it.
    `nodes` is how many the fractions add up to.
    """

    worth: Floats
    nodes: float


def fractional_cover(demand: Floats, room: Floats, prices: Floats) -> Cover:
    """Cover `demand` (R) with fractions of the types that have `room` (T, R) at `prices` (T).

    Found by the simplex method; were that cut short, `worth` would be lower, and no less true.
    """
    worth, nodes = np.zeros(len(demand)), 0.0
    asked = np.flatnonzero((demand > 0) & (room > 0).any(axis=0))
    if len(asked):
        share, nodes = _simplex(room[:, asked] / demand[asked], prices)
        worth[asked] = share / demand[asked]
    offered = room @ worth
    over = offered > prices
    return Cover(worth * float((prices[over] / offered[over]).min(initial=1.0)), nodes)


def _simplex(share: Floats, prices: Floats) -> tuple[Floats, float]:
    """Cover every row, of which each type covers a `share` (T, R): what each row is worth, how many types."""
    types, rows = share.shape
    # A cover may use the types, go without a row at a forbidding price, and cover too much for nothing.
    columns = np.vstack([share, np.eye(rows), -np.eye(rows)])
    forbidding = np.full(rows, _UNPROVIDED * max(float(prices.max()), 1.0))
    costs = np.concatenate([prices, forbidding, np.zeros(rows)])
    basis = np.arange(types, types + rows)
    tolerance = _CLOSE * float(prices.max())
    inverse = np.eye(rows)
    for _ in range(_MOST_PIVOTS):
        worth, amounts = costs[basis] @ inverse, inverse.sum(axis=1)
        gain = columns @ worth - costs
        entering = int(gain.argmax())
        if gain[entering] <= tolerance:
            break
        change = inverse @ columns[entering]
        falling = change > _CLOSE
        ratios = np.where(falling, amounts / np.where(falling, change, 1.0), np.inf)
        leaving = int(ratios.argmin())
        basis[leaving] = entering
        pivot = inverse[leaving] / change[leaving]
        inverse -= change[:, np.newaxis] * pivot
        inverse[leaving] = pivot
    return np.maximum(worth, 0.0), float(amounts[basis < types].sum())


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """Classes (I) of which all pods together need so many nodes at least, for they keep apart."""

    classes: Bools
    nodes: float


def lower_bound(
    pods: Floats, requests: Floats, room: Floats, prices: Floats, apart: Sequence[Apart] = ()
) -> float:
    """Return a cost ($/h) below which no nodes hold `pods` (I) of the classes that request `requests` (I, R).

    `room` (T, R) is every type there is, `prices` (I, T) what each costs with pods of a class on it,
    infinite where they cannot be.
    """
    known = np.isfinite(prices).any(axis=0)
    room, prices = room[known], prices[:, known]
    cheapest = prices.min(axis=0)
    demand = pods @ requests
    bound = _covered(demand, room, cheapest)
    if apart:
        # A node is as much a thing to be had as what is on it: any that holds a pod of those kept apart.
        held = np.isfinite(prices) & holds(room, requests[:, np.newaxis])
        nodes = np.array([held[each.classes].any(axis=0) for each in apart], dtype=np.float64).T
        needed = np.array([each.nodes for each in apart])
        bound = max(bound, _covered(np.append(demand, needed), np.hstack([room, nodes]), cheapest))
    for count, row, price in zip(pods, requests, prices, strict=True):
        able = holds(room, row) & np.isfinite(price)
        one = float(price[able].min())
        # Only a class that would come dearer with each pod on its own can raise the bound.
        if count * one > bound:
            fitting = np.minimum(count_fitting(room[able], row), count)
            bound = max(bound, one, float((price[able] / fitting).min() * count))
    return bound * (1 - _ROUNDING)


def _covered(demand: Floats, room: Floats, prices: Floats) -> float:
    return float(demand @ fractional_cover(demand, room, prices).worth)
