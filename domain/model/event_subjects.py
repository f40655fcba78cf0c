"""Subjects of events: the object each event is about."""

from __future__ import annotations

from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim, NodeView
from treenail.domain.model.pods import Pod


def of_pod(pod: Pod) -> ObjectRef:
    """Return what names a pod."""
    return ObjectRef("Pod", pod.name, namespace=pod.namespace, uid=pod.uid)


def of_node(node: Node) -> ObjectRef:
    """Return what names a node."""
    return ObjectRef("Node", node.name, uid=node.uid)


def of_claim(claim: NodeClaim) -> ObjectRef:
    """Return what names a claim: a NodeClaim or a Machine, by its generation."""
    return ObjectRef(claim.generation.claim_kind, claim.name, uid=claim.uid)


def of_pool(pool: NodePool) -> ObjectRef:
    """Return what names a pool: a NodePool or a Provisioner, by its generation."""
    return ObjectRef(pool.generation.pool_kind, pool.name, uid=pool.uid)


def of_view(view: NodeView) -> tuple[ObjectRef, ...]:
    """Return the references to a node and its claim, those that exist."""
    node = () if view.node is None else (of_node(view.node),)
    claim = () if view.claim is None else (of_claim(view.claim),)
    return (*node, *claim)


def place_name(view: NodeView) -> str:
    """Return the names of a place for pods: its claim and its node, those that exist."""
    return ", ".join(f"{about.kind.lower()}/{about.name}" for about in reversed(of_view(view)))
