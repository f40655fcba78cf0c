"""Whether a node may still be given up as it was proposed."""

from __future__ import annotations

from datetime import datetime

from treenail.domain import labels
from treenail.domain.cluster import ClusterModel
from treenail.domain.disruption import REPLACED, Cause, DisruptionProposed
from treenail.domain.kept_nodes import kept_by
from treenail.domain.nodes import NodeView


def objection(model: ClusterModel, name: str, proposal: DisruptionProposed, now: datetime) -> str | None:
    """Return what speaks against giving up a node that was proposed, None where nothing does."""
    view = model.view(name)
    if view is None or not view.initialized or model.going(view):
        return "no longer as it was"
    if proposal.cause is Cause.EMPTY and not model.empty(name):
        return "no longer as it was"
    if proposal.forceful:
        return None
    kept = kept_by(view)
    if kept is not None:
        return f"node is kept by {kept}"
    if proposal.cause not in REPLACED:
        return None
    return _kept_by_somebody(model, view, proposal.cause, now)


def _kept_by_somebody(model: ClusterModel, view: NodeView, cause: Cause, now: datetime) -> str | None:
    claim = view.claim
    if model.promises.at(view.name):
        return "pods are on their way to it"
    limited = claim is not None and claim.termination_grace_period is not None
    if limited and cause is Cause.DRIFTED:
        # Its pods have to go by then, whatever they ask for.
        return None
    kept = next((pod for pod in model.pods_of(view) if pod.protected(now)), None)
    return None if kept is None else f"pod {kept.key} is kept by {labels.DO_NOT_DISRUPT}"
