"""The whole system with pods that come one by one: nodes come before them, and go where none do."""

from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.actors.system import SystemSettings
from treenail.adapters.embed.rehearsal import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.adapters.fake.ec2 import EC2Settings


def at_a_pace(ec2: EC2Settings | None = None) -> Rehearsal:
    """Return a rehearsal of a Deployment whose 500 pods are made at 20 a second."""
    conditions = Conditions(
        system=SystemSettings(cluster_name="demo"),
        cluster=ClusterSettings(pod_writes=20),
        ec2=ec2 or EC2Settings(),
    )
    rehearsal = Rehearsal(seed=1, conditions=conditions)
    rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=500)))
    return rehearsal


def test_nodes_for_all_pods_are_asked_for_when_the_first_are_there() -> None:
    with at_a_pace() as rehearsal:
        rehearsal.run(1)
        asked, there = len(rehearsal.claims()), len(rehearsal.pods())

        rehearsal.run_until(lambda: rehearsal.running() == 500)

        assert there < 60
        assert len(rehearsal.claims()) == len(rehearsal.history()) == asked


def test_nodes_for_more_pods_than_one_decision_takes_are_asked_for_as_fast_as_ec2_grants_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("treenail.domain.cluster.expected_pods.MOST", 150)
    with at_a_pace() as rehearsal:
        rehearsal.run(8)
        asked, there = len(rehearsal.claims()), len(rehearsal.pods())
        rehearsal.run_until(lambda: rehearsal.running() == 500)

        assert there < 200
        assert len(rehearsal.claims()) == len(rehearsal.history()) == asked


def test_a_deployment_that_shrinks_after_two_seconds_gives_up_what_is_not_launched() -> None:
    with at_a_pace(EC2Settings(fleet_latency=(3.0, 4.0))) as rehearsal:
        rehearsal.run(2)
        asked = rehearsal.claims()
        assert not any(claim.launched for claim in asked)

        rehearsal.scale("web", 10)
        rehearsal.run(1)
        given_up = [claim for claim in rehearsal.claims() if claim.leaving]
        rehearsal.run("5m")

        # The controller manager makes what it has begun to make; there are 60 by now.
        assert len(given_up) >= len(asked) - 3
        assert not any(claim.launched for claim in given_up)
        assert rehearsal.running() == 10
        assert len(rehearsal.ec2.live()) == len(rehearsal.nodes()) == 1
