"""Counters of nodes given back: each node counts once, by what was decided and why."""

from __future__ import annotations

import pytest

from tests.scenarios.manifests import changed, deployment, node_class, node_pool, text
from treenail.adapters.embed import Rehearsal
from treenail.domain.telemetry import metrics

DISRUPTED, DECISIONS = metrics.NODECLAIMS_DISRUPTED.name, metrics.DISRUPTION_DECISIONS.name


def running(seed: int, **pool: object) -> Rehearsal:
    """Return a rehearsal in which three pods run on one node."""
    rehearsal = Rehearsal(seed=seed)
    written = node_pool()
    for path, value in pool.items():
        written = changed(written, path.replace("__", "."), value)
    rehearsal.apply(text(node_class(), written, deployment(replicas=3)))
    rehearsal.run_until(lambda: rehearsal.running() == 3)
    return rehearsal


@pytest.mark.seeds(quick=6, soak=50)
def test_an_empty_node_counts_once_as_deleted(seed: int) -> None:
    with running(seed) as rehearsal:
        rehearsal.scale("web", 0)
        rehearsal.run("5m")

        assert rehearsal.nodes() == ()
        assert rehearsal.telemetry.counted(DISRUPTED, reason="empty") == 1
        decided = {"decision": "delete", "reason": "empty", "consolidation_type": "empty"}
        assert rehearsal.telemetry.counted(DECISIONS, **decided) == 1
        assert rehearsal.telemetry.counted(DECISIONS) == 1


@pytest.mark.seeds(quick=6, soak=50)
def test_a_drifted_node_counts_once_as_replaced(seed: int) -> None:
    with running(seed) as rehearsal:
        rehearsal.apply(text(node_pool(labels={"new": "yes"})))
        rehearsal.run("10m")

        assert rehearsal.running() == 3
        assert rehearsal.telemetry.counted(DISRUPTED, reason="drifted") == 1
        decided = {"decision": "replace", "reason": "drifted", "consolidation_type": ""}
        assert rehearsal.telemetry.counted(DECISIONS, **decided) == 1
        assert rehearsal.telemetry.counted(DECISIONS) == 1


def test_a_node_that_expires_is_no_voluntary_decision() -> None:
    with running(1, spec__template__spec__expireAfter="5m") as rehearsal:
        first = {node.name for node in rehearsal.nodes()}
        rehearsal.run_until(lambda: first.isdisjoint(node.name for node in rehearsal.nodes()), within="20m")

        assert rehearsal.telemetry.counted(DISRUPTED, reason="expired") >= 1
        assert rehearsal.telemetry.counted(DECISIONS) == 0
