from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.packing.arrays import Floats
from treenail.domain.packing.bound import fractional_cover, lower_bound

AMOUNTS = st.integers(0, 12).map(float)
ROOMS = st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=4)
PRICES = st.integers(0, 20).map(lambda cents: cents / 10)
REQUESTS = st.lists(st.tuples(AMOUNTS, AMOUNTS).filter(any), min_size=1, max_size=4)


def groupings(pods: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield every way to part `pods` into groups."""
    if not pods:
        yield []
        return
    for rest in groupings(pods[1:]):
        yield [[pods[0]], *rest]
        for number, group in enumerate(rest):
            yield [*rest[:number], [pods[0], *group], *rest[number + 1 :]]


def cheapest_possible(requests: Floats, room: Floats, prices: Floats) -> float:
    """Try all groupings: each group on the cheapest type that holds it and that all its pods may be on."""

    def price(group: list[int]) -> float:
        able = (room >= requests[group].sum(axis=0)).all(axis=1)
        return float(np.where(able, prices[group].max(axis=0), inf).min())

    return min(sum(price(group) for group in groups) for groups in groupings(range(len(requests))))


@given(room=ROOMS, requests=REQUESTS, data=st.data())
def test_no_grouping_of_pods_costs_less_than_the_bound(
    room: list[tuple[float, float]], requests: list[tuple[float, float]], data: st.DataObject
) -> None:
    rooms, asked = np.array(room), np.array(requests)
    shape = (len(requests), len(room))
    costs = np.array(
        data.draw(st.lists(PRICES | st.just(inf), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    ).reshape(shape)
    best = cheapest_possible(asked, rooms, costs)

    if best < inf:
        assert lower_bound(np.ones(len(requests)), asked, rooms, costs) <= best


@given(room=ROOMS, demand=st.tuples(AMOUNTS, AMOUNTS).filter(any), data=st.data())
def test_the_fractional_cover_is_as_cheap_as_the_best_two_types(
    room: list[tuple[float, float]], demand: tuple[float, float], data: st.DataObject
) -> None:
    rooms, needed = np.array(room), np.array(demand)
    prices = np.array(data.draw(st.lists(PRICES.filter(bool), min_size=len(room), max_size=len(room))))
    cover = fractional_cover(needed, rooms, prices)

    best = min(
        (
            cost
            for pair in product(range(len(room)), repeat=2)
            if (cost := mixed(pair, rooms, prices, needed)) < inf
        ),
        default=inf,
    )
    if best < inf:
        assert abs(float(needed @ cover.worth) - best) <= 1e-6 * best
    assert (rooms @ cover.worth <= prices * (1 + 1e-9)).all()


def mixed(pair: tuple[int, ...], room: Floats, prices: Floats, demand: Floats) -> float:
    """Return the least cost of covering two resources with fractions of two types, by trying the corners."""
    best = inf
    one, other = pair
    a, b = room[one], room[other]
    corners = [(need / give, 0.0) for need, give in zip(demand, a, strict=True) if give]
    corners += [(0.0, need / give) for need, give in zip(demand, b, strict=True) if give]
    determinant = a[0] * b[1] - a[1] * b[0]
    if determinant:
        corners.append(tuple(np.linalg.solve(np.array([a, b]).T, demand)))
    for x, y in corners:
        if min(x, y) >= -1e-9 and (x * a + y * b >= demand - 1e-9).all():
            best = min(best, x * prices[one] + y * prices[other])
    return best
