"""Nodes of Karpenter's are taken over as they stand, and left as Karpenter takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.scenarios.manifests import deployment, need, node_class, node_pool, text
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.nodes import DRIFTED, Condition, Status, condition_of
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.template_hash import HASH_VERSION, NODE_CLASS_HASH, NODEPOOL_HASH, version_of

KARPENTERS = {
    NODEPOOL_HASH: "15776577649327527605",
    version_of(NODEPOOL_HASH): "v3",
    NODE_CLASS_HASH: "8218109239399812816",
    version_of(NODE_CLASS_HASH): "v5",
    "karpenter.k8s.aws/instance-profile-name": "demo_4067990795380418201",
}


def run_by_karpenter(rehearsal: Rehearsal, *conditions: Condition) -> None:
    """Have three nodes with a pod each, which nobody runs just now, and which look as Karpenter's."""
    pool = node_pool()
    pool["spec"]["template"]["spec"]["requirements"].append(need("karpenter.k8s.aws/instance-size", "xlarge"))
    rehearsal.apply(text(node_class(), pool, deployment(replicas=3, cpu="3")))
    rehearsal.run_until(lambda: rehearsal.running() == 3)
    rehearsal.run("1m")
    rehearsal.crash()
    for claim in rehearsal.claims():
        rehearsal.cluster.apply(replace(claim, annotations=KARPENTERS))
        rehearsal.cluster.patch_claim(claim.name, ClaimPatch(conditions=conditions))


def standing(rehearsal: Rehearsal) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The uids of nodes, and the nodes of pods by uid."""
    return {n.name: n.uid for n in rehearsal.nodes()}, {p.uid: p.node_name for p in rehearsal.pods()}


def test_no_node_is_replaced_and_no_pod_moved_and_each_claim_is_stamped() -> None:
    with Rehearsal(seed=1) as rehearsal:
        run_by_karpenter(rehearsal)
        before = standing(rehearsal)
        assert len(before[0]) == 3

        rehearsal.restart()
        rehearsal.run("3h")

        assert standing(rehearsal) == before
        for claim in rehearsal.claims():
            versions = {claim.annotations[version_of(key)] for key in (NODEPOOL_HASH, NODE_CLASS_HASH)}
            assert versions == {HASH_VERSION}
            # Karpenter keeps the hash of a claim that bears it, and would find ours to be another.
            assert condition_of(claim.conditions, DRIFTED) is None
            # By this it knows which instance profiles are needed.
            assert claim.annotations["karpenter.k8s.aws/instance-profile-name"] == "demo_4067990795380418201"


@pytest.mark.parametrize("status", [Status.FALSE, Status.UNKNOWN])
def test_a_condition_that_says_nothing_of_drift_is_taken_off(status: Status) -> None:
    with Rehearsal(seed=2) as rehearsal:
        run_by_karpenter(rehearsal, Condition(DRIFTED, status, "NotDrifted"))
        before = standing(rehearsal)

        rehearsal.restart()
        rehearsal.run("30m")

        assert standing(rehearsal) == before
        assert all(condition_of(c.conditions, DRIFTED) is None for c in rehearsal.claims())


def test_what_drifted_by_karpenters_hash_is_replaced_here_too() -> None:
    with Rehearsal(seed=3) as rehearsal:
        run_by_karpenter(rehearsal, Condition(DRIFTED, Status.TRUE, "NodePoolDrifted"))
        before = {claim.name for claim in rehearsal.claims()}

        rehearsal.restart()
        rehearsal.run_until(lambda: not before & {c.name for c in rehearsal.claims()}, within="3h")

        assert rehearsal.running() == 3
        assert {record.cause for record in rehearsal.history()} == {"drifted", None}
