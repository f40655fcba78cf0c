"""Pools deleted, then node classes, as before an uninstall: nothing is left in AWS, nor in the cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.ec2 import EC2Faults, Spell
from treenail.domain.model.node_classes import NodeClass

# Every fault that may keep something from being given back the first time.
BAD_LUCK = EC2Faults(terminate_lost=0.3, unavailable=0.2, throttled=0.2, invisible=0.3)


def in_use(seed: int, conditions: Conditions | None = None) -> Rehearsal:
    rehearsal = Rehearsal(seed=seed, conditions=conditions)
    pools = (node_pool("one"), node_pool("two", capacity_types=("on-demand",), weight=5))
    rehearsal.apply(text(node_class(), *pools, deployment("web", 6), deployment("api", 4)))
    rehearsal.run_until(lambda: rehearsal.running() == 10)
    return rehearsal


def left(rehearsal: Rehearsal) -> dict[str, int]:
    return {
        "instances": len(rehearsal.ec2.live()),
        "profiles": len(rehearsal.ec2.iam.all),
        "nodes": len(rehearsal.nodes()),
        "claims": len(rehearsal.claims()),
        "node classes": len(rehearsal.cluster.objects(NodeClass)),
    }


NOTHING = {"instances": 0, "profiles": 0, "nodes": 0, "claims": 0, "node classes": 0}


def uninstall(rehearsal: Rehearsal) -> None:
    """Do what the documentation says, each step after the one before."""
    for pool in ("one", "two"):
        rehearsal.delete("NodePool", pool)
    rehearsal.run_until(lambda: not rehearsal.claims())
    rehearsal.delete("EC2NodeClass", "default")
    rehearsal.run_until(lambda: not rehearsal.cluster.objects(NodeClass))


def test_nothing_is_left_once_pools_and_node_classes_are_deleted() -> None:
    with in_use(1) as rehearsal:
        before = left(rehearsal)
        assert all(before.values())

        uninstall(rehearsal)

        assert left(rehearsal) == NOTHING


def test_the_order_does_not_matter_as_a_node_class_stays_while_it_is_used() -> None:
    with in_use(2) as rehearsal:
        rehearsal.delete("EC2NodeClass", "default")
        rehearsal.run("2m")
        assert len(rehearsal.cluster.objects(NodeClass)) == 1
        assert rehearsal.ec2.live()

        for pool in ("one", "two"):
            rehearsal.delete("NodePool", pool)
        rehearsal.run("10m")

        assert left(rehearsal) == NOTHING


@pytest.mark.seeds(quick=5, soak=100)
def test_nothing_is_left_however_often_a_call_fails(seed: int) -> None:
    with in_use(seed) as rehearsal:
        rehearsal.ec2.faults = BAD_LUCK
        if seed % 2:
            rehearsal.ec2_under(Spell.ANSWERS_LOST, 120)

        uninstall(rehearsal)

        assert left(rehearsal) == NOTHING


def test_an_instance_that_nobody_knows_of_is_collected_meanwhile() -> None:
    with in_use(3) as rehearsal:
        (known, *_) = rehearsal.ec2.all_instances()
        rehearsal.ec2.outside.launch(replace(known.request, token="another", count=1))  # noqa: S106 (no secret)

        uninstall(rehearsal)
        rehearsal.run("3m")

        assert left(rehearsal) == NOTHING
