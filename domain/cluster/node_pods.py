"""Pods by the node that they hold room on: in order, and what they request together."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import NOTHING, Resources


@dataclass(slots=True)
class _There:
    """The pods of one node by uid, the same uids in order, and the sum of the requests."""

    pods: dict[str, Pod] = field(default_factory=dict)
    uids: list[str] = field(default_factory=list)
    requests: Resources = NOTHING


class NodePods:
    """The pods that hold room on each node, by the name of the node. Mutable.

    Order and sum are kept, as both are asked for with each pod that comes to a node or changes there: made
    anew from all pods each time, a node of 200 pods would cost 200 times 200.
    """

    def __init__(self) -> None:
        self._on: dict[str, _There] = {}

    def put(self, pod: Pod) -> None:
        """Keep the present state of a pod on the node that it names."""
        there = self._on.setdefault(pod.node_name, _There())
        before = there.pods.get(pod.uid)
        there.pods[pod.uid] = pod
        if before is None:
            insort(there.uids, pod.uid)
        elif before.spec.requests == pod.spec.requests:
            return
        else:
            there.requests = there.requests.minus(before.spec.requests)
        there.requests = there.requests.plus(pod.spec.requests)

    def remove(self, pod: Pod) -> None:
        """Forget a pod that left the node that it named when it was put."""
        there = self._on.get(pod.node_name)
        before = there.pods.pop(pod.uid, None) if there is not None else None
        if there is None or before is None:
            return
        del there.uids[bisect_left(there.uids, pod.uid)]
        there.requests = there.requests.minus(before.spec.requests)
        if not there.pods:
            del self._on[pod.node_name]

    def on(self, node: str) -> tuple[Pod, ...]:
        """Return the pods on a node, by uid."""
        there = self._on.get(node)
        return tuple(map(there.pods.__getitem__, there.uids)) if there is not None else ()

    def requests_on(self, node: str) -> Resources:
        """Return what the pods on a node request together; what none of them does may be named, as 0."""
        there = self._on.get(node)
        return there.requests if there is not None else NOTHING
