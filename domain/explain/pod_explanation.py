"""Explanation of a pod: why it is where it is, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.explain.explanation import Statement, named, origin, progress, what_is
from treenail.domain.explain.unclear import unclear_of_pod
from treenail.domain.model.claims import promised_pods
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pods import Pod


def explain_pod(
    model: ClusterModel, pod: Pod, now: datetime, *, claims_known: bool = True
) -> Iterator[Statement]:
    """Yield what can be told of a pod's place from what the API server holds.

    Unless all `claims_known`, a node without one may still have been bought.
    """
    yield from unclear_of_pod(model, pod)
    if pod.terminal:
        yield Statement("place", f"It has ended: {pod.phase.value}.")
    elif pod.node_name:
        yield from _bound(model, pod, claims_known=claims_known)
    else:
        yield from _unbound(model, pod)
    if pod.node_name and pod.active:
        yield from _protection(model, pod, now)


def _bound(model: ClusterModel, pod: Pod, *, claims_known: bool) -> Iterator[Statement]:
    view = model.objects.view(model.objects.view_name(pod.node_name))
    if view is None:
        yield Statement("place", f"It is bound to node {pod.node_name}, which is not there.")
        return
    claim = view.claim
    if claim is None:
        read = "" if claims_known else " that can be read"
        yield Statement("place", f"It is on node {pod.node_name}, which no NodeClaim{read} stands for.")
        return
    yield Statement("place", f"It is on node {pod.node_name}: {what_is(claim)}.")
    yield Statement("node", f"The node is {named(claim)}.")
    yield from _why_there(claim, pod)
    if model.marks.going(view):
        yield Statement("end", "The node is cordoned, or on its way out.")


def _why_there(claim: NodeClaim, pod: Pod) -> Iterator[Statement]:
    made_by = origin(claim)
    if not made_by:
        return
    if pod.uid in promised_pods(claim):
        yield Statement("origin", f"The node was bought for this pod, by {made_by}.")
    elif pod.daemon or pod.mirror:
        yield Statement(
            "origin", f"The node was bought for others, by {made_by}; it is a part of every node."
        )
    else:
        yield Statement("origin", f"The node was bought for others, by {made_by}; there was room on it.")


def _unbound(model: ClusterModel, pod: Pod) -> Iterator[Statement]:
    promise = model.promises.of(pod.uid)
    view = model.objects.view(promise.target) if promise is not None else None
    if view is not None:
        yield from _promised(view)
    elif pod.spec.scheduling_gates:
        gates = ", ".join(pod.spec.scheduling_gates)
        yield Statement("place", f"It is not to be scheduled before its gates are gone: {gates}.")
    elif pod.nominated_node:
        yield Statement("place", f"The scheduler makes room for it on node {pod.nominated_node}.")
    elif pod.daemon or pod.mirror:
        yield Statement("place", "It waits for its node: no nodes are bought for such pods.")
    elif not pod.provisionable:
        yield Statement("place", "The scheduler has not said that no node there is has room for it.")
    else:
        yield Statement("place", "No node there is has room for it, and none is on its way for it.")


def _promised(view: NodeView) -> Iterator[Statement]:
    claim = view.claim
    if claim is None:
        yield Statement("place", f"A place is kept for it on node {view.node_name}.")
        return
    yield Statement("place", f"A place is kept for it on {named(claim)}: {what_is(claim)}.")
    for says in progress(claim):
        yield Statement("node", says)
    made_by = origin(claim)
    if made_by:
        yield Statement("origin", f"That was made for it, by {made_by}.")


def _protection(model: ClusterModel, pod: Pod, now: datetime) -> Iterator[Statement]:
    if pod.protected(now):
        yield Statement("protection", "It may not be disrupted, as an annotation of it says.")
    held = model.objects.pod_budgets.holding(pod)
    if held is not None:
        yield Statement("protection", f"It may not be evicted now: {held.sentence}.")
