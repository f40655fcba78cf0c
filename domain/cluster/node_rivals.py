"""Rivals: nodes with one provider id, and the choice between them; the same for claims to one machine."""

from __future__ import annotations

from collections.abc import Collection

from treenail.domain.model import labels
from treenail.domain.model.nodes import Node, NodeClaim, NodeView, awaited


def one_of_several(claim: NodeClaim, nodes: Collection[Node]) -> NodeView:
    """Return a view of a claim with one of `nodes` (at least one), and the names of the others.

    That node is the one the claim was registered with, else the first that came. A node that was made early,
    and that no kubelet speaks for yet, comes after all others and is no rival.
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
    """Return whether a node names a claim as an owner. When all its owners are gone, it is deleted."""
    return any(owner.uid == claim.uid for owner in node.owners)


def holder_of(claims: Collection[NodeClaim], nodes: Collection[Node]) -> NodeClaim:
    """Return the claim, of several to one machine, that has the machine and its `nodes`.

    A claim that stays comes before one that is deleted: a copy that is deleted never takes the machine of
    another claim with it. Then comes the claim that a node names as its owner, then the oldest one.
    """
    owners = {owner.uid for node in nodes for owner in node.owners}
    return min(
        claims, key=lambda claim: (claim.leaving, claim.uid not in owners, claim.created_at, claim.name)
    )
