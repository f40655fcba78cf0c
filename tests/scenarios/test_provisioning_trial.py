from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.adapters.controller.failures import SPREAD, Failures
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.domain.telemetry import metrics


def fail(rehearsal: Rehearsal, directory: Path) -> None:
    """Let the controller fail now, and the next one start as what is remembered says."""
    failures = Failures(directory, rehearsal.world)
    failures.note()
    rehearsal.crash()
    pause = failures.pause()
    drawn = None if pause is None else pause * (1 + SPREAD)
    system = replace(rehearsal.conditions.system, provisioning=pause is None, resumes_after=drawn)
    rehearsal.conditions = replace(rehearsal.conditions, system=system)
    rehearsal.restart()
    rehearsal.run(1)


def events(rehearsal: Rehearsal, reason: str) -> int:
    return sum(record.event.reason == reason for record in rehearsal.cluster.events())


@pytest.mark.seeds(quick=3, soak=50)
def test_two_minutes_after_the_third_failure_nodes_are_bought_again(seed: int, tmp_path: Path) -> None:
    with Rehearsal(seed=seed) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool()))
        rehearsal.run(10)
        for _ in range(3):
            fail(rehearsal, tmp_path)
        failed_at = rehearsal.seconds
        rehearsal.apply(text(deployment(replicas=3)))
        rehearsal.run(50)

        assert rehearsal.claims() == ()
        assert rehearsal.telemetry.gauged(metrics.PROVISIONING_ENABLED.name) == 0
        assert events(rehearsal, "ProvisioningSuspended") == 1
        assert events(rehearsal, "ProvisioningResumed") == 0

        rehearsal.run_until(lambda: bool(rehearsal.claims()), within="2m")

        assert rehearsal.seconds - failed_at < 120
        assert rehearsal.telemetry.gauged(metrics.PROVISIONING_ENABLED.name) == 1
        assert events(rehearsal, "ProvisioningResumed") == 1
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="3m")


def test_while_provisioning_is_off_warnings_are_still_heeded(tmp_path: Path) -> None:
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="3m")
        for _ in range(5):
            fail(rehearsal, tmp_path)
        old = rehearsal.interrupt()

        rehearsal.run("3m")

        assert old not in [node.name for node in rehearsal.nodes()]
        assert rehearsal.telemetry.gauged(metrics.PROVISIONING_ENABLED.name) == 0
        assert rehearsal.running() == 0

        rehearsal.run_until(lambda: rehearsal.running() == 3, within="7m")


def test_nodes_that_stood_empty_meanwhile_are_given_back_when_it_is_on_again(tmp_path: Path) -> None:
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(consolidate_after="30s"), deployment(replicas=3)))
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="3m")
        for _ in range(3):
            fail(rehearsal, tmp_path)
        rehearsal.scale("web", 0)
        rehearsal.run("1m")
        assert not told(rehearsal, "DisruptNodes")

        rehearsal.run("4m")

        assert rehearsal.nodes() == ()


def test_without_a_time_to_come_back_it_stays_off() -> None:
    conditions = Conditions()
    system = replace(conditions.system, provisioning=False)
    with Rehearsal(seed=1, conditions=replace(conditions, system=system)) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment()))
        rehearsal.run("20m")

        assert rehearsal.claims() == ()
