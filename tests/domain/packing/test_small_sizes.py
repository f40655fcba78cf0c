"""Small sizes are computed in ways of their own: with the same results as large ones."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from treenail.domain.packing.arrays.arrays import count_fitting, unequalled
from treenail.domain.packing.arrays.dealing import fewest_first

MANY = 500


@pytest.mark.parametrize("seed", range(200))
def test_pods_are_dealt_to_few_places_as_to_many(seed: int) -> None:
    dice = Random(seed)
    places = dice.randrange(1, 9)
    held = np.array([dice.randrange(6) for _ in range(places)], dtype=np.float64)
    fits = np.array([dice.choice((0, 1, 2, 5, 30)) for _ in range(places)], dtype=np.float64)
    pods = dice.randrange(40)

    full = np.zeros(MANY)
    among_many = fewest_first(np.append(held, full), np.append(fits, full), pods)

    assert fewest_first(held, fits, pods).tolist() == among_many[:places].tolist()


def test_places_that_hold_any_number_take_what_there_is() -> None:
    assert fewest_first(np.array([2.0, 0.0]), np.array([np.inf, np.inf]), 4).tolist() == [1.0, 3.0]


@pytest.mark.parametrize("seed", range(50))
def test_few_rows_are_compared_as_many(seed: int) -> None:
    dice = np.random.default_rng(seed)
    rows = dice.integers(0, 4, size=(12, 3)).astype(np.float64)

    repeated = np.concatenate([rows, rows[np.zeros(MANY, dtype=np.intp)]])

    assert unequalled(rows).tolist() == unequalled(repeated).tolist()


@pytest.mark.parametrize("requests", [(2.0, 0.0, 1.0), (0.0, 0.0, 0.0), (3.0, 1.0, 1.0)])
def test_pods_fit_into_few_rows_as_into_many(requests: tuple[float, ...]) -> None:
    free = np.array([[9.0, 0.0, 3.0], [1.0, 5.0, 9.0], [0.0, 0.0, 0.0], [-1.0, 7.0, 7.0]])
    asked = np.array(requests)

    among_many = count_fitting(np.concatenate([free] * MANY), asked)

    assert count_fitting(free, asked).tolist() == among_many[: len(free)].tolist()
