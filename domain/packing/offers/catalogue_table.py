"""The catalogue as arrays, made once as long as it stays the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np

from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import CPU
from treenail.domain.packing.arrays.arrays import Axis, Bools, Floats
from treenail.domain.packing.arrays.lazy import Lazy
from treenail.domain.packing.identity import Same
from treenail.domain.packing.offers.masks import Offers, TypeMasks

T = TypeVar("T")

# As many catalogues as are in use at a time: each is of some hundred kilobytes.
_KEPT: Final = 16
# And so much of each that pools and daemons make of it.
_KEPT_BESIDE: Final = 64


class CatalogueTable:
    """T instance types as arrays."""

    def __init__(self, types: tuple[InstanceType, ...]) -> None:
        self.types = types
        # By identity, as the catalogue itself. One whose prices are new has the labels of the one before.
        self.masks = _masks_of(tuple(Same(one.requirements) for one in types))
        self.offers = Offers(types)
        self._rooms: dict[tuple[tuple[str, ...], bool], Floats] = {}
        self.burstable: Bools = np.array([one.baseline is not None for one in types], dtype=np.bool_)
        self.specialised: Bools = np.array([one.specialised for one in types], dtype=np.bool_)
        self.exotic: Bools = np.array([one.exotic for one in types], dtype=np.bool_)
        # Whether each type is none of these.
        self.ordinary: Bools = ~(self.burstable | self.specialised | self.exotic)
        self._kept: dict[Hashable, Any] = {}

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what follows from the catalogue and `key` alone: it is kept for further decisions."""
        if key in self._kept:
            # Taken out and put in again: a dictionary in order of insertion is a least-recently-used cache
            # that way.
            known: T = self._kept.pop(key)
        else:
            known = make()
        # Of many, those go that were not asked for the longest.
        self._kept[key] = known
        if len(self._kept) > _KEPT_BESIDE:
            del self._kept[next(iter(self._kept))]
        return known

    def room(self, axis: Axis, *, steady: bool = False) -> Floats:
        """Return what is allocatable of each type (T, R), daemons not counted.

        `steady` is without the CPU that a burstable type may not use all the time.
        """
        # By the names of the resources: decisions about the same ones share their arrays.
        known = self._rooms.get((axis.names, steady))
        if known is None:
            names, amounts = self._allocatable
            known = np.zeros((len(self.types), len(axis.names)))
            for column, name in enumerate(axis.names):
                if name in names:
                    known[:, column] = amounts[names[name]]
                if name == CPU and steady:
                    known[:, column] -= self._passing
            self._rooms[axis.names, steady] = known
        return known

    @Lazy
    def _passing(self) -> Floats:
        """Return the millicores that each type may not use all the time (T)."""
        return np.array(
            [0 if t.baseline is None else t.capacity.get(CPU, 0) - t.baseline for t in self.types],
            dtype=np.float64,
        )

    @Lazy
    def _allocatable(self) -> tuple[Mapping[str, int], Floats]:
        """Return what is allocatable of each type, by resource (A, T), and the place of each resource."""
        axis = Axis([t.allocatable for t in self.types])
        places = {name: place for place, name in enumerate(axis.names)}
        return places, axis.rooms([t.allocatable for t in self.types]).T

    @Lazy
    def capacities(self) -> tuple[tuple[str, ...], Floats]:
        """The resources any type has, and how much of them each has (T, C)."""
        names = tuple(sorted({name for t in self.types for name in t.capacity}))
        rows = [[t.capacity.get(name, 0) for name in names] for t in self.types]
        return names, np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


@lru_cache(maxsize=_KEPT)
def _masks_of(labels: tuple[Same[Requirements], ...]) -> TypeMasks:
    return TypeMasks([one.one for one in labels])


@lru_cache(maxsize=_KEPT)
def _table_of(types: Same[tuple[InstanceType, ...]]) -> CatalogueTable:
    return CatalogueTable(types.one)


def table_of(types: tuple[InstanceType, ...]) -> CatalogueTable:
    """Return `types` as arrays. Pools and problems that offer the very same tuple share one."""
    # By identity: to compare hundreds of types takes longer than making the arrays anew would.
    return _table_of(Same(types))
