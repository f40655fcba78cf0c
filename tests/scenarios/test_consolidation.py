"""Nodes that cost more than they need to: their pods move, and they are given back."""

from __future__ import annotations

from typing import Any

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from treenail.actors.system import SystemSettings
from treenail.adapters.embed.rehearsal import Conditions, Rehearsal
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.model.taints import DISRUPTED

SMALL = {"node.kubernetes.io/instance-type": "c5.xlarge"}


def rehearsed(seed: int = 1, *, acting: bool = True, **more: Any) -> Rehearsal:
    system = SystemSettings(cluster_name="demo", consolidation=ConsolidationRules(acting=acting))
    return Rehearsal(seed=seed, conditions=Conditions(system=system, **more))


def pool(after: str = "30s", policy: str = "WhenEmptyOrUnderutilized", budget: str = "100%") -> Manifest:
    made = node_pool(capacity_types=("on-demand",), consolidate_after=after)
    made["spec"]["disruption"] |= {"consolidationPolicy": policy, "budgets": [{"nodes": budget}]}
    return made


def cost(rehearsal: Rehearsal) -> float:
    """Return what the machines that run cost, $/h."""
    return sum(record.price for record in rehearsal.history() if record.terminated_at is None)


def scaled_down(rehearsal: Rehearsal, made: Manifest) -> float:
    """Run twelve pods on nodes for three each, remove every second one, return what the nodes cost then."""
    apps = [deployment(f"app-{n:02}", 1, cpu="1100m", node_selector=SMALL) for n in range(12)]
    rehearsal.apply(text(node_class(), made, *apps))
    rehearsal.run_until(lambda: rehearsal.running() == 12, within="10m")
    for n in range(0, 12, 2):
        rehearsal.scale(f"app-{n:02}", 0)
    rehearsal.run(20)
    return cost(rehearsal)


def test_pods_that_fit_on_fewer_nodes_move_there() -> None:
    with rehearsed() as rehearsal:
        before = scaled_down(rehearsal, pool())

        rehearsal.run("20m")

        assert rehearsal.running() == 6
        assert cost(rehearsal) == before / 2
        assert not any(DISRUPTED in node.taints for node in rehearsal.nodes())
        causes = {record.cause for record in rehearsal.history() if record.terminated_at is not None}
        assert "underutilized" in causes
        assert causes <= {"underutilized", "empty"}


def test_what_would_be_done_is_told_and_not_done() -> None:
    with rehearsed(acting=False) as rehearsal:
        scaled_down(rehearsal, pool())

        rehearsal.run("20m")

        causes = {record.cause for record in rehearsal.history() if record.terminated_at is not None}
        assert "underutilized" not in causes
        assert any(line.message == "consolidation found" for line in rehearsal.telemetry.logs)
