"""Nodes that say of themselves that they are not well."""

from __future__ import annotations

from tests.scenarios.manifests import KEPT, deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, pods_by_node, told
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.domain.disruption.node_repair import EC2_POLICIES
from treenail.domain.telemetry.metrics import REPAIRS_HELD

REPAIRING = Conditions(system=SystemSettings(cluster_name="demo", repair=EC2_POLICIES))
ONE_AWAY = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web"},
    "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
}
ONE_POD_EACH = {"node.kubernetes.io/instance-type": "c5.large"}


def test_a_node_that_is_not_ready_for_half_an_hour_is_replaced_whatever_protects_its_pods() -> None:
    with Rehearsal(seed=1, conditions=REPAIRING) as rehearsal:
        kept = deployment(replicas=2, annotations=KEPT)
        rehearsal.apply(text(node_class(), node_pool(), kept))
        rehearsal.run("3m")

        old = rehearsal.sicken()
        at = rehearsal.seconds
        rehearsal.run("29m")
        assert old in pods_by_node(rehearsal)
        rehearsal.run("6m")

        assert old not in pods_by_node(rehearsal)
        assert rehearsal.running() == 2
        (first, _) = rehearsal.history()
        assert (first.name, first.cause) == (old, "unhealthy")
        (interrupted,) = (
            entry for entry in told(rehearsal, "NodeInterrupted") if entry.fields["cause"] == "unhealthy"
        )
        assert 1799 <= interrupted.at - at <= 1801
        expect_whole_traces(rehearsal)


def test_where_most_nodes_of_a_pool_are_unhealthy_none_is_replaced() -> None:
    with Rehearsal(seed=2, conditions=REPAIRING) as rehearsal:
        apart = deployment(replicas=3, node_selector=ONE_POD_EACH)
        rehearsal.apply(text(node_class(), node_pool(), apart))
        rehearsal.run("3m")
        nodes = sorted(pods_by_node(rehearsal))
        assert len(nodes) == 3

        for name in nodes[:2]:
            rehearsal.sicken(name)
        rehearsal.run("45m")

        assert sorted(pods_by_node(rehearsal)) == nodes
        blocked = {
            r.event.about.name for r in rehearsal.cluster.events() if r.event.reason == "NodeRepairBlocked"
        }
        assert blocked == set(nodes[:2])


def test_without_the_gate_a_node_that_is_not_ready_stays() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=2)))
        rehearsal.run("3m")

        old = rehearsal.sicken()
        rehearsal.run("45m")

        assert old in pods_by_node(rehearsal)


def test_failed_checks_of_all_nodes_take_a_fifth_of_the_pool_at_a_time_and_all_in_the_end() -> None:
    with Rehearsal(seed=3) as rehearsal:
        apart = deployment(replicas=10, node_selector=ONE_POD_EACH)
        rehearsal.apply(text(node_class(), node_pool(), apart, ONE_AWAY))
        rehearsal.run("4m")
        old = sorted(pods_by_node(rehearsal))
        assert (len(old), rehearsal.running()) == (10, 10)

        for name in old:
            rehearsal.impair(name)
        fewest = 10
        for _ in range(60 * 30):
            rehearsal.run("1s")
            fewest = min(fewest, rehearsal.running())

        assert fewest == 8
        assert not set(old) & set(pods_by_node(rehearsal))
        assert rehearsal.running() == 10
        held = [
            record.event
            for record in rehearsal.cluster.events()
            if "are given up as unwell at a time" in record.event.message
        ]
        assert {event.about.name for event in held if event.about.kind == "Node"} < set(old)
        assert len({event.about.name for event in held if event.about.kind == "Node"}) == 8
        assert rehearsal.telemetry.counted(REPAIRS_HELD.name, nodepool="default", cause="instance_status") > 8
        assert [line for line in rehearsal.telemetry.logs if line.message == "node repair waits"]


def test_events_that_ec2_has_planned_for_all_nodes_wait_for_no_brake() -> None:
    with Rehearsal(seed=4) as rehearsal:
        apart = deployment(replicas=10, node_selector=ONE_POD_EACH)
        rehearsal.apply(text(node_class(), node_pool(), apart))
        rehearsal.run("4m")
        assert rehearsal.running() == 10

        for record in rehearsal.ec2.all_instances():
            rehearsal.ec2.health.plan(record.instance.id, after_seconds=3600)
        rehearsal.run("2m")

        assert len(told(rehearsal, "NodeInterrupted")) >= 10
        assert not [line for line in rehearsal.telemetry.logs if line.message == "node repair waits"]
