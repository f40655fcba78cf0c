"""A check, before any launch, that instances of a node class could be told how to boot."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final

from cachetools import LRUCache

from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.errors import PortError
from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef

# Any number would do: it changes no more than some digits.
_MAX_PODS: Final = 110
_REMEMBERED: Final = 256


class BootCheck:
    """Makes user data for trial, once for each version of a node class. Threads may share it."""

    def __init__(self, facts: Callable[[], ClusterFacts]) -> None:
        self._facts = facts
        self._lock = Lock()
        # What user data could be made of last.
        self._sound: LRUCache[tuple[NodeClassRef, Kubelet], tuple[NodeClass, ClusterFacts]] = LRUCache(
            _REMEMBERED
        )

    def check(self, node_class: NodeClass, kubelet: Kubelet) -> None:
        """Return if user data can be made, or if that is unknown now.

        Raises:
            NodeClassNotReadyError: it cannot be made, as `user_data` says.
        """
        try:
            cluster = self._facts()
        except PortError:
            # That is no fault of the class: what asks for the facts to launch an instance will hear of it.
            return
        with self._lock:
            if self._sound.get((node_class.ref, kubelet)) == (node_class, cluster):
                return
        user_data(
            node_class, cluster, KubeletSettings(max_pods=_MAX_PODS, labels={}, taints=(), kubelet=kubelet)
        )
        with self._lock:
            self._sound[node_class.ref, kubelet] = (node_class, cluster)
