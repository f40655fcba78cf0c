"""Nodes that say they are one machine: which of them a claim means."""

from __future__ import annotations

from collections.abc import Collection

from treenail.domain.model.nodes import Node, NodeClaim, NodeView, awaited


def one_of_several(claim: NodeClaim, nodes: Collection[Node]) -> NodeView:
    """Return a claim with one of `nodes`, of which there is one at least, and the names of the others.

    That is the one it was registered with, else the first that came. One that was made early, and that no
    kubelet speaks for yet, comes after all others and is none of them.
    """
    first, *others = sorted(
        nodes, key=lambda node: (node.name != claim.node_name, awaited(node), node.created_at, node.name)
    )
    rivals = tuple(node.name for node in others if not awaited(node))
    return NodeView(claim=claim, node=first, rivals=rivals)
