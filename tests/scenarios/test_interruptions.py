from __future__ import annotations

import pytest

from tests.scenarios.manifests import KEPT, deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, names, pods_by_node, told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.queue import NAME, QueueFaults
from treenail.domain.model import labels

NOBODY_LEAVES = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web"},
    "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
}


def running(seed: int, *manifests: dict[str, object]) -> Rehearsal:
    """Return a rehearsal in which the pods of `manifests` run."""
    rehearsal = Rehearsal(seed=seed)
    rehearsal.apply(text(node_class(), node_pool(), *manifests))
    wanted = len(rehearsal.pods())
    rehearsal.run_until(lambda: rehearsal.running() == len(rehearsal.pods()) > wanted, within="5m")
    return rehearsal


@pytest.mark.seeds(quick=4, soak=200)
def test_a_spot_interruption_is_survived(seed: int) -> None:
    with running(seed, deployment(replicas=3)) as rehearsal:
        old = rehearsal.interrupt()
        announced = rehearsal.seconds

        rehearsal.run_until(lambda: old not in pods_by_node(rehearsal), within="2m")
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="3m")

        first, second = rehearsal.history()
        assert (first.name, first.cause) == (old, "spot_interrupted")
        assert first.terminated_at is not None
        assert announced < second.launched_at < first.terminated_at < announced + 120
        assert second.terminated_at is None
        assert [entry.fields["node"] for entry in told(rehearsal, "InstanceTerminated")] == [old]
        expect_whole_traces(rehearsal)


def test_the_replacement_is_decided_before_the_first_pod_is_evicted() -> None:
    with running(1, deployment(replicas=3)) as rehearsal:
        rehearsal.interrupt()
        rehearsal.run("5m")

        [replacement] = [
            entry
            for entry in told(rehearsal, "PlanCommitted")
            if entry.fields["nodeClaims"] and entry.at > told(rehearsal, "NodeInterrupted")[0].at
        ]
        assert replacement.at < told(rehearsal, "NodeDrained")[0].at
        # The pods that come back are sent to the room bought for them: nothing else is bought.
        assert len(rehearsal.history()) == 2


@pytest.mark.parametrize("held", ["by annotation", "by a budget", "by annotation, and deleted before"])
def test_the_replacement_of_pods_that_stay_to_the_last_call_is_there_when_it_comes(held: str) -> None:
    kept = {} if held == "by a budget" else KEPT
    rehearsal = Rehearsal(seed=1)
    pool = node_pool(consolidate_after="0s")
    with rehearsal:
        rehearsal.apply(text(node_class(), pool, deployment(annotations=kept, grace_seconds=20)))
        if held == "by a budget":
            rehearsal.apply(text(NOBODY_LEAVES))
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="5m")
        if held.endswith("deleted before"):
            rehearsal.delete("Node", next(iter(pods_by_node(rehearsal))))
            rehearsal.run(10)
        announced = rehearsal.seconds
        old = rehearsal.interrupt()

        rehearsal.run(75)
        assert pods_by_node(rehearsal)[old] == 3
        rehearsal.run(20)

        assert rehearsal.running() == 3
        assert pods_by_node(rehearsal).get(old, 0) == 0
        _, new = rehearsal.history()
        assert new.launched_at < announced + 5


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_pods_run_on_until_the_replacement_is_ready(seed: int) -> None:
    with running(seed, deployment(replicas=3)) as rehearsal:
        before = {pod.uid for pod in rehearsal.pods()}
        old = rehearsal.interrupt()
        rehearsal.run_until(lambda: len(told(rehearsal, "NodeRegistered")) == 2, within="2m")

        assert {pod.uid for pod in rehearsal.pods() if pod.node_name == old and pod.active} == before
        rehearsal.run("2m")

        assert told(rehearsal, "NodeInitialized")[-1].at < told(rehearsal, "NodeDrained")[0].at
        assert rehearsal.running() == 3
        assert old not in pods_by_node(rehearsal)
        assert not [line for line in rehearsal.telemetry.logs if line.message == "deleting pod as time is up"]


def test_pods_on_other_nodes_stay_where_they_are() -> None:
    selector = {"node.kubernetes.io/instance-type": "c5.large"}
    with running(2, deployment(replicas=2, node_selector=selector)) as rehearsal:
        assert sorted(pods_by_node(rehearsal).values()) == [1, 1]
        old = rehearsal.interrupt()
        untouched = {pod.uid for pod in rehearsal.pods() if pod.node_name != old}

        rehearsal.run("5m")

        assert rehearsal.running() == 2
        assert untouched < {pod.uid for pod in rehearsal.pods()}


def test_all_spot_nodes_may_be_interrupted_at_once() -> None:
    selector = {"node.kubernetes.io/instance-type": "c5.large"}
    with running(3, deployment(replicas=4, node_selector=selector)) as rehearsal:
        old = {rehearsal.interrupt(node.name) for node in rehearsal.nodes()}

        rehearsal.run("6m")

        assert rehearsal.running() == 4
        assert len(old) == 4
        assert not old & pods_by_node(rehearsal).keys()
        assert {record.cause for record in rehearsal.history() if record.name in old} == {"spot_interrupted"}


def test_a_warning_that_comes_twice_is_acted_on_once() -> None:
    with running(4, deployment(replicas=3)) as rehearsal:
        rehearsal.queue.faults = QueueFaults(duplicate=1.0)
        rehearsal.interrupt()

        rehearsal.run("6m")

        assert len(rehearsal.history()) == 2
        assert len(told(rehearsal, "InstanceTerminated")) == 1
        assert rehearsal.running() == 3


