"""The node controller: finds lost nodes, and evicts pods by NoExecute taints."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from treenail.adapters.fake.cluster import pods
from treenail.adapters.fake.cluster.accounts import Accounts
from treenail.adapters.fake.cluster.control_plane import ControlPlane, DelayedWork
from treenail.adapters.fake.cluster.objects import Change, address_of
from treenail.adapters.fake.cluster.patches import with_conditions
from treenail.adapters.fake.luck import draw
from treenail.domain.model.nodes import READY, Condition, Node, Status, awaited
from treenail.domain.model.pods import Pod
from treenail.domain.model.taints import UNREACHABLE, Effect, Taint

# As in the controller manager: so long a node may take to be heard of for the first time.
_STARTUP_GRACE: Final = 60.0
_SILENT: Final = Condition(READY, Status.UNKNOWN, "NodeStatusUnknown", "Kubelet stopped posting node status.")
# Every pod puts up with these for so long, if it does not say otherwise: the API server sees to it.
_TOLERATED_BY_DEFAULT: Final = ("node.kubernetes.io/not-ready", UNREACHABLE)
_TOLERATED_FOR: Final = 300


class NodeController:
    """Node lifecycle, eviction by taint, and the collection of pods whose node is no more."""

    def __init__(self, plane: ControlPlane, accounts: Accounts) -> None:
        self._plane = plane
        self._dice = plane.fork()
        self._accounts = accounts
        self._vanished = DelayedWork[str](plane, plane.settings.collect, self._collect)
        # Since when each node has had each taint that drives pods away.
        self._tainted: dict[str, dict[Taint, datetime]] = {}
        plane.store.listen(self._node_changed, "Node")
        plane.store.listen(self._pod_changed, "Pod")

    def lose(self, name: str) -> None:
        """Find out, a little later, that the machine of a node is gone, and delete the node."""
        node = self._plane.store.find(("Node", name))
        if isinstance(node, Node):
            lost = draw(self._dice, self._plane.settings.lost)
            removed = draw(self._dice, self._plane.settings.removed)
            self._plane.later(lost, partial(self._find_lost, name, node.uid))
            self._plane.later(lost + removed, partial(self._remove, name, node.uid))

    def say(self, name: str, condition: Condition) -> None:
        """Set a condition of a node that is there."""
        node = self._plane.store.find(("Node", name))
        if isinstance(node, Node):
            conditions = with_conditions(node.conditions, (condition,), self._plane.store.now())
            self._plane.store.put(replace(node, conditions=conditions))

    def take_taint(self, name: str, key: str, effect: Effect | None = None) -> None:
        """Remove the taints with this key, and this effect if it is said, from a node that is there."""
        node = self._plane.store.find(("Node", name))
        if isinstance(node, Node):
            kept = tuple(t for t in node.taints if t.key != key or effect not in (None, t.effect))
            self._plane.store.put(replace(node, taints=kept))

    def _find_lost(self, name: str, uid: str) -> None:
        node = self._plane.store.find(("Node", name))
        if isinstance(node, Node) and node.uid == uid:
            kept = tuple(t for t in node.taints if t.key != UNREACHABLE)
            marks = (Taint(UNREACHABLE, Effect.NO_SCHEDULE), Taint(UNREACHABLE, Effect.NO_EXECUTE))
            conditions = with_conditions(node.conditions, (_SILENT,), self._plane.store.now())
            self._plane.store.put(replace(node, taints=(*kept, *marks), conditions=conditions))
            for pod in self._accounts.pods_on(name):
                if pod.ready:
                    self._plane.store.put(replace(pod, ready=False))

    def _remove(self, name: str, uid: str) -> None:
        node = self._plane.store.find(("Node", name))
        if isinstance(node, Node) and node.uid == uid:
            self._plane.store.delete(("Node", name))

    def _node_changed(self, change: Change) -> None:
        node, name = change.after, change.address[1]
        if not isinstance(node, Node):
            self._tainted.pop(name, None)
            self._vanished.add(name)
            return
        if change.before is None and awaited(node):
            self._plane.later(_STARTUP_GRACE, partial(self._miss, name, node.uid))
        if not isinstance(change.before, Node) or change.before.taints != node.taints:
            self._see_taints(node)

    def _miss(self, name: str, uid: str) -> None:
        """Find that no kubelet has spoken for a new node yet: its pods may come to an end by that."""
        node = self._plane.store.find(("Node", name))
        if isinstance(node, Node) and node.uid == uid and awaited(node):
            self._find_lost(name, uid)

    def _collect(self, name: str) -> None:
        """Delete the pods of a node that is gone: no kubelet will end them."""
        if self._plane.store.find(("Node", name)) is None:
            for pod in self._accounts.pods_on(name):
                self._plane.store.remove(address_of(pod))

    # --- taints that drive pods away

    def _see_taints(self, node: Node) -> None:
        known = self._tainted.pop(node.name, {})
        now = self._plane.store.now()
        driving = {t: known.get(t, now) for t in node.taints if t.effect is Effect.NO_EXECUTE}
        if driving:
            self._tainted[node.name] = driving
        if driving.keys() - known.keys():
            for pod in self._accounts.pods_on(node.name):
                self._judge_later(pod)

    def _pod_changed(self, change: Change) -> None:
        pod = change.after
        new = not isinstance(change.before, Pod) or not change.before.node_name
        if not isinstance(pod, Pod) or not pod.node_name or not new:
            return
        if pod.node_name in self._tainted:
            self._judge_later(pod)
        if self._plane.store.find(("Node", pod.node_name)) is None:
            self._vanished.add(pod.node_name)

    def _judge_later(self, pod: Pod) -> None:
        stays = self._stays_until(pod)
        if stays is not None:
            wait = max((stays - self._plane.store.now()).total_seconds(), 0.0)
            self._plane.later(wait, partial(self._judge, pod.uid))

    def _judge(self, uid: str) -> None:
        pod = self._plane.store.by_uid(uid)
        if not isinstance(pod, Pod) or not pod.active:
            return
        stays = self._stays_until(pod)
        if stays is not None and stays <= self._plane.store.now():
            why = f"Marking for deletion Pod {pod.key}"
            self._plane.warn(pod, "TaintManagerEviction", why, source="taint-eviction-controller")
            pods.delete(self._plane.store, pod, pod.spec.grace_seconds)

    def _stays_until(self, pod: Pod) -> datetime | None:
        """Return when the taints of its node drive a pod away; None where they do not."""
        ends = []
        for taint, since in self._tainted.get(pod.node_name, {}).items():
            seconds = _tolerated_seconds(pod, taint)
            if seconds is not None:
                ends.append(since + timedelta(seconds=seconds))
        return min(ends, default=None)


def _tolerated_seconds(pod: Pod, taint: Taint) -> int | None:
    """Return how long a pod puts up with a taint; None where for ever."""
    tolerating = [t for t in pod.spec.tolerations if t.tolerates(taint)]
    if any(t.seconds is None for t in tolerating):
        return None
    if tolerating:
        return max(min(t.seconds or 0 for t in tolerating), 0)
    if pod.daemon and taint.key in _TOLERATED_BY_DEFAULT:
        return None
    return _TOLERATED_FOR if taint.key in _TOLERATED_BY_DEFAULT else 0
