from __future__ import annotations

import pytest

from tests.simulation.clock_storm import ClockStorm


@pytest.mark.seeds(quick=2, soak=50)
def test_clocks_that_are_set_break_nothing_and_end_nothing_early(seed: int) -> None:
    ClockStorm(seed).run()
