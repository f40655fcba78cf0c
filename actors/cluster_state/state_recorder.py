"""Metrics of the cluster's state: shown when it changes, computed when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial

from treenail.actors.runtime.noting import write
from treenail.domain.cluster.changes import Changes
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.nodes import (
    CONSOLIDATABLE,
    DRAINED,
    INSTANCE_TERMINATING,
    NodeClaim,
    NodeView,
    holds,
)
from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.condition_gauges import Noted, changed, ended
from treenail.domain.telemetry.node_gauges import NodeState, cluster_series, cost_series
from treenail.domain.telemetry.pod_gauges import PodCensus, PodProgress, pods_series
from treenail.domain.telemetry.series import Series
from treenail.domain.telemetry.state_metrics import SCHEDULER_IGNORED


class StateRecorder:
    """Keeps the last state of each node and claim, to tell what became of it."""

    def __init__(self, model: ClusterModel, telemetry: Telemetry) -> None:
        self._model = model
        self._telemetry = telemetry
        self._nodes: dict[str, NodeState] = {}
        self._census = PodCensus()
        self._progress = PodProgress()
        # Waiting pods that cannot be understood, by uid.
        self._ignored: dict[str, None] = {}
        self._ignored_shown: int | None = None

    def note(self, changes: Changes, now: datetime) -> None:
        """Take in what changed in the cluster."""
        counted: dict[str, None] = {}
        for uid in changes.pods:
            pod = self._model.objects.pods.get(uid)
            counted |= dict.fromkeys(self._census.note(uid, pod))
            write(self._telemetry, self._progress.note(uid, pod, now))
            if pod is not None and pod.unread and pod.unschedulable_since is not None and not pod.node_name:
                self._ignored[uid] = None
            else:
                self._ignored.pop(uid, None)
        for name in changes.views:
            counted |= dict.fromkeys(self._view(name, now))
        for node in counted:
            counts, known = self._census.on(node), self._model.objects.nodes.get(node)
            shown = partial(pods_series, node, known, counts) if counts else None
            self._telemetry.show(f"pods on {node}", shown)
        if changes.pods:
            self._show_ignored()
            self._telemetry.show("pods that wait", self._progress.gauges())
        if changes.views or changes.pools:
            nodes, pools = tuple(self._nodes.values()), tuple(sorted(self._model.objects.pools))
            self._telemetry.show("nodes", partial(cluster_series, nodes))
            self._telemetry.show("costs", partial(cost_series, nodes, pools))

    def _show_ignored(self) -> None:
        number = len(self._ignored)
        if number != self._ignored_shown:
            self._ignored_shown = number
            ignored = Series(SCHEDULER_IGNORED, number)
            self._telemetry.show("pods not understood", lambda: (ignored,))

    def decided(self, committed: PlanCommitted, now: datetime) -> None:
        """Take in what was decided on pods."""
        for pod, _ in committed.places:
            write(self._telemetry, self._progress.decide(pod.uid, now, placed=True))
        for pod, _ in committed.refused:
            write(self._telemetry, self._progress.decide(pod.uid, now, placed=False))
        self._telemetry.show("pods that wait", self._progress.gauges())

    def _view(self, name: str, now: datetime) -> tuple[str, ...]:
        """Take in the present state of a node; return the names of nodes whose labels may have changed."""
        before, view = self._nodes.get(name), self._model.objects.view(name)
        if view is None:
            self._telemetry.show(f"node {name}", None)
            self._nodes.pop(name, None)
        else:
            claim = view.claim
            empty = claim is not None and holds(claim.conditions, CONSOLIDATABLE) and self._model.empty(name)
            state = NodeState(view=view, pods=self._model.objects.pods_of(view), empty=empty)
            self._nodes[name] = state
            self._telemetry.show(f"node {name}", state.series)
        if before is not None:
            write(self._telemetry, _became(before, self._nodes.get(name), now))
        return _relabelled(before.view if before is not None else None, view)


def _relabelled(before: NodeView | None, after: NodeView | None) -> tuple[str, ...]:
    there = [view.node for view in (before, after) if view is not None and view.node is not None]
    if len(there) == 2 and there[0].labels == there[1].labels and there[0].name == there[1].name:  # noqa: PLR2004
        return ()
    return tuple(dict.fromkeys(node.name for node in there))


def _became(before: NodeState, after: NodeState | None, now: datetime) -> Iterable[Noted]:
    """Yield what a change of a node, or its end, says to metrics."""
    there = {} if after is None else {(of.kind, of.name): of for of in after.conditioned}
    for of in before.conditioned:
        still = there.get((of.kind, of.name))
        if still is not None and still.conditions == of.conditions:
            continue
        yield from ended(of, now) if still is None else changed(of, still)
    claim, then = before.view.claim, after.view.claim if after is not None else None
    if claim is not None:
        yield from _claim_became(claim, then, now)
    node, left = before.view.node, after is None or after.view.node is None
    if node is not None and left and node.deleting_since is not None:
        pool = {"nodepool": before.view.pool}
        lived = max(0.0, (now - node.created_at).total_seconds())
        yield Noted(metrics.NODES_TERMINATION_DURATION, _since(node.deleting_since, now), pool)
        yield Noted(metrics.NODES_LIFETIME_DURATION, lived, pool)


def _claim_became(claim: NodeClaim, then: NodeClaim | None, now: datetime) -> Iterable[Noted]:
    pool = {"nodepool": claim.pool}
    if then is not None:
        if holds(then.conditions, DRAINED) and not holds(claim.conditions, DRAINED):
            yield Noted(metrics.NODES_DRAINED, 1, pool)
        if then.launched and not claim.launched and price_of(then) is None:
            yield Noted(metrics.NODEPOOLS_COST_ERRORS, 1, pool)
        return
    if claim.deleting_since is not None:
        yield Noted(metrics.NODECLAIMS_TERMINATION_DURATION, _since(claim.deleting_since, now), pool)
    if holds(claim.conditions, INSTANCE_TERMINATING):
        asked_at = claim.since(INSTANCE_TERMINATING)
        yield Noted(metrics.INSTANCE_TERMINATION_DURATION, _since(asked_at, now), pool)


def _since(began: datetime, now: datetime) -> float:
    return max(0.0, (now - began).total_seconds())
