from __future__ import annotations

import pytest

from tests.simulation.rival_storm import RivalStorm


@pytest.mark.seeds(quick=2, soak=50)
def test_two_controllers_at_once_break_nothing_and_give_back_what_was_doubled(seed: int) -> None:
    RivalStorm(seed).run()
