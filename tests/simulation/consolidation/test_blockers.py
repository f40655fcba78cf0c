"""Blockers: each keeps its node, is named to people, and keeps it no longer once it is taken away."""

from __future__ import annotations

import pytest

from tests.simulation.consolidation.blockers import BLOCKERS, gone, scene
from tests.simulation.consolidation.sides import Rehearsed, Side


@pytest.mark.parametrize("name", BLOCKERS)
def test_a_node_stays_for_its_blocker_which_is_named_and_goes_without_it(name: str) -> None:
    blocker = BLOCKERS[name]
    with Rehearsed(Side.OURS) as rehearsed:
        made = scene(rehearsed, blocker)
        node = made.node
        rehearsed.rehearsal.run("30m")
        assert not gone(made, node), "it went in spite of it"
        assert blocker.said.lower() in rehearsed.said_of(node).lower()

        blocker.take(made)
        rehearsed.rehearsal.run_until(lambda: gone(made, node), within="2h")
