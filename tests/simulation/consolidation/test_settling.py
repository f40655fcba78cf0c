from __future__ import annotations

import pytest

from tests.simulation.consolidation.settling import Settling


@pytest.mark.seeds(quick=1, soak=2000)
def test_a_cluster_comes_to_rest_and_no_pod_ever_lacks_a_place(seed: int) -> None:
    Settling(seed).run()
