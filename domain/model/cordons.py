"""Marks of leaving on a node: by taint in the newer APIs, by cordon in the old one."""

from __future__ import annotations

from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import Node, NodeClaim, NodeView
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.taints import DISRUPTED

# Who excluded a node from load balancers.
_OURS: Final = "karpenter"


def marked(view: NodeView) -> bool:
    """Return whether a node has our mark of leaving, though nothing in the API says that it leaves.

    The process that decided so died before writing the decision: the mark is to be removed.
    """
    node, claim = view.node, view.claim
    if node is None or claim is None or not claim.registered or claim.leaving or node.deleting_since:
        return False
    return DISRUPTED in node.taints or (node.unschedulable and _excluded(node))


def cordoned(node: Node, claim: NodeClaim | None) -> bool:
    """Return whether a node bears the mark of its generation. A user's cordon keeps no daemons off."""
    return node.unschedulable if of_old_api(claim) else DISRUPTED in node.taints


def of_old_api(claim: NodeClaim | None) -> bool:
    """Return whether a claim is a Machine, of the API that cordons in place of tainting."""
    return claim is not None and claim.generation is Generation.V1ALPHA5


def cordon(claim: NodeClaim | None) -> NodePatch:
    """One mark by the claim's generation: the old API cordons, the newer ones taint."""
    marked = {labels.EXCLUDE_FROM_LOAD_BALANCERS: _OURS}
    if of_old_api(claim):
        return NodePatch(labels=marked, unschedulable=True)
    return NodePatch(labels=marked, add_taints=(DISRUPTED,))


def uncordon(claim: NodeClaim, node: Node) -> NodePatch:
    """Return what takes our mark off a node again; a cordon that is not ours stays."""
    unmark = (labels.EXCLUDE_FROM_LOAD_BALANCERS,)
    if of_old_api(claim):
        return NodePatch(remove_labels=unmark, unschedulable=False) if _excluded(node) else NodePatch()
    return NodePatch(remove_labels=unmark, remove_taints=(DISRUPTED,))


def _excluded(node: Node) -> bool:
    return node.labels.get(labels.EXCLUDE_FROM_LOAD_BALANCERS) == _OURS
