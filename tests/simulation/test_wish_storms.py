from __future__ import annotations

import pytest

from tests.simulation.wish_storm import WishStorm


@pytest.mark.seeds(quick=3, soak=500)
def test_pods_to_come_are_neither_bought_for_twice_nor_waited_for_when_none_come(seed: int) -> None:
    WishStorm(seed).run()


def test_a_storm_has_the_same_wishes_whether_nodes_are_bought_for_them_or_for_pods_alone() -> None:
    storms = [WishStorm(1, for_wishes=for_wishes) for for_wishes in (True, False)]
    for storm in storms:
        storm.run()
    early, late = ([e.fields for e in s.rehearsal.timeline.entries if e.event == "Scaled"] for s in storms)
    assert early == late
    assert all(storm.cost > 0 and storm.pod_hours > 0 for storm in storms)
