"""Duplicate nodes: bought twice for the same pods, by two controllers at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treenail.domain.model.claims import DECISION, expected_pods, promised_pods
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod


def is_duplicate(
    claim: NodeClaim, pods: Mapping[str, Pod], nodes: Mapping[str, Node], claims: Iterable[NodeClaim]
) -> bool:
    """Return whether a claim was bought for pods that another one was bought for too, and never had a pod.

    `pods` are those there are, by uid, `nodes` by name. Each pod that the claim was made for has a node
    elsewhere, or is gone. A pod never changes its node, so none of these was ever here; a claim says itself
    whether others came, a Machine cannot, so that of its own pods one must be left to tell.
    Of a claim that was made for pods still to come it cannot be told.
    """
    own = promised_pods(claim)
    if not own or expected_pods(claim) or claim.last_pod_event_at is not None:
        return False
    left = [pod for uid in own if (pod := pods.get(uid)) is not None]
    if not left and claim.generation is Generation.V1ALPHA5:
        return False
    if not all(_is_elsewhere(pod, claim, nodes) for pod in left):
        return False
    decision, wanted = claim.annotations.get(DECISION), frozenset(own)
    return any(
        other.name != claim.name
        and not other.leaving
        and other.annotations.get(DECISION) != decision
        and not wanted.isdisjoint(promised_pods(other))
        for other in claims
    )


def _is_elsewhere(pod: Pod, claim: NodeClaim, nodes: Mapping[str, Node]) -> bool:
    node = nodes.get(pod.node_name)
    return bool(pod.node_name) and node is not None and node.provider_id != claim.provider_id
