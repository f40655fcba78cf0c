"""Explanation of a node: why it is there, whether it may go, and why it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.emptiness import empty_since
from treenail.domain.disruption.disruption import DisruptionProposed, allowed_disruptions
from treenail.domain.disruption.expiry import expires_at, forceful
from treenail.domain.disruption.objections import objection
from treenail.domain.disruption.pool_sizes import size_of
from treenail.domain.explain.consolidation_explanation import bought_to_save, explain_consolidation
from treenail.domain.explain.explanation import Statement, ago, named, origin, progress, what_is
from treenail.domain.explain.unclear import unclear_of_node
from treenail.domain.model import labels
from treenail.domain.model.capacity_buffers import of_buffer
from treenail.domain.model.causes import BUDGETED, Cause
from treenail.domain.model.claims import expected_pods, promised_pods, replaced_nodes
from treenail.domain.model.counted import counted
from treenail.domain.model.durations import format_duration
from treenail.domain.model.instants import write_instant
from treenail.domain.model.left_alone import LeftAlone
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.telemetry.log_facts import shortened
from treenail.domain.termination.end_records import said_of_end


def explain_node(
    model: ClusterModel, view: NodeView, now: datetime, *, claims_known: bool = True
) -> Iterator[Statement]:
    """Yield what can be told of a node, or of a claim that has none yet, from what the API server holds.

    Unless all `claims_known`, a node without one may still have been bought.
    """
    yield from unclear_of_node(model, view)
    claim = view.claim
    pods = model.objects.pods_of(view)
    if claim is None:
        unbought = "No NodeClaim stands for it: Treenail did not buy it, and leaves it alone."
        unclear = "No NodeClaim that can be read stands for it, and not all can: whose it is is not known."
        yield Statement("origin", unbought if claims_known else unclear)
        yield from _pods(pods)
        return
    node = f", node {view.node_name}" if view.node_name else ""
    yield Statement("node", f"It is {named(claim)}{node}: {what_is(claim)}.")
    yield from _disputes(view, claim)
    yield from _origin(model, claim, now)
    if not claim.leaving:
        for says in progress(claim):
            yield Statement("node", says)
    yield from _pods(pods)
    yield from _kept(model, view)
    yield from _successors(model, view, now)
    if view.ending:
        yield from _end(claim, pods, now)
    elif (alone := model.objects.left_alone(view)) is LeftAlone.NO_POOL:
        yield Statement("future", _stand_alone(model, claim))
    elif alone is not None:
        yield Statement("future", f"It is left alone: {alone.value}.")
    elif view.initialized:
        yield from _size(model, view)
        yield from _future(model, view, claim, now)
        yield from explain_consolidation(model, view, now)


def _size(model: ClusterModel, view: NodeView) -> Iterator[Statement]:
    """Yield how many nodes its pool is to have, where that is not as pods need it."""
    pool = model.objects.pools.get(view.pool)
    size = size_of(pool, static_capacity=model.objects.static_capacity) if pool is not None else None
    if pool is not None and size is not None:
        least = "is to have" if pool.static else "has at least"
        says = f"Its pool {least} {counted(size, 'node')}, whatever pods need"
        stays = ": it is neither given back empty nor consolidated" if pool.static else ""
        yield Statement("future", f"{says}{stays}.")


def _stand_alone(model: ClusterModel, claim: NodeClaim) -> str:
    if not claim.launched and model.objects.node_class(claim.node_class) is None:
        return f"It is launched when {claim.node_class} is there."
    end = expires_at(claim, None)
    until = f", or until {write_instant(end)}" if end is not None else ""
    return f"It is of no pool: it stays until somebody deletes it{until}, drifted or empty as it may be."


def _disputes(view: NodeView, claim: NodeClaim) -> Iterator[Statement]:
    """Yield statements on other claims and nodes that name the same machine, and what follows from it."""
    kind, others = claim.generation.claim_kind, shortened(list(view.claimants))
    if view.holder:
        yield Statement(
            "node",
            f"Its machine is that of {kind} {view.holder} too, which has it: this one has none, and may be"
            " deleted; that costs no machine and no pod.",
        )
    elif view.claimants:
        yield Statement("node", f"Its machine is named by {kind} {others} too, which has none by that.")
    if view.rivals:
        yield Statement("node", f"Its machine is named by node {shortened(list(view.rivals))} too.")


def _origin(model: ClusterModel, claim: NodeClaim, now: datetime) -> Iterator[Statement]:
    made_by = origin(claim)
    by = f" by {made_by}" if made_by else ""
    yield Statement("origin", f"It was made {ago(claim.created_at, now)}{by}.")
    uids = promised_pods(claim)
    if uids:
        names = [pod.key for uid in uids if (pod := model.objects.pods.get(uid)) is not None]
        there = f", of which are there: {shortened(names)}" if names else ", of which none is there any more"
        yield Statement("origin", f"It was made for {counted(len(uids), 'pod')}{there}.")
    for owner, number in sorted(expected_pods(claim).items()):
        if of_buffer(owner):
            yield Statement(
                "origin", f"It was made for {counted(number, 'place')} of {_buffer_name(model, owner)}."
            )
            continue
        name = _owner_name(model, owner)
        pods = counted(number, f"pod of {name} that was", f"pods of {name} that were")
        yield Statement("origin", f"It was made for {pods} still to come.")
    for name in replaced_nodes(claim):
        yield Statement("origin", f"It was made in place of node {name}{_fate(model, name)}.")
    yield from bought_to_save(claim, now)


def _buffer_name(model: ClusterModel, owner: str) -> str:
    """Return what people know a capacity buffer by, of whose owner uid this is."""
    there = (one.key for one in model.objects.capacity_buffers.values() if one.owner == owner)
    return f"CapacityBuffer {next(there, 'that is not there')}"


def _kept(model: ClusterModel, view: NodeView) -> Iterator[Statement]:
    """Yield for which capacity buffers room is kept free on a node."""
    kept = Counter(promise.heir for promise in model.promises.at_for_buffers(view.name))
    for owner, number in sorted(kept.items()):
        name = _buffer_name(model, owner)
        yield Statement("pods", f"Room for {number} more is kept free for {name}: it is not empty for that.")


def _owner_name(model: ClusterModel, uid: str) -> str:
    """Return what people know a workload by, as it or its pods say; its uid where none of them is there."""
    workload = model.objects.workload(uid)
    if workload is not None:
        return workload.told_as
    owners = (pod.owner for pod in model.objects.pods.values())
    return next((f"{o.kind}/{o.name}" for o in owners if o is not None and o.uid == uid), uid)


def _fate(model: ClusterModel, name: str) -> str:
    """Return what has become of a node that another was made in place of."""
    view = model.objects.view(model.objects.view_name(name))
    if view is None:
        return ", which is gone"
    return ", which is on its way out" if view.leaving else ", which is there still"


def _successors(model: ClusterModel, view: NodeView, now: datetime) -> Iterator[Statement]:
    for name, claim in sorted(model.objects.claims.items()):
        if not view.node_name or view.node_name not in replaced_nodes(claim):
            continue
        node = f", node {claim.node_name}" if claim.node_name else ""
        yield Statement(
            "end",
            f"{claim.generation.claim_kind} {name}{node} was made in its place {ago(claim.created_at, now)}: "
            f"{what_is(claim)}.",
        )


def _pods(pods: Sequence[Pod]) -> Iterator[Statement]:
    if not pods:
        yield Statement("pods", "No pod is on it.")
        return
    daemons = sum(1 for pod in pods if pod.daemon or pod.mirror)
    yield Statement(
        "pods",
        f"{counted(len(pods), 'pod is', 'pods are')} on it, {daemons} of them of DaemonSets or its own.",
    )


def _end(claim: NodeClaim, pods: Sequence[Pod], now: datetime) -> Iterator[Statement]:
    since = f", deleted {ago(claim.deleting_since, now)}" if claim.deleting_since is not None else ""
    yield Statement("end", f"It is on its way out{since}: {_why(claim)}.")
    left = [pod for pod in pods if pod.drainable(now)]
    kept = [pod.key for pod in left if pod.protected(now)]
    if left:
        number = counted(len(left), "pod has", "pods have")
        yield Statement("end", f"{number} yet to leave: {shortened([pod.key for pod in left])}.")
    if kept:
        yield Statement("end", f"{labels.DO_NOT_DISRUPT} keeps {shortened(kept)}.")


def _why(claim: NodeClaim) -> str:
    """Return the cause as the claim says it, with what more it says."""
    cause = claim.annotations.get(labels.CAUSE) or "deleted by somebody"
    said = said_of_end(claim)
    more = [f"{name} {said[name]}" for name in ("reason", "actor", "method", "trace_id") if said.get(name)]
    return ", ".join((cause, *more))


def _future(model: ClusterModel, view: NodeView, claim: NodeClaim, now: datetime) -> Iterator[Statement]:
    pool = model.objects.pools.get(claim.pool)
    empty = model.empty(view.name)
    if empty:
        since = empty_since(view)
        known = f", since {write_instant(since)}" if since is not None else ""
        yield Statement("future", f"{_what_is_left(model.objects.pods_of(view))}{known}; {_patience(pool)}.")
    if claim.drift is not None:
        yield Statement("future", f"It drifted: {claim.drift}.")
    end = expires_at(claim, pool)
    if end is not None:
        when = f"was over {ago(end, now)}" if end <= now else f"is over at {write_instant(end)}"
        yield Statement("future", f"Its time {when}.")
    over = end is not None and end <= now
    drifted = Cause.DRIFTED if claim.drift is not None else None
    cause = Cause.EXPIRED if over else Cause.EMPTY if empty else drifted
    if cause is None:
        yield Statement("future", "Nothing speaks for giving it up now.")
        return
    yield from _obstacles(model, view, pool, cause, now)


def _what_is_left(pods: Sequence[Pod]) -> str:
    if all(pod.belongs for pod in pods):
        return "Nothing but daemons is on it"
    return "Nothing is on it but daemons and pods that cost nothing to evict, or are stopping"


def _patience(pool: NodePool | None) -> str:
    after = pool.disruption.consolidate_after if pool is not None else None
    return (
        "its pool keeps empty nodes"
        if after is None
        else f"its pool gives such up after {format_duration(after)}"
    )


def _obstacles(
    model: ClusterModel, view: NodeView, pool: NodePool | None, cause: Cause, now: datetime
) -> Iterator[Statement]:
    force = cause is Cause.EXPIRED and view.claim is not None and forceful(view.claim)
    asked = DisruptionProposed(pool=view.pool, candidates=(view.name,), cause=cause, forceful=force)
    against = objection(model, view.name, asked, now)
    if against is not None:
        yield Statement("future", f"It may not go now: {against.sentence}.")
    elif force:
        yield Statement("future", "It goes whatever budgets and annotations say.")
    if pool is None or force:
        return
    nodes = sum(1 for claim in model.objects.claims.values() if claim.pool == pool.name and claim.initialized)
    allowed = allowed_disruptions(pool, BUDGETED[cause], nodes, now)
    if allowed is not None:
        reason = BUDGETED[cause]
        says = f"Budgets let {allowed} of the pool's {nodes} nodes go at a time for the reason {reason}."
        yield Statement("future", says)
