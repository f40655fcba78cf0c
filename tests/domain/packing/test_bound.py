from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import ceil, inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.nodes.bound import Apart, dual_prices_of, lower_bound

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


def cheapest_possible(
    requests: Floats, room: Floats, prices: Floats, apart: Sequence[tuple[frozenset[int], int]] = ()
) -> float:
    """Try all groupings: each group on the cheapest type that holds it and that all its pods may be on.

    Of each set in `apart` no more than so many may share a group.
    """

    def price(group: list[int]) -> float:
        if any(len(pods.intersection(group)) > most for pods, most in apart):
            return inf
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


SETS = st.tuples(st.frozensets(st.integers(0, 4), min_size=1), st.integers(1, 2))


@given(
    room=ROOMS,
    requests=st.lists(st.tuples(AMOUNTS, AMOUNTS).filter(any), min_size=2, max_size=5),
    sets=st.lists(SETS, min_size=1, max_size=3),
    data=st.data(),
)
def test_no_grouping_that_keeps_pods_apart_costs_less_than_the_bound(
    room: list[tuple[float, float]],
    requests: list[tuple[float, float]],
    sets: list[tuple[frozenset[int], int]],
    data: st.DataObject,
) -> None:
    rooms, asked = np.array(room), np.array(requests)
    shape = (len(requests), len(room))
    costs = np.array(
        data.draw(st.lists(PRICES | st.just(inf), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    ).reshape(shape)
    sets = [(pods & frozenset(range(len(requests))), most) for pods, most in sets]
    best = cheapest_possible(asked, rooms, costs, sets)

    if best < inf:
        assert (
            lower_bound(np.ones(len(requests)), asked, rooms, costs, [kept(*one, len(asked)) for one in sets])
            <= best
        )


def kept(pods: frozenset[int], most: int, classes: int) -> Apart:
    """Pods by number, of which no more than so many may share a node."""
    return Apart(np.array([each in pods for each in range(classes)]), ceil(len(pods) / most))


def test_pods_that_keep_apart_need_a_node_each() -> None:
    room, price = np.array([[8.0], [1.0]]), np.array([[1.0, 0.5]])
    apart = Apart(np.array([True]), 4)

    assert lower_bound(np.array([4.0]), np.array([[1.0]]), room, price) <= 1.0
    assert abs(lower_bound(np.array([4.0]), np.array([[1.0]]), room, price, [apart]) - 2.0) < 1e-6


def test_those_that_share_nodes_with_pods_kept_apart_are_paid_for_too() -> None:
    room, prices = np.array([[2.0], [8.0]]), np.array([[1.0, 3.0], [1.0, 3.0]])
    pods, requests = np.array([4.0, 12.0]), np.array([[1.0], [1.0]])
    apart = Apart(np.array([True, False]), 4)

    # Two large and two small nodes cost 8; in fractions there are 4/3 large and 8/3 small ones.
    assert abs(lower_bound(pods, requests, room, prices, [apart]) - 20 / 3) < 1e-6
    assert abs(lower_bound(pods, requests, room, prices) - 6) < 1e-6


@given(room=ROOMS, demand=st.tuples(AMOUNTS, AMOUNTS).filter(any), data=st.data())
def test_dual_prices_are_those_of_the_best_two_types(
    room: list[tuple[float, float]], demand: tuple[float, float], data: st.DataObject
) -> None:
    rooms, needed = np.array(room), np.array(demand)
    prices = np.array(data.draw(st.lists(PRICES.filter(bool), min_size=len(room), max_size=len(room))))
    dual_prices = dual_prices_of(needed, rooms, prices)

    best = min(
        (
            cost
            for pair in product(range(len(room)), repeat=2)
            if (cost := mixed(pair, rooms, prices, needed)) < inf
        ),
        default=inf,
    )
    if best < inf:
        assert abs(float(needed @ dual_prices) - best) <= 1e-6 * best
    assert (rooms @ dual_prices <= prices * (1 + 1e-9)).all()


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
