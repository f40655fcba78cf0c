from __future__ import annotations

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import pods_by_node, told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.resources import CPU

DEDICATED = {"key": "dedicated", "value": "data", "effect": "NoSchedule"}
TOLERATED = {"key": "dedicated", "operator": "Equal", "value": "data", "effect": "NoSchedule"}


def refusals(rehearsal: Rehearsal) -> set[str]:
    """Return why pods were refused, as the events on them say."""
    return {
        record.event.message
        for record in rehearsal.cluster.events()
        if record.event.message.startswith("Failed to schedule pod, ")
    }


def bought_cpu(rehearsal: Rehearsal) -> float:
    return sum(claim.capacity[CPU] for claim in rehearsal.claims()) / 1000


def test_the_heaviest_pool_that_fits_serves() -> None:
    pools = [node_pool("light", weight=1), node_pool("heavy", weight=50), node_pool("unset")]
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), *pools, deployment(replicas=6)))

        rehearsal.run("3m")

        assert {record.node_pool for record in rehearsal.history()} == {"heavy"}
        assert rehearsal.running() == 6


def test_a_pool_too_small_for_a_pod_leaves_it_to_a_lighter_one() -> None:
    pools = [node_pool("heavy", weight=50, limits={"cpu": "4"}), node_pool("light", weight=1)]
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.apply(text(node_class(), *pools, deployment(replicas=2, cpu="6")))

        rehearsal.run("3m")

        assert {record.node_pool for record in rehearsal.history()} == {"light"}
        assert rehearsal.running() == 2


def test_a_limit_is_never_exceeded_and_what_does_not_fit_says_so() -> None:
    with Rehearsal(seed=3) as rehearsal:
        pool = node_pool(limits={"cpu": "16"})
        rehearsal.apply(text(node_class(), pool, deployment(replicas=30)))

        rehearsal.run("3m")

        assert 0 < bought_cpu(rehearsal) <= 16
        waiting = 30 - rehearsal.running()
        assert waiting > 14
        assert any("limit" in message for message in refusals(rehearsal))


def test_a_raised_limit_lets_the_pods_in_that_waited() -> None:
    with Rehearsal(seed=4) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(limits={"cpu": "8"}), deployment(replicas=12)))
        rehearsal.run("3m")
        assert rehearsal.running() < 12

        rehearsal.apply(text(node_pool(limits={"cpu": "32"})))
        rehearsal.run("3m")

        assert rehearsal.running() == 12
        assert bought_cpu(rehearsal) <= 32


def test_a_limit_on_nodes_counts_nodes() -> None:
    with Rehearsal(seed=5) as rehearsal:
        selector = {"node.kubernetes.io/instance-type": "c5.large"}
        pool = node_pool(limits={"nodes": "2"})
        rehearsal.apply(text(node_class(), pool, deployment(replicas=4, node_selector=selector)))

        rehearsal.run("3m")

        assert sorted(pods_by_node(rehearsal).values()) == [1, 1]


def test_only_pods_that_tolerate_it_go_to_a_tainted_pool() -> None:
    with Rehearsal(seed=6) as rehearsal:
        tainted = node_pool("data", weight=10, taints=[DEDICATED])
        plain = deployment("plain", 2)
        data = deployment("data", 2, tolerations=[TOLERATED])
        rehearsal.apply(text(node_class(), tainted, node_pool("open"), plain, data))

        rehearsal.run("3m")

        claims = {claim.node_name: claim.pool for claim in rehearsal.claims()}
        pools = {(pod.labels["app"], claims[pod.node_name]) for pod in rehearsal.pods()}
        assert ("plain", "data") not in pools
        assert rehearsal.running() == 4


def test_a_pod_that_tolerates_the_taint_goes_to_the_heavier_pool_that_has_it() -> None:
    with Rehearsal(seed=6) as rehearsal:
        pools = node_pool("data", weight=10, taints=[DEDICATED]), node_pool("open")
        rehearsal.apply(text(node_class(), *pools, deployment(replicas=2, tolerations=[TOLERATED])))

        rehearsal.run("3m")

        assert {record.node_pool for record in rehearsal.history()} == {"data"}
        assert rehearsal.running() == 2


def test_a_pod_that_tolerates_no_pool_is_refused_with_the_taint() -> None:
    with Rehearsal(seed=7) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(taints=[DEDICATED]), deployment(replicas=1)))

        rehearsal.run("2m")

        assert rehearsal.history() == ()
        [message] = refusals(rehearsal)
        assert "dedicated=data:NoSchedule" in message


def test_a_pods_selector_on_a_label_of_the_pool_chooses_the_pool() -> None:
    with Rehearsal(seed=8) as rehearsal:
        teams = [node_pool(name, labels={"example.com/team": name}) for name in ("red", "blue")]
        chosen = deployment(replicas=2, node_selector={"example.com/team": "blue"})
        rehearsal.apply(text(node_class(), *teams, chosen))

        rehearsal.run("3m")

        assert {record.node_pool for record in rehearsal.history()} == {"blue"}
        assert rehearsal.running() == 2


def test_pods_that_come_later_use_the_room_that_is_left() -> None:
    with Rehearsal(seed=9) as rehearsal:
        selector = {"node.kubernetes.io/instance-type": "m5.2xlarge"}
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3, node_selector=selector)))
        rehearsal.run("3m")

        rehearsal.scale("web", 6)
        rehearsal.run("2m")

        assert list(pods_by_node(rehearsal).values()) == [6]
        assert len(rehearsal.history()) == 1


def test_a_pool_that_is_deleted_buys_no_more() -> None:
    with Rehearsal(seed=10) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=2)))
        rehearsal.run("3m")
        rehearsal.delete("NodePool", "default")

        rehearsal.scale("web", 60)
        rehearsal.run("3m")

        assert len(rehearsal.history()) <= 1
        assert rehearsal.running() < 60
        assert told(rehearsal, "PlanCommitted")[-1].fields["refused"] != 0


def test_a_pool_that_appears_later_serves_the_pods_that_wait() -> None:
    with Rehearsal(seed=11) as rehearsal:
        rehearsal.apply(text(deployment(replicas=3)))
        rehearsal.run("1m")
        assert rehearsal.history() == ()

        rehearsal.apply(text(node_class(), node_pool()))
        rehearsal.run("3m")

        assert rehearsal.running() == 3
