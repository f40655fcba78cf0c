"""Unneeded claims: made for pods still to come, wanted no more, and not launched yet."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.freed_places import promise_freed_places
from treenail.domain.model.claims import expected_pods
from treenail.domain.model.nodes import NodeView


def unneeded_claims(model: ClusterModel, changed: Iterable[str], now: datetime) -> tuple[NodeView, ...]:
    """Return the changed views that are to be given up before anything is bought for them.

    Nothing is promised a place there any more, and their workloads want no more pods than have places. Those
    of pods that are late stay. Pods that wait and are equal to those that left get their places first. A
    claim that is not written yet is looked at again when it is: that changes it.
    """
    found = tuple(view for name in changed if (view := _unneeded(model, name)) is not None)
    if found:
        promise_freed_places(model, now, found)
    return tuple(view for view in found if _unneeded(model, view.name) is not None)


def _unneeded(model: ClusterModel, name: str) -> NodeView | None:
    view = model.objects.view(name)
    if view is None or view.claim is None or view.claim.launched or view.node is not None:
        return None
    owners, unwritten = expected_pods(view.claim), view.claim.resource_version == 0
    if unwritten or not owners or model.marks.going(view):
        return None
    if any(model.expected.unpromised(owner) for owner in owners):
        return None
    return view if model.empty(name) else None
