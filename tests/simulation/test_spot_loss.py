from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.spot_loss import SpotLoss


@pytest.mark.seeds(quick=1, soak=50)
def test_the_pods_of_twenty_of_sixty_spot_nodes_run_elsewhere_before_they_are_gone(
    seed: int, record_property: Callable[[str, object], None]
) -> None:
    loss = SpotLoss(seed, pods=1_000, lost=20)

    done = loss.run()

    record_property("pods moved in time", f"{done.in_time} of {done.displaced}")
    record_property("of those alone, dark at some instant", f"{done.dark} of {done.alone}")
    assert 58 <= loss.nodes_before <= 64
    assert done.displaced > 300
    assert done.in_time >= 0.95 * done.displaced
    assert done.alone > 50
    # Of those whose new pod starts while the old one still stops.
    assert done.dark <= 0.05 * done.alone
