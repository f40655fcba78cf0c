"""Pools as arrays: the new nodes each could make, and what they leave to pods."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from treenail.domain.model import labels
from treenail.domain.model.pods import HostPort, PodSpec
from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import NOTHING
from treenail.domain.model.taints import Taint
from treenail.domain.packing.arrays.arrays import Axis, Bools, Floats, holds
from treenail.domain.packing.offers.catalogue_table import CatalogueTable, table_of
from treenail.domain.packing.offers.daemons import daemon_load, daemon_ports, read_daemons
from treenail.domain.packing.offers.types_left_out import SetAside
from treenail.domain.packing.problem import PoolOffer

# Under this a template of reserved capacity counts the nodes that fit its reservation.
RESERVED: Final = "reserved nodes"
# Every node comes to have these, though no template says so: daemons and pods may ask for them.
IN_THE_END: Final = Requirements.from_labels({labels.REGISTERED: "true", labels.INITIALIZED: "true"})


@dataclass(frozen=True, slots=True)
class _Asked:
    """The traits that tell pools of one catalogue apart before their limits, under so many `daemons`."""

    taints: tuple[Taint, ...]
    requirements: Requirements
    daemons: tuple[PodSpec, ...]
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _TemplateArrays:
    """Arrays of a template that depend on its pool, the catalogue and the daemons alone."""

    admitted: Bools
    daemons: Floats
    room: Floats
    steady_room: Floats
    usable: Bools
    ports: dict[HostPort, Bools]
    asides: dict[tuple[bytes, bytes, bool, bool], SetAside]


@dataclass(frozen=True, slots=True, eq=False)
class NodeTemplate:
    """A pool as new nodes come from it, over its T types.

    `admitted` (T) are the types its requirements allow. `daemons` (T, R) is what daemons take of each,
    `room` (T, R) what is left: negative where they do not even fit themselves. `steady_room` (T, R) is the
    same where of burstable types only the baseline of CPU counts. `usable` (T) are the types admitted on
    which they fit. `limited` names the resources whose limits so many pods might reach; `capacity` (T, L) is
    what each type counts with there. `ports` are the host ports that daemons take, and on which types (T).
    `asides` is what was found to be set aside, by what was asked. `overhead_cost` ($/h) is what a node costs
    beside its price and its volumes.
    """

    index: int
    offer: PoolOffer
    requirements: Requirements
    table: CatalogueTable
    admitted: Bools
    daemons: Floats
    room: Floats
    steady_room: Floats
    usable: Bools
    limited: tuple[str, ...]
    capacity: Floats
    ports: dict[HostPort, Bools]
    asides: dict[tuple[bytes, bytes, bool, bool], SetAside]
    overhead_cost: float

    @property
    def surcharge(self) -> float:
        """The cost of a node beside its price, whatever its type: its volumes and its overhead, $/h."""
        return self.offer.volume_cost + self.overhead_cost


class NodeTemplates:
    """The templates of a problem's pools, each made when it is first asked for."""

    def __init__(
        self,
        offers: tuple[PoolOffer, ...],
        daemons: tuple[PodSpec, ...],
        axis: Axis,
        *,
        pods: int,
        overhead_cost: float,
    ) -> None:
        self._offers = offers
        self._overhead_cost = overhead_cost
        self._pods = pods
        self._daemons = daemons
        self._axis = axis
        self._known: dict[int, NodeTemplate] = {}
        self._requirements: dict[int, Requirements] = {}
        self._number = len(offers)

    def __len__(self) -> int:
        return self._number

    def offer(self, index: int) -> PoolOffer:
        """Return the pool's offer that template `index` was made of."""
        return self._offers[index]

    def requirements(self, index: int) -> Requirements:
        """Return what is known of the labels of any new node of the template's pool, once it is up."""
        known = self._requirements.get(index)
        if known is None:
            offer = self._offers[index]
            # Apart from the template, for many questions need the labels and not the arrays.
            known = self._requirements[index] = offer.pool.template_requirements().with_(IN_THE_END)
        return known

    def table(self, index: int) -> CatalogueTable:
        """Return the catalogue of the template's pool."""
        return table_of(self._offers[index].instance_types)

    def __getitem__(self, index: int) -> NodeTemplate:
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._template(index)
        return known

    def _template(self, index: int) -> NodeTemplate:
        offer = self._offers[index]
        requirements = self.requirements(index)
        table = table_of(offer.instance_types)
        asked = _Asked(offer.pool.taints, requirements, self._daemons, self._axis.names)
        # Kept with the catalogue, from decision to decision: daemons and pools change rarely, and pods all
        # the time.
        made = table.kept(asked, lambda: _template_arrays(asked, table, self._axis))
        # Where a pool comes several times, its templates reach a limit together: each then counts with every
        # limit, however few pods there are.
        several = sum(one.pool.name == offer.pool.name for one in self._offers) > 1
        # A pool may say what its nodes cost beside their price; else the setting counts.
        limited, capacity = _limits(offer, table, inf if several else self._pods)
        return NodeTemplate(
            index=index,
            offer=offer,
            requirements=requirements,
            table=table,
            admitted=made.admitted,
            daemons=made.daemons,
            room=made.room,
            steady_room=made.steady_room,
            usable=made.usable,
            limited=limited,
            capacity=capacity,
            ports=made.ports,
            asides=made.asides,
            overhead_cost=offer.pool.overhead_cost(self._overhead_cost),
        )


