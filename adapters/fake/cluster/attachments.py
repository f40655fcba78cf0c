"""The attach-detach controller: attaches volumes to the nodes of pods, and detaches them afterwards."""

from __future__ import annotations

from functools import partial

from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.fake.luck import draw
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Pod
from treenail.domain.model.storage import PersistentVolumeClaim


class Attachments:
    """Persistent volumes attached to each node. Volumes that pods name themselves are left out."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._dice = plane.fork()
        # By node: the uids of the pods on it that use a volume, by the volume.
        self._users: dict[str, dict[str, dict[str, None]]] = {}
        plane.store.listen(self._pod_changed, Kind.POD)
        plane.store.listen(self._node_changed, Kind.NODE)

    def at(self, node: str) -> frozenset[str]:
        """Return the volumes attached to a node."""
        return frozenset(self._users.get(node, ()))

    def _pod_changed(self, change: Change) -> None:
        before, pod = change.before, change.after
        if isinstance(pod, Pod) and pod.bound:
            for volume in self._volumes(pod):
                self._users.setdefault(pod.node_name, {}).setdefault(volume, {})[pod.uid] = None
        elif isinstance(before, Pod) and before.bound and self._uses(before):
            wait = draw(self._dice, self._plane.settings.detach)
            self._plane.later(wait, partial(self._leave, before.node_name, before.uid))

    def _node_changed(self, change: Change) -> None:
        if isinstance(change.before, Node) and change.after is None:
            self._users.pop(change.before.name, None)

    def _leave(self, node: str, pod: str) -> None:
        there = self._users.get(node, {})
        for volume, users in tuple(there.items()):
            users.pop(pod, None)
            if not users:
                del there[volume]

    def _uses(self, pod: Pod) -> bool:
        return any(pod.uid in users for users in self._users.get(pod.node_name, {}).values())

    def _volumes(self, pod: Pod) -> list[str]:
        claims = (self._plane.store.find((Kind.PERSISTENT_VOLUME_CLAIM.value, key)) for key in pod.claim_keys)
        return [c.volume_name for c in claims if isinstance(c, PersistentVolumeClaim) and c.volume_name]
