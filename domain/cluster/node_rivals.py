"""Rivals: nodes with one provider id, and the choice between them; the same for claims to one machine."""

from __future__ import annotations

from collections.abc import Collection

from treenail.domain.model import labels
from treenail.domain.model.nodes import Node, NodeClaim, NodeView, awaited


def one_of_several(claim: NodeClaim, nodes: Collection[Node]) -> NodeView:
    """Return a claim with one of `nodes` (at least one), and the names of the others.

    That is the one it was registered with, else the first that came. One that was made early, and that no
    kubelet speaks for yet, comes after all others and is none of them.
    """
    first, *others = sorted(
        nodes, key=lambda node: (node.name != claim.node_name, awaited(node), node.created_at, node.name)
    )
    others = [node for node in others if not awaited(node)]
    return NodeView(
        claim=claim,
        node=first,
        rivals=tuple(node.name for node in others),
        abandoned=tuple(node.name for node in others if _held_by_us(node)),
    )


def _held_by_us(node: Node) -> bool:
    return node.deleting_since is not None and labels.TERMINATION_FINALIZER in node.finalizers


def owned_by(node: Node, claim: NodeClaim) -> bool:
    """Return whether a node says that it is of a claim: when all that it is of are gone, it is deleted."""
    return any(owner.uid == claim.uid for owner in node.owners)


def holder_of(claims: Collection[NodeClaim], nodes: Collection[Node]) -> NodeClaim:
    """Return which of the `claims` to one machine has it and its `nodes`.

    One that stays comes before one that is deleted, so that a copy which goes never takes the machine of
    another claim with it; then the one that a node says it is of, then the one that was made first.
    """
    owners = {owner.uid for node in nodes for owner in node.owners}
    return min(
        claims, key=lambda claim: (claim.leaving, claim.uid not in owners, claim.created_at, claim.name)
    )
