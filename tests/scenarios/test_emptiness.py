"""Nodes that stand empty for thirty seconds: in each generation of the API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.test_expiry import OLD_CLASS, PROVISIONER
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal


def beta_pool() -> dict[str, Any]:
    made = node_pool()
    made["apiVersion"] = "karpenter.sh/v1beta1"
    made["spec"]["template"]["spec"]["nodeClassRef"] = {"name": "default"}
    return made


GENERATIONS = {
    "v1": (node_class(), node_pool()),
    "v1beta1": (node_class(), beta_pool()),
    "v1alpha5": (OLD_CLASS, PROVISIONER),
}


@pytest.fixture(params=GENERATIONS)
def running(request: pytest.FixtureRequest) -> Any:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(*GENERATIONS[request.param], deployment(replicas=2)))
        rehearsal.run_until(lambda: rehearsal.running() == 2, within="3m")
        yield rehearsal


def test_a_node_goes_when_it_has_stood_empty_for_its_time(running: Rehearsal) -> None:
    began = running.seconds
    running.scale("web", 0)
    running.run("2m")

    (record,) = running.history()
    assert record.cause == "empty"
    (cordoned,) = told(running, "NodeCordoned")
    assert 30 <= cordoned.at - began < 35


@pytest.mark.parametrize("after", [10, 29, 31, 33, 36])
def test_pods_that_come_meanwhile_are_not_deleted_with_the_node(running: Rehearsal, after: float) -> None:
    running.scale("web", 0)
    running.run(after)
    running.scale("web", 2)
    seen: dict[str, str] = {}

    def all_run() -> bool:
        seen.update({pod.uid: pod.node_name for pod in running.pods() if pod.node_name})
        return running.running() == 2

    running.run_until(all_run, within="5m")
    running.run("3m")

    # Whoever was bound somewhere is still there.
    assert {pod.uid: pod.node_name for pod in running.pods()} == seen
    assert running.running() == 2
