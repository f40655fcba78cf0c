"""The whole system with capacity buffers: room that pods take when they come, and that is bought anew."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.manifests import changed, deployment, node_class, node_pool, text
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.model.capacity_buffers import CapacityBuffer, ScalableRef
from treenail.domain.model.nodes import Condition, condition_of
from treenail.domain.status.buffer_status import LIMITED, PROVISIONING, READY_FOR_PROVISIONING, BufferStatus


def rehearsal_of(replicas: int = 2, *, seed: int = 1, gate: bool = True, **pool: Any) -> Rehearsal:
    conditions = Conditions(
        system=SystemSettings(cluster_name="demo"), cluster=ClusterSettings(tells_buffers=gate)
    )
    rehearsal = Rehearsal(seed=seed, conditions=conditions)
    rehearsal.apply(text(node_class(), node_pool(**pool), deployment(replicas=replicas)))
    return rehearsal


def buffer(name: str = "spare", **spec: Any) -> CapacityBuffer:
    """Return a buffer of places like the pods of the Deployment `web`."""
    return CapacityBuffer(name=name, scalable=ScalableRef("Deployment", "web"), **spec)


def status_of(rehearsal: Rehearsal, name: str = "spare") -> BufferStatus:
    status = rehearsal.cluster.buffer_status(name)
    assert status is not None
    return status


def condition(rehearsal: Rehearsal, kind: str, name: str = "spare") -> Condition:
    found = condition_of(status_of(rehearsal, name).conditions, kind)
    assert found is not None
    return found


def has_its_places(rehearsal: Rehearsal, name: str = "spare") -> bool:
    status = rehearsal.cluster.buffer_status(name)
    found = condition_of(status.conditions, PROVISIONING) if status is not None else None
    return found is not None and found.reason == "FitsExistingCapacity"


def places(rehearsal: Rehearsal, state: str) -> float:
    name = "treenail_capacity_buffer_places"
    return rehearsal.telemetry.gauged(name, buffer="default/spare", state=state) or 0.0


def dollars(rehearsal: Rehearsal) -> float:
    name = "treenail_capacity_buffer_dollars_per_hour"
    return rehearsal.telemetry.gauged(name, buffer="default/spare") or 0.0


def waits(rehearsal: Rehearsal) -> float:
    """Return how long the slowest pod waited for its node, in seconds."""
    bound = [p for p in rehearsal.pods() if p.scheduled_at is not None]
    return max((p.scheduled_at - p.created_at).total_seconds() for p in bound if p.scheduled_at is not None)


def test_a_buffer_has_its_places_on_nodes_in_use_and_none_of_them_is_a_pod() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.apply(buffer(replicas=20))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")

        status = status_of(rehearsal)
        assert (status.replicas, status.strategy) == (20, "buffer.x-k8s.io/active-capacity")
        assert condition(rehearsal, READY_FOR_PROVISIONING).reason == "Resolved"
        assert condition(rehearsal, LIMITED).reason == "WithinLimits"
        assert len(rehearsal.pods()) == 2
        assert (places(rehearsal, "ready"), places(rehearsal, "lacking")) == (20, 0)
        assert 0 < dollars(rehearsal) < 5


def test_an_explanation_of_a_node_names_the_buffer_that_it_is_kept_for() -> None:
    with rehearsal_of(0) as rehearsal:
        rehearsal.apply(buffer(replicas=5))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")
        model, [claim] = rehearsal.system.model, rehearsal.claims()
        view = model.objects.view(claim.name)
        assert view is not None

        said = [one.says for one in explain_node(model, view, rehearsal.cluster.now())]

        assert "It was made for 5 places of CapacityBuffer default/spare." in said
        assert (
            "Room for 5 more is kept free for CapacityBuffer default/spare: it is not empty for that." in said
        )


def test_nothing_is_bought_for_a_buffer_where_the_gate_is_off() -> None:
    with rehearsal_of(gate=False) as rehearsal:
        rehearsal.apply(buffer(replicas=20))
        rehearsal.run("5m")

        assert len(rehearsal.nodes()) == 1
        assert rehearsal.cluster.buffer_status("spare") is None


def test_a_burst_runs_on_the_places_of_a_buffer_and_these_are_bought_anew() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.apply(buffer(replicas=20))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")
        before = len(rehearsal.nodes())

        rehearsal.scale("web", 22)
        rehearsal.run(10)
        there = rehearsal.running()
        rehearsal.run_until(
            lambda: has_its_places(rehearsal) and len(rehearsal.nodes()) > before, within="3m"
        )
        rehearsal.run("5m")

        assert there == 22
        assert has_its_places(rehearsal)
        assert places(rehearsal, "ready") == 20
        assert len(rehearsal.nodes()) == len(rehearsal.history())


def test_the_nodes_of_a_buffer_that_is_deleted_go_and_those_with_pods_stay() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.apply(buffer(replicas=40))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")
        before = len(rehearsal.nodes())

        rehearsal.delete("CapacityBuffer", "spare")
        rehearsal.run("5m")

        assert before > 1
        assert len(rehearsal.nodes()) == 1
        assert rehearsal.running() == 2
        assert (places(rehearsal, "ready"), dollars(rehearsal)) == (0, 0)


def test_the_nodes_of_a_buffer_are_not_given_back_as_empty() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.apply(buffer(replicas=40))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")

        rehearsal.run("30m")

        assert len(rehearsal.nodes()) == len(rehearsal.history()) > 1


def test_a_percentage_follows_the_replicas_of_the_workload() -> None:
    with rehearsal_of(10) as rehearsal:
        rehearsal.apply(buffer(percentage=25))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")
        first = status_of(rehearsal).replicas

        rehearsal.scale("web", 100)
        rehearsal.run("5m")
        grown = status_of(rehearsal).replicas, places(rehearsal, "ready")
        before = len(rehearsal.nodes())
        rehearsal.scale("web", 4)
        rehearsal.run("5m")

        assert (first, grown) == (3, (25, 25))
        assert (status_of(rehearsal).replicas, places(rehearsal, "ready")) == (1, 1)
        assert len(rehearsal.nodes()) < before


def test_pods_that_wait_have_a_limit_of_their_pool_before_a_buffer() -> None:
    with rehearsal_of(0, limits={"cpu": "16"}) as rehearsal:
        rehearsal.apply(buffer(replicas=100))
        rehearsal.scale("web", 10)
        rehearsal.run("5m")

        assert rehearsal.running() == 10
        assert condition(rehearsal, LIMITED).status.value == "True"
        assert "limit" in condition(rehearsal, LIMITED).message
        assert condition(rehearsal, PROVISIONING).reason == "RequiresNewCapacity"
        assert places(rehearsal, "lacking") > 80


def test_pods_run_on_the_nodes_of_a_buffer_that_has_reached_the_limit() -> None:
    with rehearsal_of(0, limits={"cpu": "16"}) as rehearsal:
        rehearsal.apply(buffer(replicas=100))
        rehearsal.run("3m")
        free = int(places(rehearsal, "ready"))

        rehearsal.scale("web", free)
        rehearsal.run("1m")

        assert free > 5
        assert rehearsal.running() == free


def test_a_buffer_is_bought_elsewhere_where_there_is_no_capacity() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.run("1m")
        rehearsal.run_out("*", "us-east-1a")
        rehearsal.run_out("c5.large", "*")
        rehearsal.apply(buffer(replicas=30))

        rehearsal.run_until(lambda: has_its_places(rehearsal), within="5m")


def test_calls_for_a_buffer_become_rare_where_there_is_no_capacity_at_all() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.run("1m")
        rehearsal.run_out("*", "*")
        rehearsal.apply(buffer(replicas=30))
        rehearsal.run("1h")

        assert places(rehearsal, "lacking") >= 25
        assert len(rehearsal.decisions()) < 120
        assert condition(rehearsal, PROVISIONING).reason == "RequiresNewCapacity"


@pytest.mark.parametrize("after", [0.5, 2.0, 20.0, 200.0])
def test_a_restart_buys_no_place_twice(after: float) -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.run("1m")
        rehearsal.apply(buffer(replicas=30))
        rehearsal.run(after)

        rehearsal.crash()
        rehearsal.restart(after=5)
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="5m")
        rehearsal.run("10m")

        assert has_its_places(rehearsal)
        assert len(rehearsal.nodes()) == len(rehearsal.history())
        with rehearsal_of() as other:
            other.run("1m")
            other.apply(buffer(replicas=30))
            other.run("10m")
            assert len(rehearsal.nodes()) <= len(other.nodes()) + 1


def test_a_buffer_that_loses_a_node_has_its_places_again() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.apply(buffer(replicas=40))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")

        rehearsal.interrupt(rehearsal.nodes()[-1].name)
        rehearsal.run("10m")

        assert has_its_places(rehearsal)
        assert places(rehearsal, "ready") == 40


def test_a_buffer_of_another_strategy_is_left_alone_and_says_so() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.apply(buffer(replicas=20, strategy="example.com/other"))
        rehearsal.run("3m")

        assert len(rehearsal.nodes()) == 1
        [said] = status_of(rehearsal).conditions
        assert (said.type, said.status.value, said.reason) == ("treenail.sh/Served", "False", "OtherStrategy")


def test_a_buffer_of_a_workload_that_is_not_there_says_so_until_it_is() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.apply(CapacityBuffer(name="spare", scalable=ScalableRef("Deployment", "api"), replicas=5))
        rehearsal.run("1m")
        missing = condition(rehearsal, READY_FOR_PROVISIONING)
        held = condition(rehearsal, PROVISIONING).reason

        rehearsal.apply(text(deployment("api", replicas=0)))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")

        assert (missing.status.value, missing.reason) == ("False", "ScalableRefNotFound")
        assert held == "NotReadyForProvisioning"


def test_two_buffers_do_not_share_places() -> None:
    with rehearsal_of() as rehearsal:
        rehearsal.apply(buffer(replicas=10), buffer("more", replicas=10))
        rehearsal.run_until(lambda: has_its_places(rehearsal) and has_its_places(rehearsal, "more"))
        free = sum(node.allocatable["cpu"] for node in rehearsal.nodes()) - sum(
            pod.spec.requests.get("cpu", 0) for pod in rehearsal.cluster.pods() if pod.bound
        )

        assert free >= 20_000


def consolidating(replicas: int) -> Rehearsal:
    system = SystemSettings(cluster_name="demo", consolidation=ConsolidationRules())
    conditions = Conditions(system=system, cluster=ClusterSettings(tells_buffers=True))
    rehearsal = Rehearsal(seed=1, conditions=conditions)
    pool = node_pool(capacity_types=("on-demand",))
    pool = changed(pool, "spec.disruption.consolidationPolicy", "WhenEmptyOrUnderutilized")
    rehearsal.apply(text(node_class(), pool, deployment(replicas=replicas)))
    return rehearsal


def test_consolidation_moves_the_places_of_a_buffer_with_the_pods() -> None:
    with consolidating(60) as rehearsal:
        rehearsal.apply(buffer(replicas=10))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")
        before = rehearsal.claims()

        rehearsal.scale("web", 6)
        rehearsal.run("30m")
        cpu = sum(node.allocatable["cpu"] for node in rehearsal.nodes())

        assert rehearsal.running() == 6
        assert places(rehearsal, "ready") == 10
        assert len(rehearsal.claims()) <= len(before)
        assert cpu < 20_000


def test_a_node_with_nothing_but_places_goes_where_others_have_room_for_these() -> None:
    with consolidating(60) as rehearsal:
        rehearsal.run("2m")
        rehearsal.apply(buffer(replicas=8))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")
        before = len(rehearsal.nodes())

        rehearsal.scale("web", 40)
        rehearsal.run("30m")
        after = len(rehearsal.history())
        rehearsal.run("2h")

        assert has_its_places(rehearsal)
        assert places(rehearsal, "ready") == 8
        assert len(rehearsal.nodes()) <= before
        # It comes to rest.
        assert len(rehearsal.history()) == after


def test_nodes_with_nothing_but_places_make_room_within_the_limit_for_a_pod_that_fits_on_none() -> None:
    with rehearsal_of(0, limits={"cpu": "16"}) as rehearsal:
        rehearsal.apply(buffer(replicas=100))
        rehearsal.run("3m")
        assert places(rehearsal, "lacking") > 80

        rehearsal.apply(
            text(deployment("other", 1, node_selector={"node.kubernetes.io/instance-type": "m5.2xlarge"}))
        )
        rehearsal.run("8m")

        assert rehearsal.running() == 1
        assert [p.node_name != "" for p in rehearsal.pods()] == [True]


def test_a_pod_that_no_limit_leaves_room_for_has_a_buffer_retreat_once_at_most() -> None:
    with rehearsal_of(0, limits={"cpu": "16"}) as rehearsal:
        rehearsal.apply(buffer(replicas=5))
        rehearsal.run_until(lambda: has_its_places(rehearsal), within="3m")

        rehearsal.apply(text(deployment("other", 1, cpu="15900m")))
        rehearsal.run("4h")

        assert has_its_places(rehearsal)
        assert len(rehearsal.history()) <= 4
