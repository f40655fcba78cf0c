from __future__ import annotations

import pytest

from tests.simulation.leader_storm import LeaderStorm


@pytest.mark.seeds(quick=3, soak=100)
def test_replicas_that_are_killed_frozen_and_cut_off_buy_nothing_twice_and_lose_nothing(seed: int) -> None:
    LeaderStorm(seed).run()
