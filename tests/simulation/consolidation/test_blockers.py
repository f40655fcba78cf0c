"""Blockers: each keeps its node, is named to people, and keeps it no longer once it is taken away."""

from __future__ import annotations

from itertools import cycle, islice

import pytest

from tests.simulation.consolidation.blockers import ALONE, BLOCKERS, gone, scene, scenes
from tests.simulation.consolidation.sides import Rehearsed, Side, Terms


@pytest.mark.seeds(quick=1, soak=8)
@pytest.mark.parametrize("name", BLOCKERS)
def test_a_node_stays_for_its_blocker_which_is_named_and_goes_without_it(name: str, seed: int) -> None:
    blocker = BLOCKERS[name]
    with Rehearsed(Side.OURS, Terms(seed=seed)) as rehearsed:
        made = scene(rehearsed, blocker)
        node = made.node
        rehearsed.rehearsal.run("30m")
        assert not gone(made, node), "it went in spite of it"
        assert blocker.said.lower() in rehearsed.said_of(node).lower()

        blocker.take(made)
        rehearsed.rehearsal.run_until(lambda: gone(made, node), within="2h")


def test_of_many_blocked_nodes_in_one_cluster_nearly_all_go_without_what_is_named(
    pytestconfig: pytest.Config,
) -> None:
    count = 200 if pytestconfig.getoption("--soak") else 24
    names = islice(cycle(name for name in BLOCKERS if name not in ALONE), count)
    blockers = {f"{number}": BLOCKERS[name] for number, name in enumerate(names)}
    with Rehearsed(Side.OURS) as rehearsed:
        made = scenes(rehearsed, blockers)
        nodes = {cell: one.node for cell, one in made.items()}
        rehearsed.rehearsal.run("30m")
        assert [cell for cell, one in made.items() if gone(one, nodes[cell])] == []
        unnamed = [
            c for c, node in nodes.items() if blockers[c].said.lower() not in rehearsed.said_of(node).lower()
        ]
        assert unnamed == []

        for cell, one in made.items():
            blockers[cell].take(one)
        rehearsed.rehearsal.run("2h")
        left = [cell for cell, one in made.items() if not gone(one, nodes[cell])]
        assert len(left) <= count // 100
