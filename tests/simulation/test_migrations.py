from __future__ import annotations

import pytest

from tests.simulation.migration import WAYS, Migration


@pytest.mark.seeds(quick=1, soak=50)
@pytest.mark.parametrize("way", WAYS)
def test_no_pod_is_lost_and_no_budget_broken_from_provisioners_to_pools(way: str, seed: int) -> None:
    Migration(way, seed).run()
