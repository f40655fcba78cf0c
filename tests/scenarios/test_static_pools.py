"""Nodes of static pools are left alone, whatever happens; what somebody deletes is seen out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.disruption.node_repair import EC2_POLICIES
from treenail.domain.interruption.notice_responses import InterruptionPolicy, Response
from treenail.domain.lifecycle import tagging
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.taints import DISRUPTED

ALL_ON = SystemSettings(
    cluster_name="demo",
    repair=EC2_POLICIES,
    interruptions=InterruptionPolicy(rebalance_recommendation=Response.ACT),
)
Pool: TypeAlias = Callable[..., dict[str, Any]]


def plain(*, team: str = "one") -> dict[str, Any]:
    pool = node_pool(labels={"team": team})
    pool["spec"]["template"]["spec"]["expireAfter"] = "20m"
    return pool


def static(*, team: str = "one") -> dict[str, Any]:
    pool = plain(team=team)
    del pool["spec"]["disruption"]
    return {**pool, "spec": {**pool["spec"], "replicas": 1}}


def running(pool: Pool = static) -> Rehearsal:
    """Return a rehearsal of a pool's one node, in use, with three pods."""
    rehearsal = Rehearsal(seed=1, conditions=Conditions(system=ALL_ON))
    rehearsal.apply(text(node_class(), plain(), deployment(replicas=3)))
    rehearsal.run("3m")
    # As if it had been made by somebody who knows static pools.
    rehearsal.apply(text(pool()))
    rehearsal.run("20s")
    return rehearsal


@dataclass(frozen=True)
class Held:
    """What there was of a static pool."""

    claim: NodeClaim
    node: Node
    pods: frozenset[str]


def held(rehearsal: Rehearsal) -> Held:
    (claim,), (node,) = rehearsal.claims(), rehearsal.nodes()
    return Held(claim, node, frozenset(pod.uid for pod in rehearsal.pods()))


# --- what makes nodes of other pools go, or be written on


def scaled_away(rehearsal: Rehearsal, _: Pool) -> None:
    rehearsal.scale("web", 0)


def drifted(rehearsal: Rehearsal, pool: Pool) -> None:
    rehearsal.apply(text(pool(team="two")))


def expired(_: Rehearsal, __: Pool) -> None:
    """Let time pass, which it does anyway."""


def sick(rehearsal: Rehearsal, _: Pool) -> None:
    rehearsal.sicken()
    rehearsal.run("20m")


def impaired(rehearsal: Rehearsal, _: Pool) -> None:
    rehearsal.impair()


def rebalanced(rehearsal: Rehearsal, _: Pool) -> None:
    rehearsal.recommend_rebalance()


def restarted(rehearsal: Rehearsal, _: Pool) -> None:
    rehearsal.scale("web", 0)
    rehearsal.crash()
    rehearsal.restart(after=5)


def marked(rehearsal: Rehearsal, _: Pool) -> None:
    (node,) = rehearsal.nodes()
    rehearsal.cluster.apply(replace(node, taints=(DISRUPTED,)))


def untagged(rehearsal: Rehearsal, _: Pool) -> None:
    (claim,) = rehearsal.claims()
    rehearsal.cluster.patch_claim(claim.name, ClaimPatch(annotations={tagging.TAGGED: "false"}))


TRIGGERS = (scaled_away, drifted, expired, sick, impaired, rebalanced, restarted, marked, untagged)


def expect_untouched(rehearsal: Rehearsal, before: Held) -> None:
    """Check that nothing went, and that nobody here wrote on the node, the claim or the machine."""
    now = held(rehearsal)
    assert (now.claim.deleting_since, now.node.deleting_since) == (None, None)
    assert (now.node.unschedulable, now.node.labels) == (False, before.node.labels)
    assert now.node.taints == before.node.taints
    assert (now.claim.annotations, now.claim.last_pod_event_at) == (
        before.claim.annotations,
        before.claim.last_pod_event_at,
    )
    assert now.claim.conditions == before.claim.conditions
    assert len(rehearsal.ec2.live()) == 1
    for event in ("DisruptNodes", "NodeCordoned", "NodeDrained", "InstanceTerminated"):
        assert told(rehearsal, event) == []


def gone_through(trigger: Callable[[Rehearsal, Pool], None], pool: Pool) -> None:
    with running(pool) as rehearsal:
        trigger(rehearsal, pool)
        rehearsal.run("5s")
        before = held(rehearsal)

        rehearsal.run("25m")

        expect_untouched(rehearsal, before)


@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda trigger: trigger.__name__)
def test_a_node_of_a_static_pool_stays_as_it_is(trigger: Callable[[Rehearsal, Pool], None]) -> None:
    gone_through(trigger, static)


@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda trigger: trigger.__name__)
def test_a_node_of_another_pool_does_not(trigger: Callable[[Rehearsal, Pool], None]) -> None:
    """Else nothing would follow from the triggers, and the test above would hold of any node."""
    with pytest.raises((AssertionError, ValueError)):
        gone_through(trigger, plain)


