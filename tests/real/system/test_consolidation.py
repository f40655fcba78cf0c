"""Consolidation on a real control plane, as users see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.real.parts.kubectl import Kubectl
from tests.real.system.consolidating import AFTER_A_KILL, Consolidating, consolidating, events
from tests.real.system.consolidation_moments import MERGED, REPLACED, move_moment
from tests.real.system.controller import eventually
from tests.real.system.killable import CONNECTIONS_ARE_CUT, Grounds

pytestmark = CONNECTIONS_ARE_CUT


@pytest.fixture(scope="module")
def there(grounds: Grounds) -> Iterator[Consolidating]:
    with consolidating(grounds, CONSOLIDATION="on") as begun:
        yield begun


def test_nodes_whose_pods_fit_elsewhere_are_merged_and_one_pod_is_away_at_a_time(
    there: Consolidating, kubectl: Kubectl, note: Callable[[str, str], None]
) -> None:
    there.fill(MERGED.pods, MERGED.machines)
    machines = there.scene.bought()
    there.shrink(MERGED.left)

    note("seconds", f"{there.expect(MERGED.left, MERGED.remains):.1f}")

    there.witness.check()
    assert there.witness.ended
    assert there.scene.bought() == machines, "nothing had to be bought"
    told = events(kubectl, "ConsolidationCandidate")
    assert {"Node", "NodeClaim"} <= set(told)
    assert all(one.startswith("Consolidation candidate: delete: [") for one in told["Node"])
    assert all("(savings: $" in one for one in told["Node"])
    eventually(lambda: there.consolidatable() == [True], there.scene.summary)
    eventually(lambda: bool(events(kubectl, "Unconsolidatable").get("Node")), "no word on what stays")


def test_a_node_that_is_too_large_is_replaced_and_its_pod_moves_when_the_new_one_is_ready(
    there: Consolidating, kubectl: Kubectl, note: Callable[[str, str], None]
) -> None:
    there.fill(REPLACED.pods, REPLACED.machines)
    there.shrink(REPLACED.left)

    note("seconds", f"{there.expect(REPLACED.left, REPLACED.remains):.1f}")

    there.witness.check()
    (moved,) = there.witness.ended
    assert moved.at > there.initialized_at()
    told = events(kubectl, "ConsolidationCandidate")["NodeClaim"]
    assert any("replace: [" in one and "-> [1 replacement]" in one for one in told)


@pytest.mark.seeds(quick=3, soak=11)
def test_a_controller_killed_during_a_move_finishes_it_or_takes_it_back(
    there: Consolidating, seed: int, note: Callable[[str, str], None]
) -> None:
    way, moment = move_moment(seed)

    there.kill_at(way, moment)
    note("killed", f"{way.name}: {moment.name}: {there.scene.cluster.summary()}")
    there.scene.controller.start()

    note("seconds", f"{there.expect(way.left, way.remains, within=AFTER_A_KILL):.1f}")
    there.witness.check()
