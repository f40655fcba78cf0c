"""Blockers of consolidation: what keeps a node, told apart by kind, and what its going would save."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.model import labels
from treenail.domain.model.instants import read_instant
from treenail.domain.model.nodes import NodeView

# The kinds that name no object: nothing there is can be removed for the node to go.
MOVES: Final = "Moves"
PRICE: Final = "Price"
_UNREMOVABLE: Final = frozenset({MOVES, PRICE})
_NODE: Final = "Node"

# From the sentence why a node stays to the kind and the name of what keeps it, and what such nodes have in
# common. The first that is found in the sentence counts; a name that is not said is the node's.
_KINDS: Final[tuple[tuple[str, str, str], ...]] = (
    (r"\(PodDisruptionBudget\S*=\[(?P<name>.*?)\]", "PodDisruptionBudget", "a pod may not be evicted now"),
    (r"pod has .* annotation \(Pod=(?P<name>.*?)\)", "Pod", "a pod has the annotation do-not-disrupt"),
    (r"pod cannot be read \(Pod=(?P<name>.*?)\)", "Pod", "a pod cannot be read"),
    (r"not all pods would schedule, (?P<name>\S+) =>", "Pod", "a pod fits on no other node"),
    (r"blocking budget of (?P<name>.*)", "Budget", "the pool's budget lets no more nodes go now"),
    (r"limits of NodePool (?P<name>\S+)", "NodePool", "the pool's limits leave no room for a replacement"),
    (r"NodePool not found \(NodePool=(?P<name>.*)\)", "NodePool", "the pool is not there"),
    (r'"(?P<name>.*?)" has consolidation disabled', "NodePool", "the pool has consolidation disabled"),
    (r'"(?P<name>.*?)" has consolidation policy WhenEmpty', "NodePool", "the pool's policy is WhenEmpty"),
    (r'"(?P<name>.*?)" has consolidation policy Balanced', "NodePool", "Balanced: it saves too little"),
    (r'"(?P<name>.*?)" wants moves to pay back', "NodePool", "it would not pay back in the pool's time"),
    (r"bought for a short time ago", _NODE, "it replaced another node a short time ago"),
    (r"consolidateAfter", "ConsolidateAfter", "pods came or left within consolidateAfter"),
    (r"(?P<name>SpotToSpotConsolidation) is disabled", "Setting", "SpotToSpotConsolidation is not on"),
    (r"takes pods", MOVES, "it takes pods of nodes that go, or that wait"),
    (r"the price of its offering is not known", PRICE, "its price is not known"),
    (r"cheaper node", PRICE, "no cheaper node could take its place"),
    (r"blocked through the", _NODE, "the node has the annotation do-not-disrupt"),
)  # fmt: skip
_UNTIL: Final = re.compile(r" until (\S+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """What keeps a node: an object by kind and name, or a `kind` of circumstance.

    `why` is the whole sentence, `group` what all such blockers have in common. It ends by itself at `until`,
    where that is known. `would_save` is what the node's going would save at most, $/h; nothing where there
    is nothing to be removed.
    """

    kind: str
    name: str
    why: str
    group: str
    until: datetime | None = None
    would_save: float = 0.0


def blocker(why: str, node: str, would_save: float = 0.0) -> Blocker:
    """Return what keeps a node, of the sentence that says why it stays."""
    for pattern, kind, group in _KINDS:
        found = re.search(pattern, why)
        if found is not None:
            until = _UNTIL.search(why)
            return Blocker(
                kind=kind,
                name=found.groupdict().get("name") or node,
                why=why,
                group=group,
                until=read_instant(until[1]) if until is not None else None,
                would_save=0.0 if kind in _UNREMOVABLE else would_save,
            )
    return Blocker(kind=_NODE, name=node, why=why, group=why, would_save=would_save)


def blockers_of(
    model: ClusterModel, view: NodeView, why: str, would_save: float, now: datetime
) -> tuple[Blocker, ...]:
    """Return all that keeps a node: what the sentence names, and whatever else forbids to evict its pods.

    Several blockers save together what each of them is told to.
    """
    first = blocker(why, view.node_name or view.name, would_save)
    found = {(first.kind, first.name): first}
    if first.kind not in _UNREMOVABLE:
        for more in _of_pods(model, view, now):
            one = blocker(more, view.node_name, would_save)
            found.setdefault((one.kind, one.name), one)
    return tuple(found.values())


def _of_pods(model: ClusterModel, view: NodeView, now: datetime) -> Iterator[str]:
    for pod in model.objects.pods_of(view):
        if pod.active and pod.protected(now):
            yield f'pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod={pod.key})'
        held = model.objects.pod_budgets.holding(pod) if pod.active and pod.drainable(now) else None
        if held is not None:
            yield held
