"""Nodes that cost more than they need to: their pods move, and they are given back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.model.taints import DISRUPTED
from treenail.domain.telemetry import metrics

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


def going(rehearsal: Rehearsal) -> bool:
    return any(DISRUPTED in node.taints for node in rehearsal.nodes())


def moves(rehearsal: Rehearsal) -> int:
    """Return how many moves began."""
    began = (entry for entry in rehearsal.timeline.entries if entry.event == "DisruptNodes")
    return sum(entry.fields["cause"] == "underutilized" for entry in began)


def holding_all() -> Manifest:
    """A budget that lets no pod of any Deployment be evicted."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all"},
        "spec": {"selector": {}, "maxUnavailable": 0},
    }


def test_a_node_whose_pods_may_not_be_evicted_for_an_hour_stays_and_is_not_tried_again_at_once() -> None:
    with rehearsed() as rehearsal:
        scaled_down(rehearsal, pool())
        rehearsal.run_until(lambda: moves(rehearsal) > 0, within="10m")
        rehearsal.apply(text(holding_all()))
        rehearsal.run_until(lambda: not going(rehearsal), within="70m")
        rehearsal.delete("PodDisruptionBudget", "all")
        stayed_at, before = rehearsal.seconds, moves(rehearsal)

        assert rehearsal.running() == 6
        (withdrawn, *_) = (span for span in rehearsal.telemetry.spans() if span.name == "withdraw")
        assert withdrawn.error == "some of its pods could not be evicted for an hour"
        rehearsal.run_until(lambda: moves(rehearsal) > before, within="10m")
        assert rehearsal.seconds - stayed_at >= 90


def outgrown(rehearsal: Rehearsal) -> str:
    """Run one small pod on a node that was bought for a large one too; return the node's claim."""
    many = deployment("many", 1, cpu="12")
    few = deployment("few", 1, cpu="900m")
    rehearsal.apply(text(node_class(), pool(), many, few))
    rehearsal.run_until(lambda: rehearsal.running() == 2, within="10m")
    rehearsal.scale("many", 0)
    rehearsal.run(20)
    (claim,) = rehearsal.claims()
    return claim.name


def test_a_node_that_is_too_large_is_replaced_by_a_cheaper_one_that_comes_first() -> None:
    with rehearsed() as rehearsal:
        old = outgrown(rehearsal)
        before = cost(rehearsal)

        rehearsal.run("20m")

        (claim,) = rehearsal.claims()
        assert claim.name != old
        assert rehearsal.running() == 1
        assert cost(rehearsal) < before / 4
        saved = rehearsal.telemetry.counted(metrics.CONSOLIDATION_SAVED.name, nodepool="default")
        assert saved == pytest.approx(before - cost(rehearsal))


def expect_untouched(rehearsal: Rehearsal, claim: str) -> None:
    """Check that one node is left, which is open, and its pod on it."""
    assert [there.name for there in rehearsal.claims()] == [claim]
    (node,) = rehearsal.nodes()
    assert not node.unschedulable
    assert DISRUPTED not in node.taints
    assert rehearsal.running() == 1


def test_where_ec2_has_no_capacity_for_a_replacement_the_node_stays() -> None:
    with rehearsed() as rehearsal:
        old = outgrown(rehearsal)
        rehearsal.run_out("*", "*")

        rehearsal.run("30m")

        assert any(line.message == "deprovisioning via consolidation" for line in rehearsal.telemetry.logs)
        expect_untouched(rehearsal, old)


def test_a_replacement_that_comes_up_too_dear_is_given_back_and_the_node_stays() -> None:
    with rehearsed() as rehearsal:
        old = outgrown(rehearsal)
        for name in ("c5.large", "m5.large", "c5.xlarge", "m5.xlarge", "c5.2xlarge"):
            rehearsal.run_out(name, "*")

        rehearsal.run(40)
        (node,) = rehearsal.nodes()
        assert not node.unschedulable
        assert DISRUPTED not in node.taints

        # The next plan knows what is to be had, and finds that the same node still saves something.
        rehearsal.run("10m")
        ended = {record.claim: record.cause for record in rehearsal.history()}
        assert sorted(map(str, ended.values())) == ["None", "empty", "underutilized"]
        assert ended[old] == "underutilized"
        (withdrawn,) = (span for span in rehearsal.telemetry.spans() if span.name == "withdraw")
        assert withdrawn.error.startswith("replacement costs")
        # Only the second move counts.
        launched = {record.claim: record.price for record in rehearsal.history()}
        (last,) = rehearsal.claims()
        saved = rehearsal.telemetry.counted(metrics.CONSOLIDATION_SAVED.name, nodepool="default")
        assert saved == pytest.approx(launched[old] - launched[last.name])
        assert rehearsal.running() == 1


@pytest.mark.seeds(quick=6, soak=200)
def test_whenever_the_controller_dies_moves_are_made_or_taken_back(seed: int) -> None:
    with rehearsed(seed) as rehearsal:
        if seed % 2:
            outgrown(rehearsal)
        else:
            scaled_down(rehearsal, pool())
        before, running = cost(rehearsal), rehearsal.running()

        rehearsal.run(13 + 17 * seed % 160)
        rehearsal.crash()
        rehearsal.restart(after=5)
        rehearsal.run("30m")

        assert rehearsal.running() == running
        assert cost(rehearsal) < before
        assert not any(DISRUPTED in node.taints or node.unschedulable for node in rehearsal.nodes())
        assert len(rehearsal.claims()) == len(rehearsal.nodes())
