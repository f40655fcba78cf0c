"""Nodes as manifests."""

from __future__ import annotations

from treenail.adapters.api.written.parts import Tree, conditions, metadata, quantities, said, taints
from treenail.domain.model.nodes import Node


def node_taints(node: Node) -> list[Tree]:
    """Write the taints of a node in their order, with their times."""
    written = zip(node.taints, taints(node.taints), strict=True)
    return [said(**tree, timeAdded=node.taint_times.get(taint, "")) for taint, tree in written]


def node_manifest(node: Node) -> Tree:
    """Write a v1 Node."""
    capacity = quantities(node.capacity)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(node, uid=node.uid, finalizers=list(node.finalizers)),
        "spec": said(taints=node_taints(node), unschedulable=node.unschedulable, providerID=node.provider_id),
        # Without allocatable, all of the capacity would be.
        "status": said(capacity=capacity, conditions=conditions(node.conditions))
        | ({"allocatable": quantities(node.allocatable)} if capacity or node.allocatable else {}),
    }