# --- what EC2 takes


def test_a_node_of_a_static_pool_that_is_interrupted_is_told_of_and_left_alone() -> None:
    with running() as rehearsal:
        before = held(rehearsal)

        rehearsal.interrupt()
        rehearsal.run("110s")

        expect_untouched(rehearsal, before)
        assert held(rehearsal).pods == before.pods
        for kind, name in (("NodeClaim", before.claim.name), ("Node", before.node.name)):
            (message,) = {m for m in messages(rehearsal, kind, name) if "spot_interrupted" in m}
            assert message.endswith("its pool is static, and the feature gate StaticCapacity is off")
        assert rehearsal.queue.backlog() == ()


def test_what_is_left_of_a_node_that_ec2_took_does_not_hang() -> None:
    with running() as rehearsal:
        rehearsal.interrupt()
        rehearsal.run("20m")

        assert rehearsal.nodes() == ()
        assert rehearsal.claims() == ()


def messages(rehearsal: Rehearsal, kind: str, name: str) -> list[str]:
    events = (record.event for record in rehearsal.cluster.events())
    return [e.message for e in events if (e.about.kind, e.about.name) == (kind, name)]


# --- what somebody deletes


@pytest.mark.parametrize("kind", ["NodeClaim", "Node"])
def test_what_somebody_deletes_of_a_static_pool_is_drained_and_terminated(kind: str) -> None:
    with running() as rehearsal:
        before = held(rehearsal)

        rehearsal.delete(kind, before.claim.name if kind == "NodeClaim" else before.node.name)
        rehearsal.run("5m")

        assert (rehearsal.claims(), rehearsal.nodes(), rehearsal.ec2.live()) == ((), (), ())
        assert len(told(rehearsal, "NodeDrained")) == 1


def test_a_static_pool_that_is_deleted_takes_its_nodes_along() -> None:
    with running() as rehearsal:
        rehearsal.delete("NodePool", "default")
        rehearsal.run("5m")

        assert (rehearsal.claims(), rehearsal.nodes(), rehearsal.ec2.live()) == ((), (), ())


# --- what is on its way, or left over


def test_a_claim_of_a_static_pool_is_not_launched_and_not_given_up_either() -> None:
    with running() as rehearsal:
        written = held(rehearsal).claim
        waiting = replace(written, name="waiting", uid="", resource_version=0, annotations={})
        rehearsal.cluster.create_claim(waiting)

        rehearsal.run("30m")

        assert [claim.name for claim in rehearsal.claims()] == sorted((written.name, "waiting"))
        assert len(rehearsal.ec2.live()) == 1
        says = messages(rehearsal, "NodeClaim", "waiting")
        assert "It is left alone: its pool is static, and the feature gate StaticCapacity is off" in says


def test_pods_come_to_the_nodes_of_static_pools_and_no_other_is_bought_for_them() -> None:
    with running() as rehearsal:
        rehearsal.apply(text(deployment(name="more", replicas=1, cpu="100m", memory="64Mi")))
        rehearsal.run("2m")

        assert rehearsal.running() == 4
        assert len(rehearsal.nodes()) == 1


# --- claims whose pool is not known


def unknown() -> Rehearsal:
    """Return a rehearsal of a node whose pool cannot be read, nor could since the controller started."""
    rehearsal = running(plain)
    about = ObjectRef("NodePool", "default")
    rehearsal.cluster.apply_broken(Kind.NODE_POOL, "default", about, "spec.replicas: it is strange")
    rehearsal.crash()
    rehearsal.restart()
    rehearsal.run("20s")
    return rehearsal


@pytest.mark.parametrize("trigger", [scaled_away, expired, sick, impaired, rebalanced])
def test_a_node_whose_pool_is_not_known_stays(trigger: Callable[[Rehearsal, Pool], None]) -> None:
    with unknown() as rehearsal:
        trigger(rehearsal, plain)
        rehearsal.run("25m")

        assert held(rehearsal).claim.deleting_since is None
        assert told(rehearsal, "NodeCordoned") == []
        says = messages(rehearsal, "NodeClaim", held(rehearsal).claim.name)
        assert "It is left alone: its pool is not there, or is not understood" in says


def test_the_pods_of_a_node_whose_pool_is_not_known_leave_it_before_ec2_takes_it() -> None:
    with unknown() as rehearsal:
        before = held(rehearsal)
        rehearsal.interrupt()
        rehearsal.run("118s")

        assert before.pods.isdisjoint(pod.uid for pod in rehearsal.pods() if pod.node_name)
        assert len(told(rehearsal, "NodeDrained")) == 1


def test_when_its_pool_is_known_again_a_node_is_looked_after_again() -> None:
    with unknown() as rehearsal:
        rehearsal.scale("web", 0)
        rehearsal.run("10m")
        rehearsal.apply(text(plain()))
        rehearsal.run("5m")

        assert (rehearsal.claims(), rehearsal.nodes()) == ((), ())
