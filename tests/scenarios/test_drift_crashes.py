"""The controller dies while nodes are replaced."""

from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, text
from tests.scenarios.test_drift import ONE_POD_EACH, pool
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.taints import DISRUPTED


@pytest.mark.seeds(quick=4, soak=200)
def test_drifted_nodes_are_replaced_whenever_the_controller_dies(seed: int) -> None:
    with Rehearsal(seed=seed) as rehearsal:
        rehearsal.apply(text(node_class(), pool(), deployment(replicas=3, node_selector=ONE_POD_EACH)))
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="5m")
        old = {claim.name for claim in rehearsal.claims()}
        rehearsal.apply(text(pool(labels={"generation": "two"})))

        rehearsal.run(1 + 13 * seed % 170)
        rehearsal.crash()
        rehearsal.restart(after=5)
        rehearsal.run("25m")

        assert not old & {claim.name for claim in rehearsal.claims()}
        assert len(rehearsal.claims()) == rehearsal.running() == 3
        assert not any(DISRUPTED in node.taints for node in rehearsal.nodes())
        causes = [record.cause for record in rehearsal.history() if record.terminated_at is not None]
        assert causes.count("drifted") == 3
        # A replacement whose node stayed after all is given back for being empty.
        assert set(causes) <= {"drifted", "empty"}
