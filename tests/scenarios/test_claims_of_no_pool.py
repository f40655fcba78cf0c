"""NodeClaims that somebody wrote by hand, of no pool: bought, and kept until somebody deletes them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from tests.scenarios.watching import fleet_requests, told
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.ec2.spells import Spell
from treenail.domain.cluster.inventory import Inventory
from treenail.domain.disruption.node_repair import EC2_POLICIES
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.model import labels
from treenail.domain.model.event_subjects import of_claim as reference
from treenail.domain.model.left_alone import LeftAlone
from treenail.domain.model.nodes import NodeClaim, NodeView, condition_of
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.pods import Owner
from treenail.domain.model.taints import Effect, Taint

ALONE: Manifest = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {"name": "alone"},
    "spec": {
        "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
        "resources": {"requests": {"cpu": "1"}},
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    },
}


def messages(rehearsal: Rehearsal, name: str) -> list[str]:
    events = (record.event for record in rehearsal.cluster.events())
    return [e.message for e in events if (e.about.kind, e.about.name) == ("NodeClaim", name)]


def in_use(rehearsal: Rehearsal, **of_claim: Any) -> NodeClaim:
    """Run three pods on a node, whose claim is then of no pool, as if somebody had bought it by that."""
    rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
    rehearsal.run("3m")
    (claim,), (node,) = rehearsal.claims(), rehearsal.nodes()
    bare = {key: value for key, value in claim.labels.items() if key != labels.NODEPOOL}
    lone = replace(
        claim, name="alone", uid="", resource_version=0, pool="", labels=bare, owners=(), **of_claim
    )
    rehearsal.crash()
    rehearsal.cluster.apply(lone)
    (_, lone) = sorted(rehearsal.cluster.claims(), key=lambda c: c.name == "alone")
    rehearsal.cluster.patch_node(node.name, NodePatch(owner=reference(lone)))
    rehearsal.cluster.patch_claim(claim.name, ClaimPatch(remove_finalizers=(labels.TERMINATION_FINALIZER,)))
    rehearsal.cluster.delete("NodeClaim", claim.name)
    rehearsal.restart()
    rehearsal.run("30s")
    assert [c.name for c in rehearsal.claims()] == ["alone"]
    return lone


def of(spec: dict[str, Any] | None = None, *, name: str = "alone", **metadata: Any) -> Manifest:
    """Return a claim of no pool, with more in its spec or its metadata."""
    return {
        **ALONE,
        "metadata": {"name": name, **metadata},
        "spec": {**ALONE["spec"], **(spec or {})},
    }


def says(rehearsal: Rehearsal, name: str = "alone") -> list[str]:
    model = rehearsal.system.model
    view = model.objects.view(name)
    assert view is not None
    return [s.says for s in explain_node(model, view, rehearsal.world.now())]


def test_a_claim_of_no_pool_is_launched_and_comes_into_use_and_stays_until_it_is_deleted() -> None:
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    startup = {"key": "wait", "effect": "NoExecute"}
    lone = of(
        {"taints": [taint], "startupTaints": [startup], "terminationGracePeriod": "1h"},
        labels={"example.com/team": "a"},
    )
    with Rehearsal(seed=1) as rehearsal:
        requests = fleet_requests(rehearsal)
        rehearsal.apply(text(node_class(), lone))
        rehearsal.run("2m")
        (claim,), (node,), (request,) = rehearsal.claims(), rehearsal.nodes(), requests
        assert claim.registered
        assert not claim.initialized
        assert {t.key for t in node.taints} >= {"team", "wait"}
        assert (node.labels["example.com/team"], labels.NODEPOOL in node.labels) == ("a", False)
        assert (labels.NODEPOOL in request.tags, request.labels["example.com/team"]) == (False, "a")
        assert labels.TERMINATION_FINALIZER in claim.finalizers

        rehearsal.cluster.patch_node(node.name, NodePatch(remove_taints=(Taint("wait", Effect.NO_EXECUTE),)))
        rehearsal.run("1h")

        assert [c.initialized for c in rehearsal.claims()] == [True]
        (until,) = (one for one in says(rehearsal) if one.startswith("It is of no pool"))
        assert until.startswith("It is of no pool: it stays until somebody deletes it, or until 2026-01-31")
        rehearsal.delete("NodeClaim", "alone")
        rehearsal.run("5m")
        assert (rehearsal.claims(), rehearsal.nodes(), rehearsal.ec2.live()) == ((), (), ())


def test_pods_go_to_the_node_of_a_claim_of_no_pool_before_others_are_bought() -> None:
    with Rehearsal(seed=1) as rehearsal:
        needs = {"resources": {"requests": {"cpu": "3", "memory": "4Gi"}}}
        rehearsal.apply(text(node_class(), node_pool(), of(needs)))
        rehearsal.run("2m")
        rehearsal.apply(text(deployment(replicas=2, cpu="1", memory="1Gi")))
        rehearsal.run("2m")

        assert rehearsal.running() == 2
        assert [claim.name for claim in rehearsal.claims()] == ["alone"]


def test_a_claim_of_no_pool_waits_for_its_node_class_and_says_so() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(of()))
        rehearsal.run("20m")
        assert "Failed resolving NodeClass: EC2NodeClass/default is not there yet" in messages(
            rehearsal, "alone"
        )
        assert "It is launched when EC2NodeClass/default is there." in says(rehearsal)

        rehearsal.apply(text(node_class()))
        rehearsal.run("2m")

        assert [claim.initialized for claim in rehearsal.claims()] == [True]


def test_a_claim_of_no_pool_that_ec2_has_no_capacity_for_is_deleted_and_says_why() -> None:
    with Rehearsal(seed=1) as rehearsal:
        one_type = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["c5.large"]}
        for zone in ("us-east-1a", "us-east-1b", "us-east-1c"):
            rehearsal.run_out("c5.large", zone)
        rehearsal.apply(text(node_class(), of({"requirements": [one_type]})))
        rehearsal.run("2m")

        assert (rehearsal.claims(), rehearsal.ec2.live()) == ((), ())
        assert any("InsufficientInstanceCapacity" in one for one in messages(rehearsal, "alone"))


def test_a_launch_of_a_claim_of_no_pool_that_fails_is_told_of_and_tried_again() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class()))
        rehearsal.run("30s")
        rehearsal.ec2_under(Spell.PROFILE_HIDDEN, 60)
        rehearsal.apply(text(of()))
        rehearsal.run("30s")
        (claim,) = rehearsal.claims()
        launched = condition_of(claim.conditions, "Launched")
        assert launched is not None
        assert (launched.status.value, launched.reason) == ("Unknown", "LaunchFailed")
        assert any(one.startswith("It is launched again: ") for one in messages(rehearsal, "alone"))

        rehearsal.run("3m")

        assert [c.initialized for c in rehearsal.claims()] == [True]
        assert len(rehearsal.ec2.live()) == 1


def test_a_claim_of_no_pool_whose_launch_fails_for_five_minutes_is_given_up() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class()))
        rehearsal.run("30s")
        rehearsal.ec2_under(Spell.PROFILE_HIDDEN, 900)
        rehearsal.apply(text(of()))
        rehearsal.run("4m")
        assert len(rehearsal.claims()) == 1

        rehearsal.run("3m")

        assert (rehearsal.claims(), rehearsal.ec2.live()) == ((), ())


@pytest.mark.parametrize("tenths", range(16, 36))
def test_a_restart_at_any_point_of_its_launch_buys_one_machine(tenths: int) -> None:
    """The writes are within the second and a half after the two seconds that a claim is left for."""
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), of()))
        rehearsal.run(tenths / 10)
        rehearsal.crash()
        rehearsal.restart(after=3)
        rehearsal.run("5m")

        assert [claim.initialized for claim in rehearsal.claims()] == [True]
        assert len(rehearsal.ec2.live()) == 1


@pytest.mark.parametrize("lost", [Spell.ANSWERS_LOST, Spell.AWAY, Spell.THROTTLED, Spell.HIDDEN])
def test_answers_of_ec2_that_are_lost_buy_no_machine_twice(lost: Spell) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.ec2_under(lost, 20)
        rehearsal.apply(text(node_class(), of(), of(name="other")))
        rehearsal.run("10m")

        assert [claim.initialized for claim in rehearsal.claims()] == [True, True]
        assert len(rehearsal.ec2.live()) == 2


@pytest.mark.parametrize("kind", ["NodePool", "Provisioner"])
def test_a_claim_that_a_pool_owns_is_not_launched_for_want_of_its_label(kind: str) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(of()))
        (lone,) = rehearsal.cluster.claims()
    owned = replace(lone, owners=(Owner(kind=kind, name="default", uid="1"),))
    inventory = Inventory()

    assert inventory.launches_from(NodeView(claim=lone))[0] is not None
    assert inventory.launches_from(NodeView(claim=owned)) == (None, None)
    assert inventory.left_alone(NodeView(claim=owned)) is LeftAlone.UNKNOWN_POOL


def test_a_machine_of_no_provisioner_is_launched() -> None:
    template = {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": "old"},
        "spec": {"subnetSelector": {"discovery": "demo"}, "securityGroupSelector": {"discovery": "demo"}},
    }
    machine = {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Machine",
        "metadata": {"name": "lone"},
        "spec": {
            "kubelet": {"maxPods": 7},
            "resources": {"requests": {"cpu": "1"}},
            "machineTemplateRef": {"name": "old"},
        },
    }
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(template, machine))
        rehearsal.run("3m")

        assert [claim.initialized for claim in rehearsal.claims()] == [True]
        (node,) = rehearsal.nodes()
        assert node.allocatable["pods"] == 7


def test_a_node_of_no_pool_is_repaired_and_one_that_drifted_stays() -> None:
    settings = SystemSettings(cluster_name="demo", repair=EC2_POLICIES)
    with Rehearsal(seed=1, conditions=Conditions(system=settings)) as rehearsal:
        rehearsal.apply(text(node_class(), of()))
        rehearsal.run("2m")
        changed = node_class()
        changed["spec"]["tags"] = {"team": "b"}
        rehearsal.apply(text(changed))
        rehearsal.run("30m")
        assert len(rehearsal.nodes()) == 1

        rehearsal.sicken()
        rehearsal.run("45m")

        assert (rehearsal.claims(), rehearsal.nodes(), rehearsal.ec2.live()) == ((), (), ())


def test_a_node_of_no_pool_whose_machine_somebody_terminates_goes() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), of()))
        rehearsal.run("2m")
        rehearsal.terminate_outside()
        rehearsal.run("10m")

        assert (rehearsal.claims(), rehearsal.nodes()) == ((), ())


def test_an_empty_node_of_a_claim_of_no_pool_stays_until_somebody_deletes_it() -> None:
    with Rehearsal(seed=1) as rehearsal:
        in_use(rehearsal)
        rehearsal.scale("web", 0)
        rehearsal.run("1h")

        assert len(rehearsal.nodes()) == len(rehearsal.ec2.live()) == 1

        rehearsal.delete("NodeClaim", "alone")
        rehearsal.run("5m")

        assert (rehearsal.claims(), rehearsal.nodes(), rehearsal.ec2.live()) == ((), (), ())
        assert len(told(rehearsal, "NodeDrained")) == 1


def test_a_node_of_a_claim_of_no_pool_expires_when_the_claim_says_so() -> None:
    with Rehearsal(seed=1) as rehearsal:
        in_use(rehearsal, expire_after=timedelta(minutes=10))
        rehearsal.run("9m")
        assert [claim.name for claim in rehearsal.claims()] == ["alone"]

        rehearsal.run("5m")

        assert "alone" not in {claim.name for claim in rehearsal.claims()}
        assert rehearsal.running() == 3


def test_the_pods_of_a_claim_of_no_pool_leave_it_before_ec2_takes_it() -> None:
    with Rehearsal(seed=1) as rehearsal:
        in_use(rehearsal)
        node = rehearsal.interrupt()
        rehearsal.run("115s")

        assert {pod.node_name for pod in rehearsal.pods()}.isdisjoint({node})
        assert rehearsal.running() == 3
