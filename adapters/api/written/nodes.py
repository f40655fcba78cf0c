"""Nodes as manifests."""

from __future__ import annotations

from treenail.adapters.api.written.parts import Tree, conditions, metadata, quantities, said, taints
from treenail.domain.model.nodes import Node


def node_manifest(node: Node) -> Tree:
    """Write a v1 Node."""
    capacity = quantities(node.capacity)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(node, uid=node.uid, finalizers=list(node.finalizers)),
        "spec": said(
            taints=taints(node.taints), unschedulable=node.unschedulable, providerID=node.provider_id
        ),
        # Without allocatable, all of the capacity would be.
        "status": said(capacity=capacity, conditions=conditions(node.conditions))
        | ({"allocatable": quantities(node.allocatable)} if capacity or node.allocatable else {}),
    }
