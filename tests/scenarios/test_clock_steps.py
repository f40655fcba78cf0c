from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.telemetry import metrics

STEPS = (-3600.0, 3600.0, -5.0, 5.0)


def drain_takes(step: float) -> float:
    """Return how long it takes until a deleted node is gone, where clocks are set meanwhile."""
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3, grace_seconds=20)))
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="5m")
        rehearsal.delete("Node", rehearsal.nodes()[0].name)
        since = rehearsal.seconds
        rehearsal.run(3)
        if step:
            rehearsal.step_clock(step)
        rehearsal.run_until(lambda: bool(told(rehearsal, "InstanceTerminated")), within="20m")
        return rehearsal.seconds - since


@pytest.mark.parametrize("step", STEPS)
def test_a_drain_takes_as_long_as_without_a_step(step: float) -> None:
    assert drain_takes(step) == pytest.approx(drain_takes(0), abs=5)


def refused_decided_within(step: float) -> list[float]:
    """Return when refused pods are decided on again, where the controller's clock is set."""
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(node_selector={"no": "such"})))
        rehearsal.run("45s")
        seen = len(told(rehearsal, "PlanCommitted"))
        if step:
            rehearsal.step_clock(step)
        rehearsal.run("6m")
        return [entry.at for entry in told(rehearsal, "PlanCommitted")[seen:]]


@pytest.mark.parametrize("step", STEPS)
def test_refused_pods_are_decided_on_as_without_a_step(step: float) -> None:
    without = refused_decided_within(0)
    assert without
    assert refused_decided_within(step) == pytest.approx(without, abs=5)


@pytest.mark.parametrize("step", STEPS)
def test_a_machine_that_boots_is_waited_for_though_clocks_are_set(step: float) -> None:
    with Rehearsal(seed=4) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
        rehearsal.run_until(lambda: bool(rehearsal.claims()), within="1m")
        rehearsal.step_cluster_clock(step)
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="3m")
        rehearsal.scale("web", 30)
        rehearsal.run_until(lambda: rehearsal.running() == 30, within="3m")

        assert not told(rehearsal, "NodeNeverCame")
        assert all(record.terminated_at is None for record in rehearsal.history())


def test_a_spot_warning_leaves_its_two_minutes_whatever_the_cluster_takes_the_time_for() -> None:
    with Rehearsal(seed=5) as rehearsal:
        rehearsal.step_cluster_clock(3600)
        rehearsal.crash()
        rehearsal.restart()
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3, grace_seconds=20)))
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="5m")
        rehearsal.interrupt()
        rehearsal.run("3m")

        deleted = [e for e in rehearsal.cluster.events() if e.event.reason == "Disrupted"]
        assert not deleted
        assert rehearsal.running() == 3


def test_a_step_is_logged_and_counted() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment()))
        rehearsal.run("1m")
        rehearsal.step_clock(-3600)
        rehearsal.run("3m")

        [line] = [at for at in rehearsal.telemetry.logs if "clock of this machine was set" in at.message]
        assert line.fields["seconds"] == pytest.approx(-3600)
        assert rehearsal.telemetry.counted(metrics.CLOCK_STEPS.name, direction="back") == 1
