"""Validity of a planned move: whether what it was computed on still holds, before it is made.

The room on receiving nodes is checked as for every plan. Here is checked what room does not tell. In doubt a
move is refused: the next pass plans it anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import PlanDecided
from treenail.domain.cluster.recent_changes import PodMoved
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.pods import Pod, PodAffinityTerm
from treenail.domain.packing.problem import ExistingNode


def outdated(model: ClusterModel, planned: PlanDecided, removed: Collection[str]) -> Blocker | None:
    """Return what has changed since a move of the nodes `removed` was planned, None if it still holds.

    Changes by other moves of the same pass do not count: each of them holds without the others.
    """
    plan = planned.plan
    placed = {*plan.nominations, *(uid for claim in plan.claims for uid in claim.pods)}
    pods = [pod for name in removed for pod in model.objects.pods_on(name) if pod.reschedulable]
    kept = {one.pod for name in removed for one in model.promises.at_for_buffers(name)}
    if kept.union(pod.uid for pod in pods) != placed:
        return Block.PODS_CHANGED.by()
    revision = planned.snapshot.revision
    others = model.recent.since(revision)
    if others is None:
        return Block.PODS_CHANGED.by()
    changes = [one for one in others if not _same_pass(one, planned)]
    changed = _changed_receiver(model, planned, pods, changes)
    if changed is not None:
        return Block.RECEIVER_CHANGED.by(changed)
    seen = _Seen(model, changes, nodes=model.recent.nodes_since(revision))
    counted = next((pod for pod in pods if seen.by(pod)), None)
    return None if counted is None else Block.TOPOLOGY_CHANGED.by(counted.key)


def _same_pass(one: PodMoved, planned: PlanDecided) -> bool:
    """Return whether a pod was promised its place by a move of the same pass."""
    return bool(one.decision) and pass_of(one.decision) == pass_of(planned.decision.id)


def pass_of(decision: str) -> str:
    """Return the pass that a move's decision is of, by its id; a provisioning decision is its own."""
    return decision.rpartition("-")[0] or decision


def move_id(of_pass: str, index: int) -> str:
    """Return the id of the decision that is a pass's move number `index`."""
    return f"{of_pass}-{index}"


def _changed_receiver(
    model: ClusterModel, planned: PlanDecided, pods: Iterable[Pod], changes: Iterable[PodMoved]
) -> str | None:
    """Return a node that is to take pods and is not such as it was planned with."""
    before = {one.name: one for one in planned.snapshot.existing_nodes}
    came = {model.objects.view_name(one.place) or one.place for one in changes}
    for pod in pods:
        target = planned.plan.nominations.get(pod.uid)
        if target is None:
            continue
        now = model.capacity.existing_node(target)
        if now is None or not _alike(before.get(target), now):
            return target
        if (pod.spec.host_ports or pod.spec.volumes) and target in came:
            return target
    return None


def _alike(before: ExistingNode | None, now: ExistingNode) -> bool:
    """Return whether a node attracts and repels the same pods as before."""
    if before is None:
        return False
    return (before.labels, before.taints, before.initialized) == (now.labels, now.taints, now.initialized)


class _Seen:
    """Changes as topology terms of other pods see them: changed pods, and with `nodes` the nodes too."""

    def __init__(self, model: ClusterModel, changes: Iterable[PodMoved], *, nodes: bool) -> None:
        self._model = model
        self._pods = {one.uid: one for one in changes}.values()
        self._opposing = [one for one in self._pods if any(term.anti for term in one.affinity)]
        self._nodes = nodes

    def by(self, pod: Pod) -> bool:
        """Return whether something that a pod's terms count has changed."""
        asks = pod.spec.spread or pod.spec.pod_affinity
        if self._nodes and asks:
            return True
        if any(
            self._selected(term, other, pod)
            for other in self._opposing
            for term in other.affinity
            if term.anti
        ):
            return True
        return bool(asks) and any(self._counts(pod, other) for other in self._pods)

    def _counts(self, pod: Pod, other: PodMoved) -> bool:
        if other.namespace == pod.namespace:
            selectors = (one.selector for one in pod.spec.spread)
            if any(selector is None or selector.selects(other.labels) for selector in selectors):
                return True
        return any(self._selected(term, pod, other) for term in pod.spec.pod_affinity)

    def _selected(self, term: PodAffinityTerm, whose: Pod | PodMoved, other: Pod | PodMoved) -> bool:
        if not self._looks_at(term, whose, other.namespace):
            return False
        return term.selector is None or term.selector.selects(other.labels)

    def _looks_at(self, term: PodAffinityTerm, whose: Pod | PodMoved, namespace: str) -> bool:
        if namespace in (term.namespaces or (() if term.namespace_selector else (whose.namespace,))):
            return True
        known = self._model.objects.namespaces.get(namespace)
        return term.namespace_selector is not None and (
            known is None or term.namespace_selector.selects(known.labels)
        )
