"""Objections: what speaks against giving up a proposed node now."""

from __future__ import annotations

from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.node_loads import NodeLoad
from treenail.domain.disruption.disruption import DisruptionProposed
from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.causes import Cause
from treenail.domain.model.cordons import marked
from treenail.domain.model.do_not_disrupt import keeping, kept_by
from treenail.domain.model.event_subjects import of_view
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod

# Nothing speaks against the node's going, but the reason it was proposed for does not hold any more.
CHANGED = Block.CHANGED.by()


def objection(model: ClusterModel, name: str, proposal: DisruptionProposed, now: datetime) -> Blocker | None:
    """Return what speaks against giving up a node that was proposed, None where nothing does."""
    view = model.objects.view(name)
    if view is None or not view.initialized or model.marks.ending(view) or marked(view):
        return CHANGED
    return objection_to_leaving(model, view, proposal, now)


def objection_to_leaving(
    model: ClusterModel, view: NodeView, proposal: DisruptionProposed, now: datetime
) -> Blocker | None:
    """Return what speaks against giving up a node in use, whether it bears our mark or not."""
    alone = model.objects.left_alone(view)
    if alone is not None:
        return Block.LEFT_ALONE.by(detail=alone.value)
    if proposal.cause is Cause.EMPTY and not model.empty(view.name):
        return CHANGED
    if view.unread:
        return _unread(view)
    if proposal.forceful or proposal.cause is Cause.SCALED_DOWN:
        return None  # its pods leave as those of a node that somebody deletes
    unread = next((pod for pod in model.objects.pods_of(view) if pod.unread), None)
    if unread is not None:
        return _unread_pod(unread)
    against = node_objection(model, view)
    if against is not None:
        return against
    if proposal.replaced_first and model.promises.at_for_pods(view.name):
        return Block.NOMINATED.by()
    limited = view.claim is not None and view.claim.termination_grace_period is not None
    if limited and proposal.cause is Cause.DRIFTED:
        # Its pods have to go by then, whatever they ask for.
        return None
    held = (_held(model, pod, now) for pod in model.objects.pods_of(view))
    return next((why for why in held if why is not None), None)


def node_objection(model: ClusterModel, view: NodeView) -> Blocker | None:
    """Return what a node, its claim or its zone says against giving it up of our own will."""
    if view.unread:
        return _unread(view)
    zone_id = view.labels.get(labels.ZONE_ID, "")
    if zone_id in model.shifted_zones:
        return Block.ZONE_SHIFTED.by(detail=zone_id)
    kept = kept_by(view)
    return None if kept is None else Block.ANNOTATED.by(detail=kept)


def load_objection(model: ClusterModel, load: NodeLoad, now: datetime) -> Blocker | None:
    """Return why the pods on a node may not leave it of our own will, None where they may."""
    if load.unread is not None:
        return _unread_pod(load.unread)
    kept = next((kept for pod in load.annotated if (kept := keeping(pod, now)) is not None), None)
    if kept is not None:
        return kept
    held = (model.objects.pod_budgets.held_by(pod, budgets) for pod, budgets in load.guarded)
    return next((why for why in held if why is not None), None)


def _unread(view: NodeView) -> Blocker:
    return Block.UNREAD.by(detail=f"({_named(view)}): {view.unread}")


def _unread_pod(pod: Pod) -> Blocker:
    return Block.POD_UNREAD.by(pod.key, pod.unread)


def _named(view: NodeView) -> str:
    """Return what of a view cannot be read."""
    of_node = view.node is not None and view.node.unread
    refs = (ref for ref in of_view(view) if (ref.kind == "Node") == bool(of_node))
    return ", ".join(f"{ref.kind}={ref.name}" for ref in refs)


def _held(model: ClusterModel, pod: Pod, now: datetime) -> Blocker | None:
    """Return why a pod may not be disrupted now: daemons are asked like others, as they are evicted too."""
    if not pod.active:
        return None
    kept = keeping(pod, now)
    if kept is not None:
        return kept
    held = model.objects.pod_budgets.holding(pod)
    return held if held is not None and pod.drainable(now) else None
