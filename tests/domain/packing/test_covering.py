from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.packing.nodes.bound import dual_prices_of
from treenail.domain.packing.nodes.covering import Covering

AMOUNTS = st.integers(1, 12).map(float)
TYPES = st.lists(st.tuples(st.integers(1, 30).map(float), AMOUNTS, AMOUNTS), min_size=1, max_size=8)
LOADS = st.tuples(st.integers(0, 30).map(float), st.integers(0, 30).map(float)).filter(any)


@given(types=TYPES, load=LOADS, most=st.integers(1, 4), share=st.sampled_from([0.5, 1.0, 2.0]))
def test_choices_have_room_for_the_load_and_cost_less_than_is_asked(
    types: list[tuple[float, float, float]], load: tuple[float, float], most: int, share: float
) -> None:
    table = np.array(sorted(types))
    prices, room, asked = table[:, 0], table[:, 1:], np.array(load)
    dual_prices = dual_prices_of(asked, room, prices)
    below = share * most * prices.max()

    choices = Covering(room, prices, dual_prices).choices(asked, below, most)

    together = np.vstack([room, np.zeros(2)])[choices].sum(axis=1)
    costs = np.append(prices, 0.0)[choices].sum(axis=1)
    assert choices.shape[1] == most
    assert (together >= asked).all()
    assert (costs < below).all()
    assert (np.diff(costs) >= -1e-9).all()


@pytest.mark.parametrize("most", [1, 2])
@given(types=TYPES, load=LOADS)
def test_of_one_type_or_two_the_cheapest_choice_is_found(
    most: int, types: list[tuple[float, float, float]], load: tuple[float, float]
) -> None:
    table = np.array(sorted(types))
    prices, room, asked = table[:, 0], table[:, 1:], np.array(load)
    dual_prices = dual_prices_of(asked, room, prices)
    every = [
        float(prices[list(rows)].sum())
        for count in range(1, most + 1)
        for rows in combinations_with_replacement(range(len(prices)), count)
        if (room[list(rows)].sum(axis=0) >= asked).all()
    ]

    choices = Covering(room, prices, dual_prices).choices(asked, np.inf, most)

    found = np.append(prices, 0.0)[choices].sum(axis=1).tolist()
    assert found[:1] == pytest.approx([min(every)] if every else [])
