"""Pools as arrays: what a new node of each could be, and what room it would have."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from treenail.domain import labels
from treenail.domain.packing.arrays import Axis, Bools, Floats, holds
from treenail.domain.packing.daemons import Daemon, daemon_load, daemon_ports
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.packing.shelf import Shelf, shelf_of
from treenail.domain.pods import HostPort
from treenail.domain.requirements import Requirements
from treenail.domain.resources import NOTHING

# A limit on this resource counts nodes, whatever they are.
NODES: Final = "nodes"
# Under this a template of reserved capacity counts the nodes that fit its reservation.
RESERVED: Final = "reserved nodes"
# Every node comes to have these, though no template says so: daemons and pods may ask for them.
IN_THE_END: Final = Requirements.from_labels({labels.REGISTERED: "true", labels.INITIALIZED: "true"})


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A pool as new nodes come from it, over its T types.

    `admitted` (T) are the types its requirements allow. `daemons` (T, R) is what daemons take of each,
    `room` (T, R) what is left: negative where they do not even fit themselves. `usable` (T) are the types
    admitted on which they fit. `limited` names the
    resources whose limits so many pods might reach; `capacity` (T, L) is what each type counts with there.
    `ports` are the host ports that daemons take, and on which types (T).
    """

    index: int
    offer: PoolOffer
    requirements: Requirements
    shelf: Shelf
    admitted: Bools
    daemons: Floats
    room: Floats
    usable: Bools
    limited: tuple[str, ...]
    capacity: Floats
    ports: dict[HostPort, Bools]


class Templates:
    """The templates of a problem's pools, each made when it is first asked for."""

    def __init__(
        self, offers: tuple[PoolOffer, ...], daemons: tuple[Daemon, ...], axis: Axis, pods: int
    ) -> None:
        self._offers = offers
        self._pods = pods
        self._daemons = daemons
        self._axis = axis
        self._known: dict[int, Template] = {}

    def __len__(self) -> int:
        return len(self._offers)

    def offer(self, index: int) -> PoolOffer:
        return self._offers[index]

    def shelf(self, index: int) -> Shelf:
        """Return the catalogue of the template's pool."""
        return shelf_of(self._offers[index].instance_types)

    def __getitem__(self, index: int) -> Template:
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._template(index)
        return known

    def _template(self, index: int) -> Template:
        offer = self._offers[index]
        requirements = requirements_of(offer)
        shelf = shelf_of(offer.instance_types)
        whole = shelf.room(self._axis)
        admitted = np.ones(len(offer.instance_types), dtype=np.bool_)
        for requirement in requirements.values():
            admitted &= shelf.masks.admitting(requirement)
        daemons = daemon_load(self._daemons, offer.pool.taints, requirements, shelf.masks, whole)
        room = whole - daemons
        # Where a pool comes several times, it may reach a limit by all of its templates together.
        several = sum(one.pool.name == offer.pool.name for one in self._offers) > 1
        limited, capacity = _limits(offer, shelf, inf if several else self._pods)
        return Template(
            index=index,
            offer=offer,
            requirements=requirements,
            shelf=shelf,
            admitted=admitted,
            daemons=daemons,
            room=room,
            usable=admitted & holds(room, np.zeros_like(room)),
            limited=limited,
            capacity=capacity,
            ports=daemon_ports(self._daemons, offer.pool.taints, requirements, shelf.masks, len(room)),
        )


def requirements_of(offer: PoolOffer) -> Requirements:
    """Return what is known of the labels of any new node of the pool, once it is up."""
    return offer.pool.template_requirements().with_(IN_THE_END)


def _limits(offer: PoolOffer, shelf: Shelf, pods: float) -> tuple[tuple[str, ...], Floats]:
    """Return which limits a node for each of `pods` might reach, and what each type has of those (T, L)."""
    limits = offer.limits_left or NOTHING
    names, capacities = shelf.capacities
    limited, columns = [], []
    for name in sorted(limits):
        column = np.ones(len(capacities)) if name == NODES else np.zeros(len(capacities))
        if name in names:
            column = capacities[:, names.index(name)]
        most = column.max(initial=0.0)
        if (most * pods if most else 0.0) > limits[name]:
            limited.append(name)
            columns.append(column)
    if offer.reservation:
        limited.append(RESERVED)
        columns.append(np.ones(len(capacities)))
    capacity = np.array(columns, dtype=np.float64).reshape(len(columns), len(capacities)).T
    return tuple(limited), capacity
