"""All blockers of a node: what a search names, and whatever else forbids to evict its pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.model.blockers import Blocker
from treenail.domain.model.do_not_disrupt import keeping
from treenail.domain.model.nodes import NodeView


def blockers_of(model: ClusterModel, view: NodeView, first: Blocker, now: datetime) -> tuple[Blocker, ...]:
    """Return all that keeps a node: its first blocker, and blockers of the pods on it.

    Each object is named once; a blocker that is the node itself is named by it.
    """
    named = replace(first, name=first.name or view.node_name or view.name)
    found = {(named.kind, named.name): named}
    if named.removable:
        for one in _of_pods(model, view, now):
            found.setdefault((one.kind, one.name), one)
    return tuple(found.values())


def _of_pods(model: ClusterModel, view: NodeView, now: datetime) -> Iterator[Blocker]:
    for pod in model.objects.pods_of(view):
        if not pod.active:
            continue
        held = model.objects.pod_budgets.holding(pod) if pod.drainable(now) else None
        yield from (one for one in (keeping(pod, now), held) if one is not None)
