"""Whether a node may still be given up as it was proposed."""

from __future__ import annotations

from datetime import datetime

from treenail.domain import labels
from treenail.domain.cluster import ClusterModel
from treenail.domain.disruption import REPLACED, Cause, DisruptionProposed
from treenail.domain.kept_nodes import kept_by
from treenail.domain.pods import Pod


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
    if proposal.cause in REPLACED and model.promises.at(view.name):
        return "pods are on their way to it"
    limited = view.claim is not None and view.claim.termination_grace_period is not None
    if limited and proposal.cause is Cause.DRIFTED:
        # Its pods have to go by then, whatever they ask for.
        return None
    held = (_held(model, pod, now) for pod in model.pods_of(view))
    return next((why for why in held if why is not None), None)


def _held(model: ClusterModel, pod: Pod, now: datetime) -> str | None:
    """Return why a pod may not be disrupted now: daemons are asked like others, as they are evicted too."""
    if not pod.active:
        return None
    if pod.protected(now):
        return f"pod {pod.key} is kept by {labels.DO_NOT_DISRUPT}"
    return model.pod_budgets.holding(pod) if pod.drainable(now) else None
