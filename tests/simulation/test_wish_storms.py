from __future__ import annotations

import pytest

from tests.simulation.wish_storm import WishStorm


@pytest.mark.seeds(quick=3, soak=500)
def test_pods_to_come_are_neither_bought_for_twice_nor_waited_for_when_none_come(seed: int) -> None:
    WishStorm(seed).run()
