"""Loads of nodes: what the pods on a node mean for giving it up, remembered until they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import is_

from treenail.domain.cluster.emptiness import is_empty
from treenail.domain.cluster.inventory import Inventory
from treenail.domain.model.do_not_disrupt import protecting
from treenail.domain.model.eviction_cost import disruption_cost, eviction_cost
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.pods import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLoad:
    """The pods on a node as far as they matter for giving it up, independent of time and of budgets.

    `moving` are the uids of pods that come back elsewhere, with their `eviction_costs`; `disruption` is the
    cost of draining the node. `empty` says that it may go as empty, if nothing is promised a place there.
    `unread` is a pod that cannot be read. `annotated` pods have an annotation that may forbid to disrupt
    them; `guarded` are pods that would be evicted, with the budgets that select them.
    """

    moving: tuple[str, ...] = ()
    eviction_costs: Mapping[str, float]
    disruption: float
    empty: bool
    unread: Pod | None = None
    annotated: tuple[Pod, ...] = ()
    guarded: tuple[tuple[Pod, tuple[str, ...]], ...] = ()


class NodeLoads:
    """The loads of the nodes of an inventory. Each is worked out anew where its claim or a pod changed."""

    def __init__(self, objects: Inventory) -> None:
        self._objects = objects
        self._known: dict[str, tuple[NodeClaim | None, tuple[Pod, ...], NodeLoad]] = {}
        self._selectors = 0

    def of(self, view: NodeView, now: datetime) -> NodeLoad:
        """Return the load of a node; `now` only tells which pods that stay on a drained node do so."""
        if self._selectors != self._objects.pod_budgets.selectors:
            self._known.clear()
            self._selectors = self._objects.pod_budgets.selectors
        claim, pods = view.claim, self._objects.pods_of(view)
        known = self._known.get(view.name)
        if (
            known is not None
            and known[0] is claim
            and len(known[1]) == len(pods)
            and all(map(is_, known[1], pods))
        ):
            return known[2]
        load = self._measure(pods, claim, now)
        self._known[view.name] = claim, pods, load
        return load

    def tidy(self, names: Iterable[str]) -> None:
        """Forget all nodes but these."""
        kept = set(names)
        for name in [name for name in self._known if name not in kept]:
            del self._known[name]

    def _measure(self, pods: Sequence[Pod], claim: NodeClaim | None, now: datetime) -> NodeLoad:
        costs = {pod.uid: eviction_cost(pod) for pod in pods if pod.reschedulable}
        active = [pod for pod in pods if pod.active]
        budgets = self._objects.pod_budgets
        guarded = (
            (pod, selecting) for pod in active if (selecting := budgets.selecting(pod)) and pod.drainable(now)
        )
        return NodeLoad(
            moving=tuple(costs),
            eviction_costs=costs,
            disruption=disruption_cost(costs.values()),
            empty=is_empty(pods, claim),
            unread=next((pod for pod in pods if pod.unread), None),
            annotated=tuple(pod for pod in active if protecting(pod)),
            guarded=tuple(guarded),
        )
