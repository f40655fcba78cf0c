"""The whole system with pods that come one by one: nodes come before them, and go where none do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text
from treenail.actors.system import SystemSettings
from treenail.adapters.api.workloads import PriorityClass
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.adapters.fake.ec2 import EC2Settings

ONLY_PODS = {"treenail.sh/provision-for": "pods"}


def at_a_pace(
    ec2: EC2Settings | None = None,
    *,
    early_binding: bool = False,
    replicas: int = 500,
    slower: float = 1,
    of_deployment: Mapping[str, str] | None = None,
    of_pool: Mapping[str, str] | None = None,
) -> Rehearsal:
    """Return a rehearsal of a Deployment whose pods are made at 20 a second, and its annotations.

    The API server takes so many times as long as usual to answer, and to tell of changes.
    """
    usual = ClusterSettings()
    spans = [(slower * least, slower * most) for least, most in (usual.latency, usual.watch)]
    conditions = Conditions(
        system=SystemSettings(cluster_name="demo", early_binding=early_binding),
        cluster=ClusterSettings(pod_writes=20, latency=spans[0], watch=spans[1]),
        ec2=ec2 or EC2Settings(),
    )
    rehearsal = Rehearsal(seed=1, conditions=conditions)
    web = changed(deployment(replicas=replicas), "metadata.annotations", dict(of_deployment or {}))
    pool = changed(node_pool(), "metadata.annotations", dict(of_pool or {}))
    rehearsal.apply(text(node_class(), pool, web))
    return rehearsal


def of_class(name: str, replicas: int) -> Manifest:
    return changed(deployment(name, replicas), "spec.template.spec.priorityClassName", name)


def test_nodes_for_all_pods_are_asked_for_when_the_first_are_there() -> None:
    with at_a_pace() as rehearsal:
        rehearsal.run(1)
        asked, there = len(rehearsal.claims()), len(rehearsal.pods())

        rehearsal.run_until(lambda: rehearsal.running() == 500)

        assert there < 60
        assert len(rehearsal.claims()) == len(rehearsal.history()) == asked


@pytest.mark.parametrize("early_binding", [False, True])
def test_an_api_server_that_is_ten_times_as_slow_loses_nothing(*, early_binding: bool) -> None:
    with at_a_pace(slower=10, early_binding=early_binding) as rehearsal:
        rehearsal.run(3)
        asked, there = len(rehearsal.claims()), len(rehearsal.pods())
        rehearsal.run(2)
        # What was asked for and is not written down yet is known from the claims.
        rehearsal.crash()
        rehearsal.restart(after=3)

        rehearsal.run_until(lambda: rehearsal.running() == 500)

        assert there < 120
        assert len(rehearsal.claims()) == len(rehearsal.history()) == asked
        assert rehearsal.telemetry.counted("treenail_expected_pods_never_came_total") == 0


def test_nodes_for_more_pods_than_one_decision_takes_are_asked_for_as_fast_as_ec2_grants_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("treenail.domain.cluster.expected_pods.MOST", 150)
    with at_a_pace() as rehearsal:
        rehearsal.run(8)
        asked, there = len(rehearsal.claims()), len(rehearsal.pods())
        rehearsal.run_until(lambda: rehearsal.running() == 500)

        assert there < 200
        assert len(rehearsal.claims()) == len(rehearsal.history()) == asked


def test_a_deployment_that_shrinks_after_two_seconds_gives_up_what_is_not_launched() -> None:
    with at_a_pace(EC2Settings(fleet_latency=(3.0, 4.0))) as rehearsal:
        rehearsal.run(2)
        asked = rehearsal.claims()
        assert not any(claim.launched for claim in asked)

        rehearsal.scale("web", 10)
        rehearsal.run(1)
        given_up = [claim for claim in rehearsal.claims() if claim.leaving]
        rehearsal.run("5m")

        # The controller manager makes what it has begun to make; there are 60 by now.
        assert len(given_up) >= len(asked) - 3
        assert not any(claim.launched for claim in given_up)
        assert rehearsal.running() == 10
        assert len(rehearsal.ec2.live()) == len(rehearsal.nodes()) == 1


def test_pods_that_are_bound_early_come_to_the_nodes_that_were_asked_for_before_them() -> None:
    with at_a_pace(early_binding=True) as rehearsal:
        rehearsal.run(1)
        asked = len(rehearsal.claims())

        rehearsal.run_until(lambda: rehearsal.running() == 500)

        assert len(rehearsal.claims()) == len(rehearsal.history()) == asked
        assert rehearsal.telemetry.counted("treenail_pods_bound_early_total") > 400


def test_successors_of_pods_that_lose_their_node_are_not_planned_twice() -> None:
    with at_a_pace() as rehearsal:
        rehearsal.run_until(lambda: rehearsal.running() == 500)
        before = len(rehearsal.history())

        for node in rehearsal.nodes()[:3]:
            rehearsal.interrupt(node.name)
        rehearsal.run("5m")

        assert rehearsal.running() == 500
        assert len(rehearsal.history()) <= before + 3
        assert len(rehearsal.claims()) == before


def test_a_node_that_goes_while_pods_are_made_is_replaced_at_once_and_once() -> None:
    with at_a_pace() as rehearsal:
        rehearsal.run_until(lambda: any(node.ready for node in rehearsal.nodes()))
        # Made while the machines boot, and not there all yet.
        rehearsal.scale("web", 1000)
        rehearsal.run(3)
        asked, there = len(rehearsal.claims()), len(rehearsal.pods())
        rehearsal.interrupt()
        rehearsal.run_until(lambda: rehearsal.running() == 1000)
        rehearsal.run("2m")

        assert 500 < there < 700
        assert len(rehearsal.history()) <= asked + 1
        assert len(rehearsal.claims()) <= asked


@pytest.mark.parametrize("first", ["low", "high"])
def test_pods_that_push_others_out_and_these_get_nodes_once(first: str) -> None:
    with at_a_pace(replicas=0) as rehearsal:
        rehearsal.apply(PriorityClass(name="low", value=1), PriorityClass(name="high", value=1_000))
        other = "high" if first == "low" else "low"
        rehearsal.apply(text(of_class(first, 200)))
        rehearsal.run_until(lambda: rehearsal.running() == 200)

        rehearsal.apply(text(of_class(other, 200)))
        rehearsal.run_until(lambda: rehearsal.running() == 400)
        rehearsal.run("5m")

        cpus = sum(node.allocatable["cpu"] for node in rehearsal.nodes())
        assert cpus <= 1.15 * 400_000


def test_a_deployment_that_asks_for_nodes_for_its_pods_only_gets_none_before_them() -> None:
    with at_a_pace(of_deployment=ONLY_PODS) as rehearsal:
        rehearsal.run_until(lambda: rehearsal.running() == 500)

        assert rehearsal.telemetry.counted("treenail_expected_pods_came_total") == 0


def test_a_pool_for_pods_only_gets_as_many_nodes_as_if_nothing_were_known_of_pods_to_come() -> None:
    bought = []
    for of_pool, of_deployment in ((ONLY_PODS, {}), ({}, ONLY_PODS)):
        with at_a_pace(of_pool=of_pool, of_deployment=of_deployment) as rehearsal:
            rehearsal.run_until(lambda: rehearsal.running() == 500)
            bought.append(len(rehearsal.history()))

    assert bought[0] <= bought[1] + 1  # for the first pod, before it is known


def of_two_pools(*, runs_out: bool) -> Rehearsal:
    """Return a rehearsal of 300 pods, 100 of them wanted no more after 5 s: of spot, or else on-demand."""
    rehearsal = at_a_pace(replicas=0)
    spot = changed(node_pool("spot", weight=10), "spec.limits", {"cpu": "10000"})
    rehearsal.apply(text(spot, node_pool(capacity_types=("on-demand",))))
    if runs_out:
        rehearsal.ec2.outside.run_out("*", "*", "spot")
        # That spot has run out is known from now on.
        rehearsal.scale("web", 1)
        rehearsal.run_until(lambda: rehearsal.running() == 1)
    rehearsal.scale("web", 300)
    rehearsal.run(5)
    rehearsal.scale("web", 100)
    return rehearsal


def test_while_spot_has_run_out_on_demand_nodes_are_bought_for_pods_that_are_there_alone() -> None:
    with of_two_pools(runs_out=True) as rehearsal:
        rehearsal.run_until(lambda: rehearsal.running() == 100)
        bought = [node for node in rehearsal.history() if node.capacity_type == "on-demand"]

        assert len(rehearsal.history()) == len(bought)
        assert not any(claim.annotations.get("treenail.sh/pods-to-come") for claim in rehearsal.claims())


def test_when_spot_is_back_it_is_bought_for_pods_to_come() -> None:
    with of_two_pools(runs_out=True) as rehearsal:
        rehearsal.run_until(lambda: rehearsal.running() == 100)
        rehearsal.ec2.outside.restock()
        rehearsal.run("10m")
        before = len(rehearsal.history())

        rehearsal.scale("web", 1000)
        # The first batch after an outage waits for its pods, ten seconds at most.
        rehearsal.run(13)
        there = len(rehearsal.pods())
        new = rehearsal.history()[before:]

        assert there < 450
        assert {node.capacity_type for node in new} == {"spot"}
        assert sum(promise.expected for promise in rehearsal.system.model.promises.all()) > 300


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_a_quota_that_is_used_up_ends_what_is_expected_and_nothing_more_is_bought(kind: str) -> None:
    with at_a_pace(replicas=0) as rehearsal:
        cluster = rehearsal.cluster
        cluster.faults = replace(cluster.faults, pod_quota=100)
        rehearsal.apply(text(deployment("api", 1000) if kind == "Deployment" else job("api", 1000)))
        rehearsal.run("10m")
        bought = len(rehearsal.history())
        rehearsal.run("2h")

        assert rehearsal.running() == 100
        assert len(rehearsal.history()) == bought
        assert not any(promise.expected for promise in rehearsal.system.model.promises.all())
        # What was bought for pods that the quota did not let come is gone.
        assert sum(node.allocatable["cpu"] for node in rehearsal.nodes()) < 200_000


@pytest.mark.parametrize("kind", ["Deployment", "Job", "StatefulSet"])
def test_for_pods_that_a_quota_would_refuse_nothing_is_bought(kind: str) -> None:
    made: dict[str, Callable[[str, int], Manifest]] = {"Job": job, "StatefulSet": parallel_set}
    wanted = made.get(kind, deployment)("api", 500)
    with at_a_pace(replicas=0, slower=10) as rehearsal:
        rehearsal.apply(text(quota(60), wanted))
        rehearsal.run("10m")

        assert rehearsal.running() == 60
        assert len(rehearsal.history()) == len(rehearsal.nodes())
        assert sum(node.allocatable["cpu"] for node in rehearsal.nodes()) < 80_000


def test_a_quota_that_is_raised_has_nodes_bought_for_the_pods_that_it_lets_be_made() -> None:
    with at_a_pace(replicas=0) as rehearsal:
        rehearsal.apply(text(quota(10), job("api", 500)))
        rehearsal.run("1m")
        before = len(rehearsal.history())

        rehearsal.apply(text(quota(400)))
        rehearsal.run_until(lambda: len(rehearsal.pods()) > 10)
        rehearsal.run(1.5)
        asked, there = len(rehearsal.history()), len(rehearsal.pods())
        rehearsal.run_until(lambda: rehearsal.running() == 400)

        assert before < asked
        assert there < 100
        assert len(rehearsal.history()) <= asked + 1


def test_a_quota_that_is_lowered_while_pods_are_made_gives_up_what_is_not_launched() -> None:
    with at_a_pace(EC2Settings(fleet_latency=(3.0, 4.0)), replicas=0) as rehearsal:
        rehearsal.apply(text(quota(400), job("api", 500)))
        rehearsal.run(2)
        asked = rehearsal.claims()
        assert not any(claim.launched for claim in asked)

        rehearsal.apply(text(quota(10)))
        rehearsal.run(1)
        given_up = [claim for claim in rehearsal.claims() if claim.leaving]

        assert len(given_up) >= len(asked) - 3
        assert not any(promise.expected for promise in rehearsal.system.model.promises.all())


def quota(pods: int) -> Manifest:
    spec = {"hard": {"pods": str(pods)}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": spec}


def parallel_set(name: str, pods: int) -> Manifest:
    """Return a StatefulSet of so many pods that are made at once."""
    spec = {**deployment(name, pods)["spec"], "serviceName": name, "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}


def job(name: str, pods: int) -> Manifest:
    """Return a Job of so many pods at once, each with an index, that run for three hours."""
    template = changed(deployment()["spec"]["template"], "spec.restartPolicy", "Never")
    template = changed(template, "metadata.annotations", {"treenail.sh/runs-for": "3h"})
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def test_a_deployment_that_wants_two_thousand_pods_for_ten_seconds_leaves_nothing_behind() -> None:
    with at_a_pace(replicas=0) as rehearsal:
        rehearsal.run(5)
        rehearsal.scale("web", 2000)
        rehearsal.run(10)
        asked = len(rehearsal.history())
        rehearsal.scale("web", 0)
        rehearsal.run(5)
        kept = [promise for promise in rehearsal.system.model.promises.all() if promise.expected]
        rehearsal.run("5m")

        assert not kept
        assert len(rehearsal.history()) == asked > 0
        assert not rehearsal.pods()
        assert not rehearsal.nodes()
        assert not rehearsal.ec2.live()
