"""Catalogues as they were last read: they serve on while EC2 does not answer."""

from __future__ import annotations

from dataclasses import replace

from cachetools import LRUCache

from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.observed_capacity import CapacityObserved
from treenail.domain.scheduling.reserved_offers import PoolStocks


class LastCatalogues:
    """The last catalogue of each node class and kubelet, of `most` of them at most. Mutable.

    It is good for the class as it was then. A status that is written makes a new version of a class, and says
    nothing else of it.
    """

    def __init__(self, most: int) -> None:
        self._read = LRUCache[tuple[NodeClassRef, Kubelet], tuple[NodeClass, PoolStocks]](most)

    def note(self, node_class: NodeClass, kubelet: Kubelet, stocks: PoolStocks) -> None:
        """Take in what a node class sells."""
        self._read[node_class.ref, kubelet] = _of_any_version(node_class), stocks

    def of(self, node_class: NodeClass, kubelet: Kubelet) -> PoolStocks | None:
        """Return what a node class sold when that was last known, None where it was another one then."""
        known = self._read.get((node_class.ref, kubelet))
        return known[1] if known is not None and known[0] == _of_any_version(node_class) else None

    def forget(self, node_class: NodeClass, kubelet: Kubelet) -> None:
        """Forget what a node class sold: it sells nothing any more."""
        self._read.pop((node_class.ref, kubelet), None)

    def unlearn(self, learned: CapacityObserved) -> None:
        """Forget the catalogues that were wrong about nodes."""
        for key, (_, stocks) in list(self._read.items()):
            if learned.disproves(stocks.types):
                del self._read[key]


def _of_any_version(node_class: NodeClass) -> NodeClass:
    return replace(node_class, resource_version=0)
