from __future__ import annotations

import pytest

from tests.simulation.kill import Kill


@pytest.mark.seeds(quick=7, soak=500)
def test_what_a_controller_began_that_died_is_seen_through_or_taken_back(seed: int) -> None:
    Kill(seed).run()
