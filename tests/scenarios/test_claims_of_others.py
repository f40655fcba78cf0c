"""Claims of a pool that another controller writes while this one runs: Karpenter, say."""

from __future__ import annotations

from dataclasses import replace

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.patches import ClaimPatch


def with_theirs(rehearsal: Rehearsal) -> NodeClaim:
    """Run pods on a node of ours; then write a claim as another controller does, and return it."""
    rehearsal.apply(text(node_class(), node_pool(consolidate_after="Never"), deployment(replicas=1)))
    rehearsal.run("3m")
    (ours,) = rehearsal.claims()
    theirs = replace(
        ours,
        name="theirs",
        uid="",
        resource_version=0,
        annotations={},
        conditions=(),
        provider_id="",
        node_name="",
        created_at=rehearsal.world.now(),
    )
    return rehearsal.cluster.create_claim(theirs)


def test_a_claim_that_another_controller_launches_is_not_launched_here_too() -> None:
    with Rehearsal(seed=1) as rehearsal:
        with_theirs(rehearsal)
        rehearsal.run("45s")
        assert len(rehearsal.ec2.live()) == 1

        rehearsal.cluster.patch_claim("theirs", ClaimPatch(provider_id="aws:///us-east-1a/i-theirs"))
        rehearsal.run("80s")

        assert len(rehearsal.ec2.live()) == 1


def test_a_claim_that_nobody_launches_within_a_minute_is_launched_here() -> None:
    with Rehearsal(seed=1) as rehearsal:
        with_theirs(rehearsal)
        rehearsal.run("90s")

        assert len(rehearsal.ec2.live()) == 2
