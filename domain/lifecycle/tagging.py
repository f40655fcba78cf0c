"""Tags of an instance whose node has joined, and which of them are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.patches import ClaimPatch

NAME: Final = "Name"
# What a claim says when its instance bears all of them, as Karpenter's claims do.
TAGGED: Final = labels.AWS + "tagged"
# The note, as Karpenter writes it from 1.0 on, that the instance has the cluster's name as a tag: we find
# instances by that tag alone.
CLUSTER_TAGGED: Final = "compatibility.karpenter.k8s.aws/cluster-name-tagged"
TAGGED_PATCH: Final = ClaimPatch(annotations={TAGGED: "true", CLUSTER_TAGGED: "true"})
_POOLS: Final = (labels.NODEPOOL, labels.PROVISIONER)
_OF_AWS: Final = "aws:///"


def first_name(tags: Mapping[str, str]) -> str:
    """Return the name of an instance whose node has none yet, by the pool its tags tell; "" without one."""
    return next((f"{key}/{tags[key]}" for key in _POOLS if key in tags), "")


def untagged(view: NodeView | None) -> NodeClaim | None:
    """Return the claim of a view whose instance may lack tags; None where nothing is to be done."""
    claim = view.claim if view is not None else None
    if (
        view is None
        or claim is None
        or view.holder
        or claim.leaving
        or not claim.registered
        or not claim.node_name
    ):
        return None
    ours = claim.provider_id.startswith(_OF_AWS) and claim.annotations.get(TAGGED) != "true"
    return claim if ours else None


def missing_tags(claim: NodeClaim, tags: Mapping[str, str]) -> dict[str, str]:
    """Return what an instance with these `tags` lacks. A name that a node class gave stays."""
    wanted = {labels.NODECLAIM: claim.name}
    if tags.get(NAME, "") in ("", first_name(tags)):
        wanted[NAME] = claim.node_name
    return {key: value for key, value in sorted(wanted.items()) if tags.get(key) != value}
