"""Why pods and nodes are where they are, told from what the API server holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.scenarios.manifests import KEPT, deployment, node_class, node_pool, text
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.explain.pod_explanation import explain_pod
from treenail.domain.model import labels

INLINE = {"subnetSelector": {"karpenter.sh/discovery": "*"}}
PROVISIONER: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1alpha5",
    "kind": "Provisioner",
    "metadata": {"name": "old"},
    "spec": {
        "ttlSecondsUntilExpired": 600,
        "provider": {**INLINE, "securityGroupSelector": INLINE["subnetSelector"]},
    },
}


def known(rehearsal: Rehearsal) -> ClusterModel:
    return rehearsal.system.model


def of_pod(rehearsal: Rehearsal, number: int = 0) -> list[str]:
    pod = rehearsal.pods()[number]
    return [one.says for one in explain_pod(known(rehearsal), pod, rehearsal.world.now())]


def of_node(rehearsal: Rehearsal, name: str) -> list[str]:
    model = known(rehearsal)
    view = model.objects.view(model.objects.view_name(name))
    assert view is not None
    return [one.says for one in explain_node(model, view, rehearsal.world.now())]


def small(**more: Any) -> Rehearsal:
    """Return a rehearsal of one pod that has its node."""
    rehearsal = Rehearsal(seed=1)
    rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=1, **more)))
    rehearsal.run("3m")
    return rehearsal


def test_a_pod_is_on_the_node_that_was_bought_for_it() -> None:
    with small() as rehearsal:
        (claim,), (node,), (decision,) = rehearsal.claims(), rehearsal.nodes(), rehearsal.decisions()
        (record,) = rehearsal.history()

        where = f"{claim.instance_type} in {claim.zone}, spot, ${record.price:.4g}/h"
        assert of_pod(rehearsal) == [
            f"It is on node {node.name}: {where}.",
            f"The node is NodeClaim {claim.name} of NodePool default.",
            f"The node was bought for this pod, by decision {decision[0]}, trace {decision[1]}.",
        ]


def test_a_pod_waits_for_a_node_that_is_on_its_way() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=1)))
        rehearsal.run("5s")

        (claim,) = rehearsal.claims()
        told = of_pod(rehearsal)

        assert told[0].startswith(f"A place is kept for it on NodeClaim {claim.name} of NodePool default: ")
        assert told[1].startswith("It is not registered yet (NodeNotFound")
        assert told[2].startswith("That was made for it, by decision ")


def test_a_pod_that_nobody_has_room_for_says_so() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(deployment(replicas=1)))
        rehearsal.run("1m")

        assert of_pod(rehearsal) == ["No node there is has room for it, and none is on its way for it."]


def test_a_node_in_use_says_what_it_was_made_for_and_that_it_stays() -> None:
    with small() as rehearsal:
        (node,), (pod,), (claim,) = rehearsal.nodes(), rehearsal.pods(), rehearsal.claims()

        told = of_node(rehearsal, node.name)

        assert told[0].startswith(f"It is NodeClaim {claim.name} of NodePool default, node {node.name}: ")
        assert f"It was made for 1 pod, of which are there: {pod.key}." in told
        assert told[-1].startswith(
            'Consolidation leaves it: NodePool "default" has consolidation policy WhenEmpty'
        )


def test_a_drifted_node_says_what_holds_it() -> None:
    with Rehearsal(seed=1) as rehearsal:
        kept = deployment(replicas=1, annotations=KEPT)
        rehearsal.apply(text(node_class(), node_pool(), kept))
        rehearsal.run("3m")
        rehearsal.apply(text(node_pool(labels={"generation": "two"})))
        rehearsal.run("1m")

        (node,), (pod,) = rehearsal.nodes(), rehearsal.pods()
        told = of_node(rehearsal, node.name)

        assert "It drifted: NodePoolDrifted." in told
        why = f'pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod={pod.key})'
        assert f"It may not go now: {why}." in told
        assert "It may not be disrupted, as an annotation of it says." in of_pod(rehearsal)


def test_an_expired_node_says_what_holds_it() -> None:
    with Rehearsal(seed=1) as rehearsal:
        kept = deployment(replicas=1, annotations=KEPT)
        rehearsal.apply(text(PROVISIONER, kept))
        rehearsal.run("30m")

        (node,), (pod,) = rehearsal.nodes(), rehearsal.pods()
        told = of_node(rehearsal, node.name)

        why = f'pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod={pod.key})'
        assert any(says.startswith("Its time was over ") for says in told), told
        assert f"It may not go now: {why}." in told
        assert any(says.endswith("nodes go at a time for the reason Expired.") for says in told), told


def test_an_empty_node_says_when_it_goes() -> None:
    with small() as rehearsal:
        (node,) = rehearsal.nodes()
        rehearsal.scale("web", 0)
        rehearsal.run("5s")

        told = of_node(rehearsal, node.name)

        said = "Nothing but daemons is on it, since 2026-01-01T00:03:00Z; its pool gives such up after 30s."
        assert said in told


def test_a_node_with_pods_that_cost_nothing_to_evict_says_that_it_is_empty() -> None:
    with small() as rehearsal:
        (node,) = rehearsal.nodes()
        free = {labels.POD_DELETION_COST: str(-(2**27))}
        rehearsal.apply(text(deployment("free", replicas=1, cpu="100m", memory="100Mi", annotations=free)))
        rehearsal.run("10s")
        rehearsal.scale("web", 0)
        rehearsal.run("5s")

        (said,) = (line for line in of_node(rehearsal, node.name) if line.startswith("Nothing is on it but"))
        assert "pods that cost nothing to evict, or are stopping" in said


def test_a_node_on_its_way_out_says_why_and_what_it_waits_for() -> None:
    with Rehearsal(seed=1) as rehearsal:
        kept = deployment(replicas=1, annotations=KEPT)
        rehearsal.apply(text(node_class(), node_pool(), kept))
        rehearsal.run("3m")
        (node,), (pod,) = rehearsal.nodes(), rehearsal.pods()
        rehearsal.delete("Node", node.name)
        rehearsal.run("10s")

        told = of_node(rehearsal, node.name)

        assert any(says.startswith("It is on its way out, deleted ") for says in told), told
        assert f"1 pod has yet to leave: {pod.key}." in told
        assert f"{labels.DO_NOT_DISRUPT} keeps {pod.key}." in told


def test_a_node_and_the_one_made_in_its_place_name_each_other() -> None:
    with small() as rehearsal:
        (old,) = rehearsal.nodes()
        rehearsal.apply(text(node_pool(labels={"generation": "two"})))
        rehearsal.run_until(lambda: len(rehearsal.nodes()) == 2, within="5m")

        (claim,) = (one for one in rehearsal.claims() if one.node_name != old.name)
        place = f"It was made in place of node {old.name}"

        assert f"{place}, which is on its way out." in of_node(rehearsal, claim.name)
        (said,) = (says for says in of_node(rehearsal, old.name) if "in its place" in says)
        assert said.startswith(f"NodeClaim {claim.name} was made in its place ")

        rehearsal.run_until(lambda: len(rehearsal.nodes()) == 1, within="10m")

        assert f"{place}, which is gone." in of_node(rehearsal, claim.name)


def test_a_node_for_pods_that_waited_is_in_place_of_none() -> None:
    with small() as rehearsal:
        (node,) = rehearsal.nodes()

        assert not any("place" in says for says in of_node(rehearsal, node.name))


def test_claims_that_name_one_machine_say_which_of_them_has_it() -> None:
    with small() as rehearsal:
        (claim,) = rehearsal.claims()
        rehearsal.cluster.apply(replace(claim, name="copy", uid="", resource_version=0))
        rehearsal.run("1m")

        says = of_node(rehearsal, claim.name)
        assert "Its machine is named by NodeClaim copy too, which has none by that." in says
        says = of_node(rehearsal, "copy")
        assert (
            f"Its machine is that of NodeClaim {claim.name} too, which has it: this one has none, and may be"
            " deleted; that costs no machine and no pod."
        ) in says
