"""Pools as arrays: what a new node of each could be, and what room it would have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from treenail.domain import labels
from treenail.domain.instance_types import InstanceType
from treenail.domain.packing.arrays import Axis, Bools, Floats, Indices
from treenail.domain.packing.compatibility.masks import Offers, TypeMasks
from treenail.domain.packing.daemons import Daemon, daemon_load
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.requirements import Requirements
from treenail.domain.resources import NOTHING

# A limit on this resource counts nodes, whatever they are.
NODES: Final = "nodes"
# Every node comes to have these, though no template says so: daemons and pods may ask for them.
IN_THE_END: Final = Requirements.from_labels({labels.REGISTERED: "true", labels.INITIALIZED: "true"})


class Shelf:
    """T instance types as arrays. Pools that offer the same types share one.

    `room` (T, R) is what is allocatable, daemons not yet counted; `by_name` (T) is each type's place in
    the order of names.
    """

    def __init__(self, types: Sequence[InstanceType], axis: Axis) -> None:
        self.types = types
        self.masks = TypeMasks(types)
        self.offers = Offers(types)
        self.room: Floats = axis.rooms([t.allocatable for t in types])
        names = np.array([t.name for t in types], dtype=np.str_)
        self.by_name: Indices = np.argsort(np.argsort(names, kind="stable"), kind="stable")

    @cached_property
    def capacities(self) -> tuple[tuple[str, ...], Floats]:
        """The resources any type has, and how much of them each has (T, C)."""
        names = tuple(sorted({name for t in self.types for name in t.capacity}))
        rows = [[t.capacity.get(name, 0) for name in names] for t in self.types]
        return names, np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A pool as new nodes come from it, over its T types.

    `admitted` (T) are the types its requirements allow. `daemons` (T, R) is what daemons take of each,
    `room` (T, R) what is left: negative where they do not even fit themselves. `limited` names the
    resources whose limits so many pods might reach; `capacity` (T, L) is what each type counts with there.
    """

    index: int
    offer: PoolOffer
    requirements: Requirements
    shelf: Shelf
    admitted: Bools
    daemons: Floats
    room: Floats
    limited: tuple[str, ...]
    capacity: Floats


class Templates:
    """The templates of a problem's pools, each made when it is first asked for."""

    def __init__(
        self, offers: tuple[PoolOffer, ...], daemons: tuple[Daemon, ...], axis: Axis, pods: int
    ) -> None:
        self._offers = offers
        self._pods = pods
        self._daemons = daemons
        self._axis = axis
        self._shelves: dict[int, Shelf] = {}
        self._known: dict[int, Template] = {}

    def __len__(self) -> int:
        return len(self._offers)

    def offer(self, index: int) -> PoolOffer:
        return self._offers[index]

    def __getitem__(self, index: int) -> Template:
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._template(index)
        return known

    def _template(self, index: int) -> Template:
        offer = self._offers[index]
        requirements = requirements_of(offer)
        shelf = self._shelf(offer)
        admitted = np.ones(len(offer.instance_types), dtype=np.bool_)
        for requirement in requirements.values():
            admitted &= shelf.masks.admitting(requirement)
        daemons = daemon_load(self._daemons, offer.pool.taints, requirements, shelf.masks, shelf.room)
        limited, capacity = _limits(offer, self._pods)
        return Template(
            index=index,
            offer=offer,
            requirements=requirements,
            shelf=shelf,
            admitted=admitted,
            daemons=daemons,
            room=shelf.room - daemons,
            limited=limited,
            capacity=capacity,
        )

    def _shelf(self, offer: PoolOffer) -> Shelf:
        types = offer.instance_types
        shelf = self._shelves.get(id(types))
        if shelf is None:
            shelf = self._shelves[id(types)] = Shelf(types, self._axis)
        return shelf


def requirements_of(offer: PoolOffer) -> Requirements:
    """Return what is known of the labels of any new node of the pool, once it is up."""
    return offer.pool.template_requirements().with_(IN_THE_END)


def _limits(offer: PoolOffer, pods: int) -> tuple[tuple[str, ...], Floats]:
    """Return which limits a node for each of `pods` might reach, and what each type has of those (T, L)."""
    limits = offer.limits_left or NOTHING
    limited, columns = [], []
    for name in sorted(limits):
        column = [1 if name == NODES else t.capacity.get(name, 0) for t in offer.instance_types]
        if max(column, default=0) * pods > limits[name]:
            limited.append(name)
            columns.append(column)
    capacity = np.array(columns, dtype=np.float64).reshape(len(columns), len(offer.instance_types)).T
    return tuple(limited), capacity
