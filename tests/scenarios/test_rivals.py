"""Claims, and nodes, that name one machine, as a backup that is restored makes them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.nodes import Node, NodeClaim

COPY = "copy"


def with_a_copy(rehearsal: Rehearsal) -> NodeClaim:
    """Run three pods on one node, and write its claim again under another name; return the first."""
    rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
    rehearsal.run("3m")
    (claim,) = rehearsal.claims()
    rehearsal.cluster.apply(replace(claim, name=COPY, uid="", resource_version=0))
    rehearsal.run("1m")
    assert [c.name for c in rehearsal.claims()] == sorted((COPY, claim.name))
    return claim


def reasons(rehearsal: Rehearsal, kind: str, name: str) -> set[str]:
    """Return the reasons of the events about an object."""
    events = (record.event for record in rehearsal.cluster.events())
    return {e.reason for e in events if (e.about.kind, e.about.name) == (kind, name)}


def expect_nothing_left(rehearsal: Rehearsal, pods: set[str]) -> None:
    """Check that the node of all pods is there, with the very same pods, and takes new ones."""
    (node,) = rehearsal.nodes()
    assert {pod.uid for pod in rehearsal.pods()} == pods
    assert rehearsal.running() == len(pods)
    assert len(rehearsal.ec2.live()) == 1
    assert (node.unschedulable, node.taints, node.deleting_since) == (False, (), None)
    assert told(rehearsal, "NodeCordoned") == []


@pytest.mark.parametrize("goes", ["the copy", "the original"])
def test_the_claim_that_stays_keeps_its_machine_and_gives_it_back_in_its_time(goes: str) -> None:
    with Rehearsal(seed=1) as rehearsal:
        original = with_a_copy(rehearsal)
        pods = {pod.uid for pod in rehearsal.pods()}
        going, staying = (COPY, original.name) if goes == "the copy" else (original.name, COPY)

        rehearsal.delete("NodeClaim", going)
        rehearsal.run("5m")

        assert [c.name for c in rehearsal.claims()] == [staying]
        expect_nothing_left(rehearsal, pods)

        rehearsal.scale("web", 0)
        rehearsal.run("5m")

        assert rehearsal.claims() == ()
        assert rehearsal.nodes() == ()
        assert rehearsal.ec2.live() == ()


def test_the_claim_that_stays_is_known_again_after_a_restart_too() -> None:
    with Rehearsal(seed=1) as rehearsal:
        original = with_a_copy(rehearsal)
        pods = {pod.uid for pod in rehearsal.pods()}
        rehearsal.crash()
        rehearsal.delete("NodeClaim", original.name)
        rehearsal.restart()
        rehearsal.run("5m")

        assert [c.name for c in rehearsal.claims()] == [COPY]
        expect_nothing_left(rehearsal, pods)


def test_both_claims_are_told_of_each_other() -> None:
    with Rehearsal(seed=1) as rehearsal:
        original = with_a_copy(rehearsal)

        for name in (original.name, COPY):
            assert "MultipleNodeClaimsFound" in reasons(rehearsal, "NodeClaim", name)
        logged = [
            line for line in rehearsal.telemetry.logs if line.message == "several claims name one machine"
        ]
        assert [line.fields["others"] for line in logged] == [[COPY]]


def test_a_copy_offers_no_room_of_its_own() -> None:
    with Rehearsal(seed=1) as rehearsal:
        with_a_copy(rehearsal)

        rehearsal.scale("web", 40)
        rehearsal.run("5m")

        assert rehearsal.running() == 40


def test_when_both_claims_are_deleted_their_node_is_drained_and_its_machine_terminated() -> None:
    with Rehearsal(seed=1) as rehearsal:
        original = with_a_copy(rehearsal)
        machine = rehearsal.ec2.live()[0].instance.id

        rehearsal.delete("NodeClaim", COPY)
        rehearsal.delete("NodeClaim", original.name)
        rehearsal.run("5m")

        assert len(told(rehearsal, "NodeDrained")) == 1
        assert machine not in {instance.instance.id for instance in rehearsal.ec2.live()}
        assert {original.name, COPY}.isdisjoint(claim.name for claim in rehearsal.claims())
        assert rehearsal.running() == 3


def test_when_ec2_takes_the_machine_the_pods_leave_it_and_both_claims_go() -> None:
    with Rehearsal(seed=1) as rehearsal:
        original = with_a_copy(rehearsal)

        node = rehearsal.interrupt()
        rehearsal.run("110s")

        assert {pod.node_name for pod in rehearsal.pods()}.isdisjoint({node})
        assert rehearsal.running() == 3
        rehearsal.run("5m")
        assert {original.name, COPY}.isdisjoint(claim.name for claim in rehearsal.claims())
        assert len(rehearsal.ec2.live()) == 1


def test_a_node_that_expires_goes_though_two_claims_name_it() -> None:
    pool = node_pool()
    pool["spec"]["template"]["spec"]["expireAfter"] = "10m"
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), pool, deployment(replicas=3)))
        rehearsal.run("3m")
        (claim,) = rehearsal.claims()
        rehearsal.cluster.apply(replace(claim, name=COPY, uid="", resource_version=0))

        rehearsal.run("30m")

        assert claim.name not in {c.name for c in rehearsal.claims()}
        assert COPY not in {c.name for c in rehearsal.claims()}
        assert rehearsal.running() == 3


def with_a_second_node(rehearsal: Rehearsal) -> Node:
    """Run three pods on one node, and write that again under another name; return the first."""
    rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
    rehearsal.run("3m")
    (node,) = rehearsal.nodes()
    rehearsal.cluster.apply(replace(node, name=COPY, uid="", resource_version=0))
    rehearsal.run("20s")
    return node


def test_nodes_that_name_one_machine_are_told_of_and_so_is_their_claim() -> None:
    with Rehearsal(seed=1) as rehearsal:
        node = with_a_second_node(rehearsal)

        for kind, name in (("Node", node.name), ("Node", COPY), ("NodeClaim", rehearsal.claims()[0].name)):
            assert "MultipleNodesFound" in reasons(rehearsal, kind, name)


def test_a_copy_of_a_node_that_is_deleted_goes_and_takes_nothing_with_it() -> None:
    with Rehearsal(seed=1) as rehearsal:
        node = with_a_second_node(rehearsal)
        pods = {pod.uid for pod in rehearsal.pods()}

        rehearsal.delete("Node", COPY)
        rehearsal.run("5m")

        assert [n.name for n in rehearsal.nodes()] == [node.name]
        expect_nothing_left(rehearsal, pods)
