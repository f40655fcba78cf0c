"""Offerings that EC2 had no capacity in, kept from use for three minutes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cachetools import TTLCache

from treenail.domain.launch.launching import CapacityRanOut
from treenail.domain.model.catalogue_keys import ANY, ClassZone, OfferingKey
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.zonal_shifts import closed

UNAVAILABLE_SECONDS: Final = 180.0
_MOST: Final = 100_000


class UnavailableOfferings:
    """Offerings that ran out, zones that are full, and zones that are closed. Mutable.

    The first two are forgotten after three minutes, the last are open again when that is told.
    `clock` gives monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._offerings: TTLCache[OfferingKey, bool] = TTLCache(_MOST, UNAVAILABLE_SECONDS, timer=clock)
        self._shifted = frozenset[str]()
        self._full: TTLCache[ClassZone, bool] = TTLCache(_MOST, UNAVAILABLE_SECONDS, timer=clock)

    def note(self, ran_out: CapacityRanOut) -> None:
        """Take in what ran out."""
        self._offerings.update(dict.fromkeys(ran_out.offerings, True))
        self._full.update(dict.fromkeys(ran_out.full_zones, True))

    def shift(self, zone_ids: frozenset[str]) -> bool:
        """Close the zones of these ids, and no others; return whether one is open again."""
        before, self._shifted = self._shifted, zone_ids
        return bool(before - zone_ids)

    def of(self, node_class: NodeClassRef) -> frozenset[OfferingKey]:
        """Return what cannot be bought by a node class for now."""
        full: set[OfferingKey] = {(ANY, ANY, zone) for ref, zone in self._full if ref == node_class}
        return frozenset(self._offerings) | full | self.closed

    @property
    def closed(self) -> frozenset[OfferingKey]:
        """The closed zones, kept from use for other reasons than lack of capacity."""
        return closed(self._shifted)
