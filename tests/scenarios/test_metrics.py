"""Metrics of a cluster's state, after things happened to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.scenarios.manifests import KEPT, deployment, node_class, node_pool, text
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.domain.model.labels import INSTANCE_TYPE, ZONE
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.telemetry import metrics, state_metrics
from treenail.domain.telemetry.condition_gauges import Conditioned, changed
from treenail.domain.telemetry.condition_metrics import NODE, NODE_CLAIM, NODE_POOL, OF_ALL, OF_KIND
from treenail.domain.telemetry.metric import Metric

LIMITS_OF_ALL, LIMITS_OF_DAEMONS = state_metrics.NODES_POD_LIMITS, state_metrics.NODES_DAEMON_LIMITS
LIMITS = {"cpu": "100", "memory": "200Gi"}
CLAIM, OWN = OF_KIND[NODE_CLAIM], {"karpenter_sh_nodepool": "default"}


class Scene(Rehearsal):
    """Three pods on one node of one pool."""

    def show(self, metric: Metric, **labels: str) -> list[float]:
        found = self.telemetry.shown(metric.name, self.world.now(), **labels)
        return [value for _, value in found]

    def sum(self, metric: Metric, **labels: str) -> float:
        return sum(self.show(metric, **labels))

    def count(self, metric: Metric, **labels: str) -> float:
        return self.telemetry.counted(metric.name, **labels)

    def observed(self, metric: Metric, **labels: str) -> tuple[int, float]:
        seen = self.telemetry.observed(metric.name, **labels)
        return seen.count, seen.total


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene(seed=1) as scene:
        scene.apply(text(node_class(), node_pool(limits=LIMITS), deployment(replicas=3)))
        yield scene


@pytest.fixture
def running(scene: Scene) -> Scene:
    scene.run_until(lambda: scene.running() == 3)
    scene.run("1m")
    return scene


def test_a_pool_shows_its_limits_and_what_it_uses_in_cores_and_bytes(running: Scene) -> None:
    (node,) = running.nodes()
    cpu = {"nodepool": "default", "resource_type": "cpu"}

    assert running.show(state_metrics.NODEPOOLS_LIMIT, **cpu) == [100]
    assert running.show(state_metrics.NODEPOOLS_USAGE, **cpu) == [node.capacity["cpu"] / 1000]
    memory = {"nodepool": "default", "resource_type": "memory"}
    assert running.show(state_metrics.NODEPOOLS_USAGE, **memory) == [node.capacity["memory"]]
    assert running.show(state_metrics.NODEPOOLS_USAGE, nodepool="default", resource_type="nodes") == [1]
    (claim,) = running.claims()
    price = float(claim.annotations["treenail.sh/price"])
    assert running.show(state_metrics.NODEPOOLS_COST, nodepool="default") == [price]


def test_what_a_pool_uses_falls_when_its_nodes_go_and_all_of_it_goes_with_the_pool(running: Scene) -> None:
    running.scale("web", 0)
    running.run("5m")

    assert running.nodes() == ()
    assert running.sum(state_metrics.NODEPOOLS_USAGE) == 0
    assert running.show(state_metrics.NODEPOOLS_COST) == [0]

    running.delete("NodePool", "default")
    running.run("1m")

    for metric in (
        state_metrics.NODEPOOLS_LIMIT,
        state_metrics.NODEPOOLS_USAGE,
        state_metrics.NODEPOOLS_COST,
        state_metrics.ALLOWED_DISRUPTIONS,
        OF_KIND[NODE_POOL].count,
    ):
        assert running.show(metric) == [], metric.name


def test_a_node_shows_what_it_has_and_what_its_pods_ask_for(running: Scene) -> None:
    (node,) = running.nodes()
    cpu = {"node_name": node.name, "resource_type": "cpu", "nodepool": "default", "managed": "true"}

    assert running.show(state_metrics.NODES_ALLOCATABLE, **cpu) == [node.allocatable["cpu"] / 1000]
    daemons = running.sum(state_metrics.NODES_DAEMON_REQUESTS, **cpu)
    asked = 3 + daemons
    assert daemons == pytest.approx(0.155)
    assert running.show(state_metrics.NODES_POD_REQUESTS, **cpu) == [pytest.approx(asked)]
    memory = {**cpu, "resource_type": "memory"}
    limited = [running.sum(of, **memory) for of in (LIMITS_OF_ALL, LIMITS_OF_DAEMONS)]
    assert limited[0] >= limited[1] >= 0
    age = (running.world.now() - node.created_at).total_seconds()
    assert running.show(state_metrics.NODES_LIFETIME, node_name=node.name) == [pytest.approx(age, abs=2)]
    share = 100 * asked * 1000 / node.allocatable["cpu"]
    assert running.show(state_metrics.CLUSTER_UTILIZATION, resource_type="cpu") == [pytest.approx(share)]


def test_what_system_and_kubelet_keep_is_summed_over_alike_nodes() -> None:
    pool = node_pool(families=("m5",))
    size = {"key": INSTANCE_TYPE, "operator": "In", "values": ["m5.large"]}
    pool["spec"]["template"]["spec"]["requirements"].append(size)
    with Scene(seed=1) as scene:
        scene.apply(text(node_class(), pool, deployment(replicas=12, cpu="1")))
        scene.run_until(lambda: scene.running() == 12)
        scene.run("1m")
        nodes = scene.nodes()
        kept = scene.show(state_metrics.NODES_OVERHEAD, resource_type="memory")

    assert len(kept) == len({node.labels[ZONE] for node in nodes}) < len(nodes)
    assert sum(kept) == sum(node.capacity["memory"] - node.allocatable["memory"] for node in nodes)


def test_series_of_a_node_go_with_it(running: Scene) -> None:
    running.scale("web", 0)
    running.run("5m")

    for metric in (
        state_metrics.NODES_ALLOCATABLE,
        state_metrics.NODES_POD_REQUESTS,
        state_metrics.NODES_DAEMON_REQUESTS,
        state_metrics.NODES_DAEMON_LIMITS,
        state_metrics.NODES_POD_LIMITS,
        state_metrics.NODES_OVERHEAD,
        state_metrics.NODES_LIFETIME,
        state_metrics.CLUSTER_UTILIZATION,
        state_metrics.PODS_STATE,
        CLAIM.count,
        CLAIM.current_seconds,
        CLAIM.terminating_seconds,
        OF_KIND[NODE].count,
    ):
        assert running.show(metric) == [], metric.name


def test_pods_are_counted_by_phase_and_node(scene: Scene) -> None:
    scene.run("20s")
    waiting = {"phase": "Pending", "scheduled": "false", "managed": "false", "namespace": "default"}
    assert scene.sum(state_metrics.PODS_STATE, **waiting) == 3

    scene.run_until(lambda: scene.running() == 3)
    scene.run("1m")

    (node,) = scene.nodes()
    running = {"phase": "Running", "node": node.name, "nodepool": "default", "ready": "true"}
    assert scene.sum(state_metrics.PODS_STATE, namespace="default", **running) == 3
    assert scene.sum(state_metrics.PODS_STATE, **waiting) == 0


def test_pods_that_wait_say_for_how_long_until_they_run(scene: Scene) -> None:
    scene.run("20s")
    for metric in (
        state_metrics.PODS_UNSTARTED,
        state_metrics.PODS_UNBOUND,
        state_metrics.PODS_PLACED_UNSTARTED,
        state_metrics.PODS_PLACED_UNBOUND,
    ):
        values = scene.show(metric)
        assert len(values) == 3, metric.name
        assert all(18 <= value <= 20 for value in values), metric.name

    scene.run_until(lambda: scene.running() == 3)
    scene.run("1m")

    assert scene.show(state_metrics.PODS_UNSTARTED) == scene.show(state_metrics.PODS_UNBOUND) == []
    startups, seconds = scene.observed(metrics.PODS_STARTUP_DURATION)
    assert startups >= 3
    placed, since_placed = scene.observed(metrics.PODS_PLACED_STARTUP_DURATION)
    assert placed == 3
    assert 0 < since_placed < seconds
    assert scene.observed(metrics.PODS_PLACED_BOUND_DURATION)[0] == 3
    assert scene.observed(metrics.PODS_DECISION_DURATION)[0] == 3


def test_a_pod_that_is_not_decided_on_says_for_how_long(scene: Scene) -> None:
    scene.run("0.9s")

    values = scene.show(state_metrics.PODS_UNDECIDED)

    assert len(values) == 3
    assert all(0 < value < 0.9 for value in values)
    scene.run("10s")
    assert scene.show(state_metrics.PODS_UNDECIDED) == []


def test_the_zones_of_pods_and_the_decision_being_made_are_shown(scene: Scene) -> None:
    scene.apply(text(deployment("east", node_selector={"topology.kubernetes.io/zone": "us-east-1a"})))
    queue = "karpenter_scheduler_queue_depth"
    scene.run_until(lambda: bool(scene.telemetry.gauged(queue, controller="provisioner")))

    assert scene.telemetry.gauged(queue, controller="provisioner") == 6
    assert len(scene.show(state_metrics.SCHEDULER_UNFINISHED)) == 1
    assert scene.sum(state_metrics.SCHEDULER_PENDING_BY_ZONE, zone="us-east-1a") == 3
    assert scene.sum(state_metrics.SCHEDULER_PENDING_BY_ZONE, zone="flexible") == 3

    scene.run("1m")
    assert scene.telemetry.gauged(queue, controller="provisioner") == 0
    assert scene.show(state_metrics.SCHEDULER_UNFINISHED) == []


def test_the_model_is_not_synced_until_all_objects_are_known(scene: Scene) -> None:
    with Scene(seed=2) as early:
        early.run("0.01s")
        assert early.telemetry.gauged(metrics.CLUSTER_STATE_SYNCED.name) == 0
        assert all(value > 0 for value in early.show(state_metrics.CLUSTER_STATE_UNSYNCED))

    scene.run("5s")
    assert scene.telemetry.gauged(metrics.CLUSTER_STATE_SYNCED.name) == 1
    assert scene.show(state_metrics.CLUSTER_STATE_UNSYNCED) == [0]


def test_a_claim_that_is_stuck_says_in_which_condition_and_for_how_long(scene: Scene) -> None:
    scene.run("20s")
    (claim,) = scene.claims()
    stuck = {"name": claim.name, "type": "Registered", "status": "Unknown", **OWN}

    assert scene.show(CLAIM.count, **stuck) == [1]
    assert scene.show(CLAIM.current_seconds, **stuck) == [pytest.approx(17, abs=2)]
    for_all = {"kind": "NodeClaim", "group": "karpenter.sh", "type": "Registered", "status": "Unknown"}
    assert scene.show(OF_ALL.count, **for_all) == [1]

    scene.run("2m")

    assert scene.show(CLAIM.count, **stuck) == []
    assert scene.sum(CLAIM.count, type="Registered", status="True", **OWN) == 1
    assert scene.sum(CLAIM.count, type="Ready", status="True", **OWN) == 1
    assert scene.sum(OF_KIND[NODE].count, type="Ready", status="True", **OWN) == 1
    assert scene.count(CLAIM.transitions, type="Registered", status="True") == 1
    assert scene.observed(CLAIM.transition_seconds, type="Registered", status="Unknown")[0] == 1


def test_conditions_of_pools_and_node_classes_are_shown_with_their_names(running: Scene) -> None:
    ready = {"name": "default", "type": "Ready", "status": "True"}

    assert running.show(OF_KIND[NODE_POOL].count, **ready) == [1]
    assert running.show(OF_KIND["EC2NodeClass"].count, **ready) == [1]
    assert all(value > 60 for value in running.show(OF_KIND[NODE_POOL].current_seconds, **ready))


def test_a_kubelet_that_says_it_lacks_nothing_is_no_transition_and_one_that_does_is() -> None:
    def node(status: Status) -> Conditioned:
        pressure = Condition("MemoryPressure", status, since=at)
        return Conditioned(kind=NODE, name="n", conditions=(pressure,))

    at = datetime(2026, 3, 1, tzinfo=UTC)
    unknown, lacks, well = (node(status) for status in (Status.UNKNOWN, Status.TRUE, Status.FALSE))

    assert list(changed(unknown, well)) == []
    assert [one.metric for one in changed(well, lacks)] == [
        OF_KIND[NODE].transitions,
        OF_KIND[NODE].transition_seconds,
    ]
    assert list(changed(lacks, well)) != []


def test_the_end_of_a_node_is_measured(running: Scene) -> None:
    running.scale("web", 0)
    running.run_until(lambda: any(claim.leaving for claim in running.claims()))
    running.run("3s")
    assert len(running.show(CLAIM.terminating_seconds)) == 1
    running.run("5m")

    pool = {"nodepool": "default"}
    assert running.count(metrics.NODES_DRAINED, **pool) == 1
    for metric in (
        metrics.NODES_TERMINATION_DURATION,
        metrics.NODES_LIFETIME_DURATION,
        metrics.NODECLAIMS_TERMINATION_DURATION,
        metrics.INSTANCE_TERMINATION_DURATION,
    ):
        times, seconds = running.observed(metric, **pool)
        assert times == 1, metric.name
        assert seconds > 5, metric.name
    assert running.observed(CLAIM.termination_duration)[0] == 1
    assert running.observed(OF_KIND[NODE].termination_duration)[0] == 1


def test_nodes_that_may_go_and_budgets_are_shown(scene: Scene) -> None:
    scene.apply(text(deployment("kept", annotations=KEPT, replicas=1)))
    scene.run_until(lambda: scene.running() == 4)
    scene.run("10s")
    pool = {"nodepool": "default", "reason": "Empty"}
    nodes = len(scene.nodes())
    assert scene.show(state_metrics.ALLOWED_DISRUPTIONS, **pool) == [-(-nodes // 10)]
    assert scene.show(state_metrics.CONSUMING_BUDGETS, **pool) == [0]
    for reason in ("empty", "drifted", "underutilized"):
        assert scene.show(state_metrics.DISRUPTION_ELIGIBLE_NODES, reason=reason) == [0]

    scene.scale("web", 0)
    scene.scale("kept", 0)
    scene.run_until(lambda: scene.sum(state_metrics.DISRUPTION_ELIGIBLE_NODES, reason="empty") > 0)
    scene.run_until(lambda: scene.sum(state_metrics.CONSUMING_BUDGETS, **pool) > 0)
    looked = {"reason": "empty", "consolidation_type": "empty"}
    assert scene.observed(metrics.DISRUPTION_EVALUATION_DURATION, **looked)[0] > 0


def test_pods_that_a_node_loses_are_counted_by_why(running: Scene) -> None:
    running.interrupt()
    running.run("3m")

    assert running.count(metrics.PODS_EVICTION_REQUESTS, code="200") == 3
    assert running.count(metrics.PODS_DRAINED, reason="Forceful Termination") == 3
    assert running.count(metrics.PODS_DISRUPTED, reason="spot_interrupted", nodepool="default") == 3
    assert running.count(metrics.NODECLAIMS_DISRUPTED, reason="spot_interrupted") == 1
    assert running.observed(metrics.INTERRUPTION_QUEUED)[0] > 0


def test_calls_to_the_cloud_are_measured_by_method(running: Scene) -> None:
    for method in ("GetInstanceTypes", "Create", "List"):
        calls, _ = running.observed(metrics.CLOUDPROVIDER_DURATION, method=method, provider="aws")
        assert calls > 0, method
    for metric in (metrics.BATCH_SIZE, metrics.BATCH_SECONDS):
        assert running.observed(metric, batcher="create_fleet")[0] == 1

    running.scale("web", 0)
    running.run("5m")

    assert running.observed(metrics.CLOUDPROVIDER_DURATION, method="Delete")[0] == 1
    assert running.observed(metrics.BATCH_SIZE, batcher="terminate_instances") == (1, 1)


def test_offerings_that_ran_out_are_counted_and_shown_on_request() -> None:
    shown = Conditions(system=SystemSettings(cluster_name="demo", types_shown=True))
    with Scene(seed=1, conditions=shown) as scene:
        for zone in ("us-east-1a", "us-east-1b", "us-east-1c"):
            scene.run_out("c5.xlarge", zone)
        scene.apply(text(node_class(), node_pool(families=["c5"], capacity_types=["spot"]), deployment()))
        scene.run("3m")

        assert scene.show(state_metrics.INSTANCE_TYPE_CPU, instance_type="c5.xlarge") == [4]
        assert scene.show(state_metrics.INSTANCE_TYPE_MEMORY, instance_type="c5.xlarge")[0] > 7 * 2**30
        where = {"instance_type": "c5.large", "capacity_type": "spot", "zone": "us-east-1a"}
        assert 0 < scene.show(state_metrics.OFFERING_PRICE, **where)[0] < 0.1
        assert scene.show(state_metrics.OFFERING_AVAILABLE, **where) == [1]
        ran_out = scene.sum(state_metrics.OFFERING_AVAILABLE, instance_type="c5.xlarge", capacity_type="spot")
        failures = scene.count(metrics.LAUNCH_FAILURES, capacity_type="spot")
        assert failures > 0
        assert ran_out < 3


def test_there_are_no_series_of_instance_types_unless_they_are_asked_for(running: Scene) -> None:
    for metric in (state_metrics.OFFERING_PRICE, state_metrics.INSTANCE_TYPE_CPU):
        assert running.show(metric) == [], metric.name
