from __future__ import annotations

import pytest

from tests.simulation.storm import Storm


@pytest.mark.seeds(quick=6, soak=2000)
def test_nothing_is_lost_doubled_or_left_over_whatever_happens(seed: int) -> None:
    Storm(seed).run()
