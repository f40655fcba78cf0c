"""NodeClaims that somebody wrote by hand, of no pool: they are left to whoever wrote them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.model import labels
from treenail.domain.model.event_subjects import of_claim as reference
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.patches import ClaimPatch, NodePatch

LEFT_ALONE = "It is left alone: it is of no pool, and claims of no pool are not launched yet"
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


def test_a_claim_of_no_pool_is_not_launched_and_stays_and_says_so() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), ALONE))
        rehearsal.run("1h")

        assert [claim.name for claim in rehearsal.claims()] == ["alone"]
        assert rehearsal.ec2.live() == ()
        assert LEFT_ALONE in messages(rehearsal, "alone")
        model = rehearsal.system.model
        view = model.objects.view("alone")
        assert view is not None
        assert f"{LEFT_ALONE}." in [s.says for s in explain_node(model, view, rehearsal.world.now())]

        rehearsal.delete("NodeClaim", "alone")
        rehearsal.run("2m")
        assert rehearsal.claims() == ()


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