def test_an_instance_that_somebody_else_terminates_is_replaced() -> None:
    with running(5, deployment(replicas=3)) as rehearsal:
        old = rehearsal.terminate_outside()

        rehearsal.run("6m")

        first, second = rehearsal.history()
        assert (first.name, first.cause) == (old, "instance_terminated")
        assert second.terminated_at is None
        assert list(pods_by_node(rehearsal)) == [second.name]
        assert rehearsal.running() == 3


def test_a_rebalance_recommendation_changes_nothing_and_is_recorded() -> None:
    with running(6, deployment(replicas=3)) as rehearsal:
        before = rehearsal.pods()
        rehearsal.recommend_rebalance()

        rehearsal.run("5m")

        assert {pod.uid for pod in rehearsal.pods()} == {pod.uid for pod in before}
        assert rehearsal.history()[0].terminated_at is None
        [line] = [line for line in rehearsal.telemetry.logs if "interruption" in line.message]
        assert line.fields["kind"] == "rebalance_recommendation"


def test_pods_that_take_longer_to_stop_than_ec2_waits_run_again_elsewhere() -> None:
    with running(7, deployment(replicas=2, grace_seconds=600)) as rehearsal:
        old = rehearsal.interrupt()

        rehearsal.run("15m")

        assert rehearsal.running() == 2
        assert old not in pods_by_node(rehearsal)
        assert rehearsal.ec2.live() != ()
        assert len(rehearsal.ec2.live()) == len(rehearsal.nodes()) == len(rehearsal.claims())


@pytest.mark.seeds(quick=3, soak=50)
def test_pods_that_stop_slowly_come_back_on_the_one_node_bought_for_them(seed: int) -> None:
    with running(seed, deployment(replicas=3, grace_seconds=30)) as rehearsal:
        rehearsal.interrupt()

        rehearsal.run("6m")

        assert rehearsal.running() == 3
        assert len(rehearsal.history()) == 2


def test_a_warning_that_came_while_the_controller_was_down_is_heeded_after_the_restart() -> None:
    with running(8, deployment(replicas=3)) as rehearsal:
        rehearsal.crash()
        old = rehearsal.interrupt()
        rehearsal.restart(after=40)

        rehearsal.run("6m")

        assert rehearsal.running() == 3
        assert old not in pods_by_node(rehearsal)
        assert rehearsal.history()[0].cause == "spot_interrupted"
        expect_whole_traces(rehearsal)


def test_on_demand_nodes_are_not_named_when_the_oldest_spot_node_is_interrupted() -> None:
    with Rehearsal(seed=9) as rehearsal:
        steady = deployment("steady", 1, node_selector={labels.CAPACITY_TYPE: "on-demand"})
        pool = node_pool(capacity_types=("spot", "on-demand"))
        rehearsal.apply(text(node_class(), pool, steady))
        rehearsal.run("3m")
        with pytest.raises(ValueError, match="there is no spot node now"):
            rehearsal.interrupt()
        rehearsal.apply(text(deployment("cheap", 1, node_selector={labels.CAPACITY_TYPE: "spot"})))
        rehearsal.run("3m")

        name = rehearsal.interrupt()

        [node] = [record for record in rehearsal.history() if record.name == name]
        assert node.capacity_type == "spot"


def test_the_interruption_is_a_trace_from_the_message_to_the_end_of_the_instance() -> None:
    with running(10, deployment(replicas=3)) as rehearsal:
        rehearsal.interrupt()
        rehearsal.run("5m")

        trees = [tree for t in rehearsal.telemetry.trace_ids() for tree in rehearsal.telemetry.tree(t)]
        ends = [names(tree) for tree in trees if "terminate" in names(tree)]
        assert ends == [[f"receive {NAME}", f"process {NAME}", "cordon", "drain", "terminate"]]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_ec2_takes_back_is_not_bought_again_at_once(seed: int) -> None:
    with Rehearsal(seed=seed) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="5m")
        (lost,) = rehearsal.ec2.live()

        rehearsal.interrupt()
        rehearsal.run("90s")

        taken = (lost.instance.instance_type, lost.instance.zone)
        later = [record.instance for record in rehearsal.ec2.all_instances()[1:]]
        assert later
        assert taken not in {(one.instance_type, one.zone) for one in later}


def test_a_node_whose_instance_fails_its_status_check_is_replaced_whatever_protects_its_pods() -> None:
    kept = deployment(replicas=3, annotations=KEPT)
    with running(1, kept) as rehearsal:
        old = rehearsal.impair()
        failed = rehearsal.seconds

        rehearsal.run_until(lambda: old not in pods_by_node(rehearsal), within="5m")
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="3m")

        first, second = rehearsal.history()
        assert (first.name, first.cause) == (old, "instance_status")
        assert second.terminated_at is None
        (interrupted,) = told(rehearsal, "NodeInterrupted")
        assert 120 <= interrupted.at - failed <= 181
        expect_whole_traces(rehearsal)


def test_a_forceful_end_goes_on_by_force_after_a_crash() -> None:
    kept = deployment(replicas=3, annotations=KEPT)
    with running(2, kept) as rehearsal:
        old = rehearsal.impair()
        rehearsal.run_until(lambda: any(claim.leaving for claim in rehearsal.claims()), within="5m")
        rehearsal.ec2.health.recover(rehearsal.ec2.live()[0].instance.id)

        rehearsal.crash()
        rehearsal.restart(after=5)
        rehearsal.run_until(lambda: old not in pods_by_node(rehearsal), within="3m")

        assert next(r.cause for r in rehearsal.history() if r.name == old) == "instance_status"
