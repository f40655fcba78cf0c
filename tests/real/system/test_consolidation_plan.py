"""`CONSOLIDATION=plan` and `treenail plan` on a real control plane."""

from __future__ import annotations

import time

from tests.real.parts.kubectl import Kubectl
from tests.real.system.consolidating import consolidating, events
from tests.real.system.consolidation_moments import MERGED
from tests.real.system.controller import eventually
from tests.real.system.killable import WITHIN, Grounds
from tests.real.system.wholeness import is_marked

# Two looks for moves, with room.
_LOOKS_SECONDS = 25.0


def test_with_plan_moves_are_told_and_not_made_and_the_command_says_the_same(
    grounds: Grounds, kubectl: Kubectl
) -> None:
    with consolidating(grounds, CONSOLIDATION="plan") as there:
        there.fill(MERGED.pods, MERGED.machines)
        names = {claim["metadata"]["name"] for claim in there.scene.cluster.claims()}
        there.shrink(MERGED.left)

        def told() -> set[str]:
            messages = events(kubectl, "ConsolidationCandidate").get("Node", [])
            return {name for name in names for one in messages if name in one}

        eventually(lambda: len(told()) == 2, there.scene.summary, within=WITHIN)
        planned = there.plan()
        time.sleep(_LOOKS_SECONDS)

        assert {claim["metadata"]["name"] for claim in there.scene.cluster.claims()} == names
        assert not any(map(is_marked, there.scene.cluster.nodes()))
        assert there.witness.ended == []
        assert sum(len(move["nodes"]) for move in planned["moves"]) == 2
        assert {move["reason"] for move in planned["moves"]} == {"underutilized"}
        assert planned["costAfter"] < planned["costBefore"]
