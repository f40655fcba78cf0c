"""Nodes that stand empty for thirty seconds: in each generation of the API."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.test_expiry import OLD_CLASS, PROVISIONER
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster import Change
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import Pod


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


def test_one_that_somebody_drained_goes_as_well(running: Rehearsal) -> None:
    (node,) = (node for node in running.cluster.nodes() if node.finalizers)
    running.cluster.patch_node(node.name, NodePatch(unschedulable=True))
    running.scale("web", 0)
    running.run("2m")

    (record,) = running.history()
    assert record.cause == "empty"


FOR_NOTHING = {"controller.kubernetes.io/pod-deletion-cost": str(-(2**27))}


def test_pods_that_cost_nothing_to_evict_leave_an_empty_node_for_one_that_then_stays(
    running: Rehearsal,
) -> None:
    spare = deployment("spare", replicas=1, cpu="100m", memory="100Mi", annotations=FOR_NOTHING)
    running.apply(text(spare))
    running.run_until(lambda: running.running() == 3, within="1m")
    running.scale("web", 0)
    running.run("2h")

    assert [record.cause for record in running.history()].count("empty") == 1
    assert (running.running(), len(running.claims())) == (1, 1)


def crash_again_and_again(rehearsal: Rehearsal, *, times: int, every: str) -> None:
    """Let the controller live for so long each time."""
    for _ in range(times):
        rehearsal.restart()
        rehearsal.run(every)
        rehearsal.crash()
    rehearsal.restart()


def test_a_controller_that_crashes_again_and_again_still_gives_an_empty_node_back(running: Rehearsal) -> None:
    running.scale("web", 0)
    running.run("5s")

    running.crash()
    crash_again_and_again(running, times=2, every="25s")
    running.run("30s")

    (record,) = running.history()
    assert record.cause == "empty"


def test_so_it_does_with_one_whose_last_pod_left_while_it_was_away(running: Rehearsal) -> None:
    running.run("20s")
    running.crash()
    running.scale("web", 0)
    running.run("10s")

    crash_again_and_again(running, times=2, every="25s")
    running.run("30s")

    (record,) = running.history()
    assert record.cause == "empty"


def test_a_restart_gives_a_node_no_less_than_the_rest_of_its_time(running: Rehearsal) -> None:
    running.scale("web", 0)
    running.run("12s")
    running.crash()
    running.restart()
    running.run("10s")
    assert told(running, "NodeCordoned") == []

    running.run("30s")

    assert len(told(running, "NodeCordoned")) == 1


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.seeds(quick=3, soak=200)
def test_no_node_goes_for_being_empty_to_which_a_pod_has_come(generation: str, seed: int) -> None:
    with Rehearsal(seed=seed) as rehearsal:
        rehearsal.apply(text(*GENERATIONS[generation], deployment(replicas=2)))
        rehearsal.run_until(lambda: rehearsal.running() == 2, within="3m")
        rehearsal.scale("web", 0)
        # When the node has stood empty for its time, or is just being cordoned.
        dice = Random(seed)
        rehearsal.run(dice.choice((dice.uniform(0, 30), dice.uniform(30, 40))))
        bound: dict[str, None] = {}
        lost: list[str] = []

        def note(change: Change) -> None:
            if isinstance(change.after, Pod) and change.after.node_name and not change.after.daemon:
                bound[change.after.uid] = None
            elif change.after is None and isinstance(change.before, Pod) and change.before.uid in bound:
                lost.append(change.before.key)

        rehearsal.cluster.on_change(note)
        rehearsal.scale("web", 2)
        rehearsal.run_until(lambda: rehearsal.running() == 2, within="5m")
        rehearsal.run("3m")

        assert len(bound) == rehearsal.running() == 2
        assert lost == []
