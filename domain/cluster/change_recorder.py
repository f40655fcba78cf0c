"""The recorder of changes: which views, pods and pools a fact or a decision changed."""

from __future__ import annotations

from treenail.domain.cluster.capacity import Capacity
from treenail.domain.cluster.changes import Changes
from treenail.domain.cluster.inventory import Inventory
from treenail.domain.cluster.promises import Promise


class ChangeRecorder:
    """Collects changes until they are taken, and forgets at once what was computed of a view that changed."""

    def __init__(self, objects: Inventory, capacity: Capacity) -> None:
        self._objects = objects
        self._capacity = capacity
        self.changes = Changes()

    def take(self) -> Changes:
        """Return what has changed since this was last asked."""
        taken, self.changes = self.changes, Changes()
        return taken

    def view(self, name: str) -> None:
        """Note that a view changed, or is gone."""
        self._capacity.forget_node(name)
        self.changes.views[name] = None

    def node(self, name: str) -> None:
        """Note that the view of a node changed."""
        self.view(self._objects.view_name(name))

    def nodes_of(self, pool: str) -> None:
        """Note that all views of a pool changed."""
        for claim in self._objects.claims.values():
            if claim.pool == pool:
                self.view(claim.name)

    def waiting_for(self, node_class: str) -> None:
        """Note that the views of claims changed that are still to be launched from a node class."""
        for claim in self._objects.claims.values():
            if not claim.launched and str(claim.node_class) == node_class:
                self.view(claim.name)

    def promise(self, promise: Promise) -> None:
        """Note a promise made or ended: its pod, its target and the node that the pod is to leave changed."""
        self.changes.pods[promise.pod] = None
        self.view(promise.target)
        self.old_place(promise)

    def ended(self, promise: Promise) -> None:
        """Note a promise that ended, without its pod's coming where that was still to be made."""
        if promise.expected:
            self.changes.to_come_ended.append((promise.decision, False))
        self.promise(promise)

    def old_place(self, promise: Promise) -> None:
        """Note that the node changed that the pod of a promise is to leave."""
        pod = self._objects.pods.get(promise.pod)
        if pod is not None and pod.bound:
            self.node(pod.node_name)

    def pools(self, *, changed: bool = True) -> None:
        """Note that what may be bought changed."""
        self.changes.pools |= changed