def _template_arrays(asked: _Asked, table: CatalogueTable, axis: Axis) -> _TemplateArrays:
    whole = table.room(axis)
    # What the pool requires narrows the catalogue once; what pods require narrows it again for each demand.
    admitted = np.ones(len(whole), dtype=np.bool_)
    for requirement in asked.requirements.values():
        admitted &= table.masks.admitting(requirement)
        if requirement.complement and requirement.chosen is None:
            admitted[:] = False  # No label can have a value that is allowed: a number below 0, say.
    # What daemons take is taken off before any pod comes. It differs by type, for a daemon may select types.
    daemons = read_daemons(asked.daemons, axis)
    load = daemon_load(daemons, asked.taints, asked.requirements, table.masks, whole)
    room = whole - load
    # Negative room in any resource: not even the daemons fit, and no node of this type would ever be ready.
    usable = admitted & holds(room, np.zeros_like(room))
    ports = daemon_ports(daemons, asked.taints, asked.requirements, table.masks, len(room))
    steady_room = table.room(axis, steady=True) - load if table.burstable.any() else room
    return _TemplateArrays(admitted, load, room, steady_room, usable, ports, {})


def _limits(offer: PoolOffer, table: CatalogueTable, pods: float) -> tuple[tuple[str, ...], Floats]:
    """Return which limits a node for each of `pods` might reach, and what each type has of those (T, L)."""
    # What is left, not what the pool says: nodes that are there have used up their part.
    limits = offer.limits_left or NOTHING
    names, capacities = table.capacities
    limited, columns = [], []
    for name in sorted(limits):
        # A limit on a resource that no type has can never be reached.
        column = np.ones(len(capacities)) if name == NODES else np.zeros(len(capacities))
        if name in names:
            column = capacities[:, names.index(name)]
        most = column.max(initial=0.0)
        # A limit that the pods cannot reach, with a largest node for each, is dropped: without limits
        # planning takes simpler and faster paths.
        if (most * pods if most else 0.0) > limits[name]:
            limited.append(name)
            columns.append(column)
    if offer.reservation:
        limited.append(RESERVED)
        columns.append(np.ones(len(capacities)))
    # Reshaped, for without any limit there is no column to tell the shape from.
    capacity = np.array(columns, dtype=np.float64).reshape(len(columns), len(capacities)).T
    return tuple(limited), capacity
