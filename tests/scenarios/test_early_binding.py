from __future__ import annotations

from dataclasses import replace

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, pods_by_node, told
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterFaults
from treenail.adapters.fake.ec2 import EC2Faults


def early(seed: int = 1, *, replicas: int = 5, faults: EC2Faults | None = None) -> Rehearsal:
    settings = SystemSettings(cluster_name="demo", early_binding=True)
    rehearsal = Rehearsal(seed=seed, conditions=Conditions(system=settings, ec2_faults=faults or EC2Faults()))
    rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=replicas)))
    return rehearsal


def bound(rehearsal: Rehearsal) -> int:
    return sum(bool(pod.node_name) for pod in rehearsal.pods())


def test_pods_are_bound_while_their_machine_boots_and_run_when_it_has() -> None:
    with early() as rehearsal:
        rehearsal.run_until(lambda: bound(rehearsal) == 5, within="10s")
        assert rehearsal.running() == 0

        rehearsal.run_until(lambda: rehearsal.running() == 5, within="3m")

        assert list(pods_by_node(rehearsal).values()) == [5]
        assert len(rehearsal.history()) == 1
        assert rehearsal.telemetry.counted("treenail_pods_bound_early_total") == 5


def test_the_trace_tells_when_the_node_was_made_and_the_pods_were_bound() -> None:
    with early() as rehearsal:
        rehearsal.run("3m")

        expect_whole_traces(rehearsal)
        ends = {span.name: span.end for span in rehearsal.telemetry.spans()}
        assert ends["launch"] < ends["make-node"] < ends["bind"] < ends["register"] < ends["initialize"]


def test_a_machine_that_never_joins_takes_its_node_along_and_the_pods_come_back() -> None:
    with early(faults=EC2Faults(never_joins=1.0)) as rehearsal:
        rehearsal.run_until(lambda: bound(rehearsal) == 5, within="10s")
        lost = {pod.node_name for pod in rehearsal.pods()}

        rehearsal.ec2.faults = EC2Faults()
        rehearsal.run("25m")

        assert rehearsal.running() == 5
        assert lost.isdisjoint(pods_by_node(rehearsal))
        assert lost.isdisjoint(node.name for node in rehearsal.nodes())
        assert len(rehearsal.claims()) == len(rehearsal.ec2.live()) == 1


@pytest.mark.parametrize("later", [0.0, 0.1, 0.2, 0.3, 0.5, 1.0])
def test_a_crash_between_the_launch_and_the_first_pod_that_runs_costs_nothing(later: float) -> None:
    with early() as rehearsal:
        assert rehearsal.world.run_until(lambda: bool(told(rehearsal, "NodeLaunched")), at_most=60)
        rehearsal.run(later)
        rehearsal.crash()
        rehearsal.restart(after=5.0)

        rehearsal.run_until(lambda: bound(rehearsal) == 5, within="20s")
        rehearsal.run("5m")

        assert rehearsal.running() == 5
        assert len(rehearsal.history()) == 1


def test_an_api_server_that_refuses_half_of_all_calls_does_not_keep_pods_from_their_node() -> None:
    with early(seed=4) as rehearsal:
        rehearsal.cluster.faults = replace(ClusterFaults(), unavailable=0.3, conflict=0.2, answer_lost=0.2)
        rehearsal.run("5m")
        rehearsal.cluster.faults = ClusterFaults()
        rehearsal.run("5m")

        assert rehearsal.running() == 5


def test_without_the_setting_pods_wait_for_the_machine() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=5)))

        rehearsal.run_until(lambda: bound(rehearsal) > 0, within="3m")

        assert rehearsal.nodes()[0].ready
        assert rehearsal.telemetry.counted("treenail_pods_bound_early_total") == 0
