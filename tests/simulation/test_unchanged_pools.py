"""Pools that nobody changes: their nodes are what they ask for, and none replaces another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.scenarios.manifests import text
from tests.simulation.unchanged import unchanged
from treenail.adapters.embed import Rehearsal
from treenail.adapters.fake.cluster import Change
from treenail.domain.model.claims import promised_pods, replaced_nodes
from treenail.domain.model.nodes import DRIFTED, NodeClaim, Status, condition_of


class Watch:
    """What happens to claims: which were called drifted, and for which pods each was bought."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.drifted: dict[str, str] = {}
        self.replacing: dict[str, tuple[str, ...]] = {}
        self.bought: dict[str, tuple[str, ...]] = {}
        rehearsal.cluster.on_change(self.note)

    def note(self, change: Change) -> None:
        claim = change.after
        if not isinstance(claim, NodeClaim):
            return
        self.bought.setdefault(claim.name, promised_pods(claim))
        if replaced_nodes(claim):
            self.replacing[claim.name] = replaced_nodes(claim)
        shown = condition_of(claim.conditions, DRIFTED)
        if shown is not None and shown.status is Status.TRUE:
            self.drifted[claim.name] = shown.reason

    def displaced(self) -> int:
        """Return how many pods had a node bought twice: the scheduler gave their place to others."""
        counts = Counter(uid for pods in self.bought.values() for uid in pods)
        return sum(count > 1 for count in counts.values())


def nodes_by_pool(rehearsal: Rehearsal) -> Counter[str]:
    return Counter(claim.pool for claim in rehearsal.claims())


@pytest.mark.seeds(quick=4, soak=500)
def test_nodes_of_an_unchanged_pool_neither_drift_nor_are_replaced(
    seed: int, record_property: Callable[[str, object], None]
) -> None:
    there, workloads = unchanged(seed)
    with Rehearsal(seed=seed) as rehearsal:
        watch = Watch(rehearsal)
        rehearsal.apply(text(*there, *workloads))
        rehearsal.run("15m")
        for workload in workloads:
            rehearsal.scale(workload["metadata"]["name"], 2 * workload["spec"]["replicas"])
        rehearsal.run("15m")
        peak, bought = nodes_by_pool(rehearsal), len(watch.bought)
        rehearsal.crash()
        rehearsal.restart(after=5.0)
        rehearsal.run("15m")
        assert nodes_by_pool(rehearsal) == peak
        assert len(watch.bought) == bought
        rehearsal.scale(workloads[0]["metadata"]["name"], 0)
        rehearsal.run("15m")

        record_property("nodes", bought)
        record_property("displaced", watch.displaced())
        assert watch.drifted == {}
        assert watch.replacing == {}
        assert len(watch.bought) == bought
        assert not nodes_by_pool(rehearsal) - peak
        assert {record.cause for record in rehearsal.history()} <= {None, "empty"}
        # Each node there is, is needed by somebody.
        assert {node.name for node in rehearsal.nodes()} <= {pod.node_name for pod in rehearsal.pods()}
