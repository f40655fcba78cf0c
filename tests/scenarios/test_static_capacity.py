"""Pools with replicas have that many nodes, with the gate StaticCapacity; others may have a floor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.actors.system import SystemSettings
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.ec2.spells import Spell
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.model import labels
from treenail.domain.model.events import ObjectRef

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
TYPE = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["c5.large"]}


@contextmanager
def rehearsal_with(**settings: Any) -> Iterator[Rehearsal]:
    system = SystemSettings(cluster_name="demo", **{"static_capacity": True, **settings})
    with Rehearsal(seed=1, conditions=Conditions(system=system)) as rehearsal:
        rehearsal.apply(text(node_class()))
        yield rehearsal


def static(replicas: int = 3, *, budget: str = "100%", limit: int | None = None, **pool: Any) -> Manifest:
    """Return a pool with replicas."""
    made = node_pool("fixed", **pool)
    made["spec"]["disruption"] = {"consolidateAfter": "0s", "budgets": [{"nodes": budget}]}
    made["spec"]["replicas"] = replicas
    if limit is not None:
        made["spec"]["limits"] = {"nodes": str(limit)}
    return made


def floor(nodes: int | str, *, budget: str = "100%", **pool: Any) -> Manifest:
    """Return a pool that has so many nodes at least."""
    made = node_pool("floor", **pool)
    made["metadata"]["annotations"] = {labels.MIN_NODES: str(nodes)}
    made["spec"]["disruption"]["budgets"] = [{"nodes": budget}]
    return made


def in_use(rehearsal: Rehearsal) -> list[str]:
    return [claim.name for claim in rehearsal.claims() if claim.initialized and not claim.leaving]


def zones(rehearsal: Rehearsal) -> list[int]:
    """Return how many nodes there are in each zone, sorted."""
    return sorted(Counter(claim.zone for claim in rehearsal.claims()).values())


def most_in_use(rehearsal: Rehearsal, steps: int, *, apart: float = 5) -> tuple[int, int]:
    """Let time pass; return how few and how many claims there were that were not on their way out."""
    counts = []
    for _ in range(steps):
        rehearsal.run(apart)
        counts.append(len(in_use(rehearsal)))
    return min(counts), max(counts)


# --- growing


def test_a_pool_with_replicas_has_that_many_nodes_spread_over_zones_without_any_pod() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(5)))
        rehearsal.run("3m")

        assert len(in_use(rehearsal)) == 5
        assert zones(rehearsal) == [1, 2, 2]
        (pool,) = rehearsal.system.model.objects.pools.values()
        assert pool.replicas == 5
        rehearsal.run("30m")
        assert len(in_use(rehearsal)) == 5
        assert told(rehearsal, "DisruptNodes") == []


def test_without_the_gate_a_pool_with_replicas_gets_nothing_and_its_condition_says_why() -> None:
    with rehearsal_with(static_capacity=False) as rehearsal:
        rehearsal.apply(text(static(3)))
        rehearsal.run("10m")

        assert (rehearsal.claims(), rehearsal.ec2.live()) == ((), ())
        said = str(rehearsal.cluster.conditions(ObjectRef("NodePool", "fixed")))
        assert "acted on only with FEATURE_GATES=StaticCapacity=true: spec.replicas" in said


def test_nodes_of_a_static_pool_are_not_bought_for_pods_that_may_use_them_all_the_same() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(1)))
        rehearsal.run("2m")
        rehearsal.apply(text(deployment(replicas=40, cpu="500m", memory="100Mi")))
        rehearsal.run("5m")

        assert len(rehearsal.claims()) == 1
        assert 0 < rehearsal.running() < 40


def test_a_limit_below_the_replicas_holds_until_it_is_raised() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(4, limit=2)))
        rehearsal.run("10m")
        assert len(rehearsal.claims()) == 2

        rehearsal.apply(text(static(4, limit=10)))
        rehearsal.run("3m")

        assert len(in_use(rehearsal)) == 4


def test_nodes_go_where_there_is_capacity_and_are_tried_again_with_pauses_where_there_is_none() -> None:
    with rehearsal_with() as rehearsal:
        pool = static(4)
        pool["spec"]["template"]["spec"]["requirements"] = [TYPE]
        for zone in ZONES[1:]:
            rehearsal.run_out("c5.large", zone)
        rehearsal.apply(text(pool))
        rehearsal.run("10m")
        assert [claim.zone for claim in rehearsal.claims()] == ["us-east-1a"] * 4

        rehearsal.run_out("c5.large", "us-east-1a")
        before = len(told(rehearsal, "PlanCommitted"))
        pool["spec"]["replicas"] = 5
        rehearsal.apply(text(pool))
        rehearsal.run("30m")

        assert len(in_use(rehearsal)) == 4
        assert 3 <= len(told(rehearsal, "PlanCommitted")) - before <= 30


@pytest.mark.parametrize("spell", [Spell.AWAY, Spell.THROTTLED, Spell.ANSWERS_LOST, Spell.HIDDEN])
def test_trouble_with_ec2_leads_to_no_node_too_many(spell: Spell) -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.ec2_under(spell, 60)
        rehearsal.apply(text(static(3)))
        _, most = most_in_use(rehearsal, 200)

        assert (most, len(in_use(rehearsal)), len(rehearsal.ec2.live())) == (3, 3, 3)


@pytest.mark.parametrize("tenths", range(9, 32, 1))
def test_a_restart_at_any_point_of_growing_buys_no_node_twice(tenths: int) -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(3)))
        rehearsal.run(tenths / 10)
        rehearsal.crash()
        rehearsal.restart(after=3)
        _, most = most_in_use(rehearsal, 60)

        assert (most, len(in_use(rehearsal)), len(rehearsal.ec2.live())) == (3, 3, 3)


def test_a_node_that_ec2_takes_or_somebody_deletes_or_that_expires_is_made_up_for() -> None:
    with rehearsal_with() as rehearsal:
        pool = static(3)
        pool["spec"]["template"]["spec"]["expireAfter"] = "1h"
        rehearsal.apply(text(pool))
        rehearsal.run("3m")
        first = set(in_use(rehearsal))
        rehearsal.interrupt()
        rehearsal.run("6m")
        assert len(in_use(rehearsal)) == 3
        rehearsal.delete("NodeClaim", in_use(rehearsal)[0])
        rehearsal.run("6m")
        assert len(in_use(rehearsal)) == 3
        rehearsal.run("75m")

        assert len(in_use(rehearsal)) == 3
        assert first.isdisjoint(in_use(rehearsal))


# --- shrinking


def test_fewer_replicas_take_empty_nodes_first_and_keep_the_zones_even() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(6)))
        rehearsal.run("3m")
        rehearsal.apply(text(deployment(replicas=1, cpu="1500m", memory="100Mi")))
        rehearsal.run("1m")
        (busy,) = {pod.node_name for pod in rehearsal.pods()}
        rehearsal.apply(text(static(3)))
        rehearsal.run("5m")

        assert (len(in_use(rehearsal)), zones(rehearsal)) == (3, [1, 1, 1])
        assert busy in {node.name for node in rehearsal.nodes()}
        assert told(rehearsal, "NodeDrained")[-1].fields
        assert {record.cause for record in rehearsal.history() if record.cause} == {"scaled_down"}


def test_what_is_not_launched_yet_goes_first() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(2)))
        rehearsal.run("3m")
        kept = set(in_use(rehearsal))
        rehearsal.ec2_under(Spell.AWAY, 60)
        rehearsal.apply(text(static(5)))
        rehearsal.run("5s")
        assert len(rehearsal.claims()) == 5
        rehearsal.apply(text(static(2)))
        rehearsal.run("10m")

        assert set(in_use(rehearsal)) == kept
        assert len(rehearsal.ec2.live()) == 2


def test_budgets_bound_how_many_nodes_go_at_a_time() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(6, budget="1")))
        rehearsal.run("3m")
        rehearsal.apply(text(static(2, budget="1")))
        for _ in range(200):
            rehearsal.run(2)
            going = [c for c in rehearsal.claims() if c.leaving]
            draining = [c for c in going if any(n.provider_id == c.provider_id for n in rehearsal.nodes())]
            assert len(draining) <= 2  # one whose machine is being terminated counts no more

        assert len(in_use(rehearsal)) == 2


def test_a_budget_of_no_nodes_keeps_them_all() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(3, budget="0")))
        rehearsal.run("3m")
        rehearsal.apply(text(static(0, budget="0")))
        rehearsal.run("30m")
        assert len(in_use(rehearsal)) == 3

        rehearsal.apply(text(static(0)))
        rehearsal.run("5m")

        assert (rehearsal.claims(), rehearsal.ec2.live()) == ((), ())


def test_a_pool_that_is_scaled_to_none_drains_as_disruption_budgets_of_pods_allow() -> None:
    guard = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    }
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(2), guard))
        rehearsal.run("3m")
        rehearsal.apply(text(deployment(replicas=2, cpu="100m", memory="100Mi")))
        rehearsal.run("1m")
        assert rehearsal.running() == 2
        rehearsal.apply(text(static(0)))
        rehearsal.run("20m")
        assert rehearsal.running() == 2  # nobody may evict them, and there is no other node

        rehearsal.apply(text(node_pool("other")))
        rehearsal.delete("PodDisruptionBudget", "guard")
        rehearsal.run("15m")

        assert rehearsal.running() == 2
        assert [claim.pool for claim in rehearsal.claims()] == ["other"]


# --- drift


def test_drifted_nodes_are_replaced_one_for_one_and_there_are_never_fewer_than_the_replicas() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(3, budget="1")))
        rehearsal.run("3m")
        first = set(in_use(rehearsal))
        rehearsal.apply(text(static(3, budget="1", labels={"team": "b"})))
        least, most = most_in_use(rehearsal, 200)

        assert (least, most) == (3, 4)
        assert first.isdisjoint(in_use(rehearsal))
        assert len(in_use(rehearsal)) == len(rehearsal.ec2.live()) == 3


def test_drift_and_fewer_replicas_at_once_cost_no_replacement_too_many() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(4)))
        rehearsal.run("3m")
        rehearsal.apply(text(static(2, labels={"team": "b"})))
        least, most = most_in_use(rehearsal, 200)

        assert least >= 2
        assert most <= 4
        assert len(in_use(rehearsal)) == len(rehearsal.ec2.live()) == 2
        assert {claim.labels["team"] for claim in rehearsal.claims()} == {"b"}


def test_drifted_nodes_wait_where_limits_leave_no_room_for_another() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(2, limit=2)))
        rehearsal.run("3m")
        first = set(in_use(rehearsal))
        rehearsal.apply(text(static(2, limit=2, labels={"team": "b"})))
        rehearsal.run("30m")
        assert set(in_use(rehearsal)) == first

        rehearsal.apply(text(static(2, limit=3, labels={"team": "b"})))
        rehearsal.run("20m")

        assert first.isdisjoint(in_use(rehearsal))
        assert len(in_use(rehearsal)) == 2


@pytest.mark.parametrize("after", range(2, 90, 8))
def test_a_restart_in_the_middle_of_drift_ends_it(after: int) -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(static(2)))
        rehearsal.run("3m")
        rehearsal.apply(text(static(2, labels={"team": "b"})))
        rehearsal.run(after)
        rehearsal.crash()
        rehearsal.restart(after=5)
        least, most = most_in_use(rehearsal, 200)

        assert least >= 2
        assert most <= 4
        assert {claim.labels["team"] for claim in rehearsal.claims()} == {"b"}
        assert len(in_use(rehearsal)) == len(rehearsal.ec2.live()) == 2


# --- a floor


def test_a_pool_with_a_floor_has_that_many_nodes_and_more_where_pods_need_them() -> None:
    rules = ConsolidationRules(acting=True)
    with rehearsal_with(consolidation=rules) as rehearsal:
        pool = floor(3)
        pool["spec"]["disruption"]["consolidationPolicy"] = "WhenEmptyOrUnderutilized"
        rehearsal.apply(text(pool))
        rehearsal.run("3m")
        assert (len(in_use(rehearsal)), zones(rehearsal)) == (3, [1, 1, 1])

        rehearsal.apply(text(deployment(replicas=20, cpu="1", memory="1Gi")))
        rehearsal.run("5m")
        assert rehearsal.running() == 20
        assert len(in_use(rehearsal)) > 3
        rehearsal.scale("web", 0)
        least, _ = most_in_use(rehearsal, 240)

        assert least >= 3
        assert len(in_use(rehearsal)) == 3


def test_a_floor_holds_where_a_node_is_lost() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(floor(2)))
        rehearsal.run("3m")
        rehearsal.terminate_outside()
        rehearsal.run("10m")

        assert len(in_use(rehearsal)) == 2


def test_a_floor_that_is_taken_away_lets_all_nodes_go() -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(floor(2)))
        rehearsal.run("3m")
        rehearsal.apply(text(floor(0)))
        rehearsal.run("10m")

        assert (rehearsal.claims(), rehearsal.ec2.live()) == ((), ())


def test_a_floor_needs_no_gate() -> None:
    with rehearsal_with(static_capacity=False) as rehearsal:
        rehearsal.apply(text(floor(2)))
        rehearsal.run("3m")

        assert len(in_use(rehearsal)) == 2


@pytest.mark.parametrize("written", ["-1", "3.5", "three", "", "1e3", "\u0661", "12345678901"])
def test_a_floor_that_is_no_number_of_nodes_is_refused_by_name(written: str) -> None:
    with rehearsal_with() as rehearsal, pytest.raises(ManifestError, match="min-nodes"):
        rehearsal.apply(text(floor(written)))


def test_a_floor_beside_replicas_is_refused() -> None:
    pool = static(2)
    pool["metadata"]["annotations"] = {labels.MIN_NODES: "1"}
    with rehearsal_with() as rehearsal, pytest.raises(ManifestError, match="cannot stand beside"):
        rehearsal.apply(text(pool))


# --- what is said of them


@pytest.mark.parametrize(
    ("pool", "says"),
    [
        (static(1), "Its pool is to have 1 node, whatever pods need: it is neither given back empty nor"),
        (floor(1), "Its pool has at least 1 node, whatever pods need."),
    ],
)
def test_a_node_is_explained_by_the_size_of_its_pool(pool: Manifest, says: str) -> None:
    with rehearsal_with() as rehearsal:
        rehearsal.apply(text(pool))
        rehearsal.run("3m")
        model = rehearsal.system.model
        (view,) = model.objects.views()

        told = [one.says for one in explain_node(model, view, rehearsal.world.now())]

        assert any(one.startswith(says) for one in told), told


# --- deaths


def die_after(rehearsal: Rehearsal, messages: int) -> None:
    """Let so many messages be heard, or five minutes pass, and kill who heard them."""
    world = rehearsal.world
    last = world.steps + messages
    world.run_until(lambda: world.steps >= last, at_most=world.monotonic() + 300)
    rehearsal.crash()


LONE: Manifest = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {"name": "alone"},
    "spec": {
        "requirements": [TYPE],
        "resources": {"requests": {"cpu": "1"}},
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    },
}


@pytest.mark.seeds(quick=25, soak=300)
def test_a_death_after_any_message_makes_no_node_too_many_and_none_too_few(seed: int) -> None:
    """Of replicas, a floor and a claim of no pool, while they grow, and then while they drift and shrink."""
    with rehearsal_with() as rehearsal:
        for manifests, expected, most in (
            ((static(2), floor(1), LONE), 4, 4),
            ((static(1, labels={"team": "b"}), floor(1), LONE), 3, 5),
        ):
            rehearsal.apply(text(*manifests))
            die_after(rehearsal, 1 + seed * 7)
            rehearsal.restart(after=5)
            for _ in range(120):
                rehearsal.run(5)
                assert len(rehearsal.ec2.live()) <= most
            assert len(in_use(rehearsal)) == len(rehearsal.ec2.live()) == expected
        assert sorted(claim.pool for claim in rehearsal.claims()) == ["", "fixed", "floor"]


# --- provisioning that is off


def test_while_provisioning_is_off_nothing_is_bought_for_replicas_and_floors() -> None:
    with rehearsal_with(provisioning=False, resumes_after=600.0) as rehearsal:
        rehearsal.apply(text(static(2), floor(1)))
        rehearsal.run("9m")
        assert rehearsal.claims() == ()

        rehearsal.run("6m")

        assert len(in_use(rehearsal)) == 3
