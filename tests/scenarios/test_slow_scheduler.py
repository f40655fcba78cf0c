"""The whole system with a scheduler that takes its time: nodes do not wait for it, nor come for nothing."""

from __future__ import annotations

import random

import pytest

from tests.scenarios.manifests import changed, deployment, node_class, node_pool, text
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.adapters.fake.ec2 import EC2Settings

WORKLOADS = [f"web-{number}" for number in range(10)]


def with_slow_scheduler(
    seed: int = 1, pods_a_second: float = 20, ec2: EC2Settings | None = None
) -> Rehearsal:
    """Return a rehearsal of a pool whose nodes stay for an hour when they are empty."""
    conditions = Conditions(
        system=SystemSettings(cluster_name="demo"),
        cluster=ClusterSettings(pods_scheduled=pods_a_second, ready=(0.1, 0.3) if ec2 else (8.0, 15.0)),
        ec2=ec2 or EC2Settings(),
    )
    rehearsal = Rehearsal(seed=seed, conditions=conditions)
    pool = changed(node_pool(), "spec.disruption.consolidateAfter", "1h")
    rehearsal.apply(text(node_class(), pool))
    return rehearsal


def test_nodes_for_all_workloads_are_asked_for_before_the_scheduler_has_tried_their_pods() -> None:
    with with_slow_scheduler() as rehearsal:
        rehearsal.apply(text(*(deployment(name, 40) for name in WORKLOADS)))
        rehearsal.run(3)
        asked = len(rehearsal.claims())
        tried = sum(pod.unschedulable_since is not None for pod in rehearsal.pods())

        rehearsal.run_until(lambda: rehearsal.running() == 400)

        assert tried < 80
        assert len(rehearsal.history()) == asked


def test_workloads_that_come_minutes_after_the_scheduler_last_found_no_node_need_not_wait_for_it() -> None:
    # Nodes come in a second: the scheduler finds room for all that it has come to.
    fast = EC2Settings(pending=(0.1, 0.3), boot=(0.2, 0.5))
    with with_slow_scheduler(pods_a_second=10, ec2=fast) as rehearsal:
        for name in WORKLOADS:
            rehearsal.apply(text(deployment(name, 100)))
            rehearsal.run(7)
        tried = sum(bool(pod.node_name) or pod.unschedulable_since is not None for pod in rehearsal.pods())
        cpus = sum(node.allocatable["cpu"] for node in rehearsal.nodes())

        assert tried < 720
        assert cpus >= 1_000_000


@pytest.mark.seeds(quick=3, soak=100)
def test_nothing_is_bought_for_untried_pods_where_there_is_room(seed: int) -> None:
    dice = random.Random(seed)
    with with_slow_scheduler(seed, dice.choice((5, 20, 50))) as rehearsal:
        rehearsal.apply(text(deployment("before", 400)))
        rehearsal.run_until(lambda: rehearsal.running() == 400)
        rehearsal.scale("before", 0)
        rehearsal.run_until(lambda: not rehearsal.pods())
        before = len(rehearsal.history())

        # Somebody else waits for a node of his own, so that nodes are known to lack for pods like these.
        alike = changed(deployment("elsewhere", 1), "spec.template.spec.nodeSelector", {"no": "where"})
        rehearsal.apply(text(alike, *(deployment(name, 40) for name in WORKLOADS)))
        rehearsal.run_until(lambda: rehearsal.running() == 400)

        assert len(rehearsal.history()) == before


@pytest.mark.seeds(quick=3, soak=100)
def test_workloads_that_come_while_others_lack_nodes_get_as_many_as_they_need(seed: int) -> None:
    dice = random.Random(seed)
    with with_slow_scheduler(seed, dice.choice((5, 20, 50))) as rehearsal:
        for name in WORKLOADS:
            rehearsal.apply(text(deployment(name, dice.choice((1, 5, 40, 100)), cpu=dice.choice(("1", "2")))))
            rehearsal.run(dice.choice((0, 0.5, 2, 20)))
        rehearsal.run_until(lambda: all(pod.ready for pod in rehearsal.pods()))
        asked = sum(pod.spec.requests["cpu"] for pod in rehearsal.pods())

        assert sum(node.allocatable["cpu"] for node in rehearsal.nodes()) <= 1.25 * asked + 4_000
