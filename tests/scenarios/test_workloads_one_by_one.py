"""Workloads that are applied one after the other, as `kubectl apply` does: they get nodes together."""

from __future__ import annotations

import pytest

from tests.scenarios.manifests import changed, deployment, node_class, node_pool, text
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings


def with_controller_manager(writes: float, seed: int = 1, scheduled: float | None = None) -> Rehearsal:
    """Return a rehearsal of a pool whose nodes stay for an hour when they are empty."""
    cluster = ClusterSettings(pod_writes=writes, pods_scheduled=scheduled)
    conditions = Conditions(system=SystemSettings(cluster_name="demo"), cluster=cluster)
    rehearsal = Rehearsal(seed=seed, conditions=conditions)
    pool = changed(node_pool(), "spec.disruption.consolidateAfter", "1h")
    rehearsal.apply(text(node_class(), pool))
    return rehearsal


@pytest.mark.parametrize("scheduled", [None, 5])
@pytest.mark.seeds(quick=3, soak=50)
def test_small_workloads_that_come_less_than_a_second_apart_get_nodes_by_one_decision(
    seed: int, scheduled: float | None
) -> None:
    with with_controller_manager(20, seed, scheduled) as rehearsal:
        for number in range(6):
            rehearsal.apply(text(deployment(f"web-{number}", 10)))
            rehearsal.run(0.5)
        rehearsal.run_until(lambda: rehearsal.running() == 60)

        # Others may find places on these nodes for pods whose place the scheduler gave away.
        assert len({node.claim.rpartition("-")[0] for node in rehearsal.history()}) == 1


def test_a_large_workload_has_its_nodes_asked_for_at_once() -> None:
    with with_controller_manager(20) as rehearsal:
        rehearsal.apply(text(deployment("web", 2_000)))

        rehearsal.run(0.6)

        assert sum(claim.requests["cpu"] for claim in rehearsal.claims()) >= 2_000_000
