from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.lives import Lives

NODES = 100


@pytest.mark.seeds(quick=1, soak=100)
def test_every_end_of_a_node_has_one_cause_and_nothing_is_left_of_any(
    seed: int, record_property: Callable[[str, object], None]
) -> None:
    lived = Lives(seed, wanted=NODES).run()

    record_property("nodes", lived)
    assert lived >= NODES
