"""Nodes that have lived for as long as they may: in each generation of the API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, pods_by_node, told
from treenail.adapters.embed.rehearsal import Rehearsal

OLD_CLASS = {
    "apiVersion": "karpenter.k8s.aws/v1alpha1",
    "kind": "AWSNodeTemplate",
    "metadata": {"name": "default"},
    "spec": {
        "subnetSelector": {"karpenter.sh/discovery": "demo"},
        "securityGroupSelector": {"karpenter.sh/discovery": "demo"},
    },
}
PROVISIONER = {
    "apiVersion": "karpenter.sh/v1alpha5",
    "kind": "Provisioner",
    "metadata": {"name": "default"},
    "spec": {
        "ttlSecondsUntilExpired": 600,
        "ttlSecondsAfterEmpty": 30,
        "providerRef": {"name": "default"},
    },
}


def expiring() -> dict[str, Any]:
    pool = node_pool()
    pool["spec"]["template"]["spec"]["expireAfter"] = "10m"
    return pool


def expiring_beta() -> dict[str, Any]:
    pool = node_pool()
    pool["apiVersion"] = "karpenter.sh/v1beta1"
    pool["spec"]["disruption"]["expireAfter"] = "10m"
    pool["spec"]["template"]["spec"]["nodeClassRef"] = {"name": "default"}
    return pool


GENERATIONS = {
    "v1": (node_class(), expiring()),
    "v1beta1": (node_class(), expiring_beta()),
    "v1alpha5": (OLD_CLASS, PROVISIONER),
}


def test_a_node_that_never_came_into_use_expires_too() -> None:
    pool = expiring()
    agent = {"key": "example.com/agent", "effect": "NoSchedule"}
    pool["spec"]["template"]["spec"]["startupTaints"] = [agent]
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), pool, deployment(replicas=3)))
        rehearsal.run("18m")

        old, new = rehearsal.history()
        assert (old.cause, new.cause) == ("expired", None)
        assert old.terminated_at is not None
        assert 600 <= old.terminated_at - old.launched_at < 615
        assert told(rehearsal, "NodeNeverCame") == []


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_node_that_expires_is_replaced_before_its_pods_leave(generation: str) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(*GENERATIONS[generation], deployment(replicas=3)))
        rehearsal.run("5m")
        first = rehearsal.history()
        assert len(first) == 1
        at = first[0].launched_at

        rehearsal.run("9m")

        old, new = rehearsal.history()
        assert (old.cause, new.cause) == ("expired", None)
        assert at + 590 < new.launched_at < at + 605
        drained = told(rehearsal, "NodeDrained")[0].at
        assert drained > next(
            e.at for e in told(rehearsal, "NodeInitialized") if e.fields["node"] == new.name
        )
        assert set(pods_by_node(rehearsal)) == {new.name}
        assert rehearsal.running() == 3
        expect_whole_traces(rehearsal)
