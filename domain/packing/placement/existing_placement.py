"""Seat pods in rooms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, Indices
from treenail.domain.packing.arrays.dealing import first_of
from treenail.domain.packing.existing.existing_nodes import ExistingNodes
from treenail.domain.packing.planned.outcome import Outcome
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.topology.constraints import TopologyConstraints
from treenail.domain.packing.topology.restrictions import Restriction
from treenail.domain.packing.topology.universe import Universe


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """The rooms in one domain of each key, and how many pods each of them can take."""

    domains: Mapping[str, str]
    rows: Indices
    fits: Floats


@dataclass(slots=True, eq=False)
class NodePods:
    """Pods of a class in a room (by row) that rely on where others are; the `number`-th to be seated."""

    one: PodClass
    constraints: TopologyConstraints
    row: int
    pods: int
    number: int


class ExistingPlacement:
    """Puts pods of a class into the first rooms that hold them, as far as topologies let it.

    `numbers` count all who are seated, in rooms or not. `guests` are those that rely on others.
    """

    def __init__(self, existing_nodes: ExistingNodes, universe: Universe, outcome: Outcome) -> None:
        self.numbers = count(1)
        self.guests: list[NodePods] = []
        self._existing_nodes = existing_nodes
        self._universe = universe
        self._outcome = outcome

    def placement(
        self,
        one: PodClass,
        level: RelaxationLevel,
        constraints: TopologyConstraints,
        pods: int,
        bought_in: Collection[Mapping[str, str]] = (),
    ) -> int:
        """Put up to `pods` pods into rooms; return how many found a place.

        `bought_in` are domains in which those that gather, and find no room there, will have new nodes.
        """
        rows = self._existing_nodes.open_to(level.demand)
        if not len(rows):
            return 0
        fits = self.fits(one, constraints, rows)
        if not constraints.by_domain:
            return self.fill(one, constraints, rows, first_of(fits, pods))
        able = fits > 0
        cells = self._cells(constraints, rows[able], fits[able]) if np.logical_or.reduce(able) else []
        spread = constraints.sole_spread
        if spread is not None:
            return self._spread(one, constraints, spread, cells, pods)
        return self._one_by_one(one, constraints, cells, pods, bought_in)

    def first(self, one: PodClass, level: RelaxationLevel, constraints: TopologyConstraints) -> bool:
        """Put one pod into the first room that takes it as things stand; return whether there is one."""
        rows = self._existing_nodes.open_to(level.demand)
        if not len(rows):
            return False
        fits = self.fits(one, constraints, rows)
        if not constraints.may_begin:
            for restriction in constraints.together:
                fits = np.where(restriction.group.on_existing_nodes[rows] > 0, fits, 0.0)
        for at in fits.nonzero()[0].tolist():
            if constraints.quota(self._existing_nodes.labels(int(rows[at])), self._universe) >= 1:
                return bool(self.fill(one, constraints, rows[at : at + 1], np.ones(1)))
        return False

    def any_left(self, one: PodClass, level: RelaxationLevel, constraints: TopologyConstraints) -> bool:
        """Return whether some room could take a pod, domains left aside."""
        rows = self._existing_nodes.open_to(level.demand)
        return bool(len(rows)) and bool(np.logical_or.reduce(self.fits(one, constraints, rows)))

    def fits(self, one: PodClass, constraints: TopologyConstraints, rows: Indices) -> Floats:
        """Return how many pods of the class each of `rows` can take, terms per node counted."""
        fits = self._existing_nodes.fits(rows, one.requests, one.kind.volumes)
        if constraints.by_node:
            fits = np.minimum(fits, constraints.most_on(rows))
        return fits

    def together(
        self,
        one: PodClass,
        level: RelaxationLevel,
        constraints: TopologyConstraints,
        pods: int,
        *,
        begin: bool,
    ) -> int:
        """Put pods into the rooms where those are that they must be with; return how many found a place.

        Where there are none they may `begin` in the room that holds the most of them.
        """
        rows = self._existing_nodes.open_to(level.demand)
        if not len(rows):
            return 0
        fits = self.fits(one, constraints, rows)
        if begin:
            best = int(np.minimum(self._let_in(constraints, rows, fits), pods).argmax())
            fits = np.where(np.arange(len(rows)) == best, fits, 0.0)
        else:
            for restriction in constraints.together:
                fits = np.where(restriction.group.on_existing_nodes[rows] > 0, fits, 0.0)
        placed = 0
        for at in fits.nonzero()[0].tolist():
            quota = min(
                constraints.quota(self._existing_nodes.labels(int(rows[at])), self._universe), pods - placed
            )
            placed += self.fill(one, constraints, rows[at : at + 1], np.minimum(fits[at : at + 1], quota))
        return placed

    def most_in_one(
        self, one: PodClass, level: RelaxationLevel, constraints: TopologyConstraints, pods: int
    ) -> int:
        """Return how many of `pods` pods the roomiest room could take."""
        rows = self._existing_nodes.open_to(level.demand)
        if not len(rows):
            return 0
        return int(np.minimum(self._let_in(constraints, rows, self.fits(one, constraints, rows)), pods).max())

    def fill(self, one: PodClass, constraints: TopologyConstraints, rows: Indices, dealt: Floats) -> int:
        """Put so many pods (`dealt`, by row) into `rows`; return how many that are."""
        filled = dealt.nonzero()[0]
        rows, dealt = rows[filled], dealt[filled]
        if len(filled):
            self._existing_nodes.take(rows, dealt, one.requests, one.kind.volumes)
            taken = {int(row): int(pods) for row, pods in zip(rows, dealt, strict=True)}
            self._outcome.nominate(one.index, taken, constraints.given_up)
            if constraints.counted or constraints.apart:
                for row, pods in taken.items():
                    constraints.note_room(row, self._existing_nodes.labels(row), pods)
            if constraints.relies:
                self.guests += [
                    NodePods(one, constraints, row, pods, next(self.numbers)) for row, pods in taken.items()
                ]
        return int(dealt.sum())

    def count(self, guests: NodePods, pods: int) -> None:
        """Count so many more of the guests where they are; fewer, where negative."""
        guests.constraints.note_room(guests.row, self._existing_nodes.labels(guests.row), pods)

    def may_stay(self, guests: NodePods) -> float:
        """Return how many of the guests those they rely on let in, of whom they are counted none."""
        constraints = guests.constraints
        if (
            any(not r.group.on_existing_nodes[guests.row] for r in constraints.together)
            and not constraints.may_begin
        ):
            return 0.0
        return constraints.quota(self._existing_nodes.labels(guests.row), self._universe)

    def vacate(self, guests: NodePods, pods: int) -> None:
        """Take pods out of their room, where they count no longer: they are to be seated anew."""
        guests.pods -= pods
        if not guests.pods:
            self.guests.remove(guests)
        one, rows = guests.one, np.array([guests.row], dtype=np.intp)
        self._existing_nodes.take(rows, np.array([-float(pods)]), one.requests, one.kind.volumes)
        self._outcome.nominate(one.index, {guests.row: -pods}, guests.constraints.given_up)

    def _let_in(self, constraints: TopologyConstraints, rows: Indices, fits: Floats) -> Floats:
        """Return how many of the pods that fit each of `rows` the terms by domain let in."""
        if not constraints.by_domain:
            return fits
        quotas = [
            constraints.quota(self._existing_nodes.labels(int(row)), self._universe) if able else 0.0
            for row, able in zip(rows, fits, strict=True)
        ]
        return np.minimum(fits, quotas)

    def _cells(self, constraints: TopologyConstraints, rows: Indices, fits: Floats) -> list[_Cell]:
        """Part rooms by their domains, less those that lack one. In the order of their first rooms.

        Where pods are only kept apart, rooms without a domain will do.
        """
        by_codes: dict[tuple[int, ...], list[int]] = {}
        columns = [self._existing_nodes.values(r.group.term.key) for r in constraints.by_domain]
        codes = np.array([codes[rows] for _, codes in columns]).T
        for at, row in enumerate(codes.tolist()):
            by_codes.setdefault(tuple(row), []).append(at)
        cells = []
        for key, members in by_codes.items():
            values = [values[code] for (values, _), code in zip(columns, key, strict=True)]
            known = dict(zip((r.group.term.key for r in constraints.by_domain), values, strict=True))
            domains = {name: value for name, value in known.items() if value is not None}
            if all(name in domains or name in constraints.apart_keys for name in known):
                cells.append(_Cell(domains, rows[members], fits[members]))
        return cells

    def _spread(
        self,
        one: PodClass,
        constraints: TopologyConstraints,
        spread: Restriction,
        cells: list[_Cell],
        pods: int,
    ) -> int:
        """Spread pods over the domains that rooms have, as evenly as rooms can."""
        if not cells:
            return 0
        domains = [cell.domains[spread.group.term.key] for cell in cells]
        fits = np.minimum(np.array([cell.fits.sum() for cell in cells]), pods)
        dealt = spread.dealt(domains, fits, pods, self._universe, constraints.strict)
        return sum(
            self.fill(one, constraints, cell.rows, first_of(cell.fits, most))
            for cell, most in zip(cells, dealt, strict=True)
            if most
        )

    def _one_by_one(
        self,
        one: PodClass,
        constraints: TopologyConstraints,
        cells: list[_Cell],
        pods: int,
        bought_in: Collection[Mapping[str, str]],
    ) -> int:
        """Put pods into the least crowded cell, as many as may go there before it is asked again.

        Those that gather begin where there is a place for the most of them.
        """
        placed = 0
        several = bool(constraints.spreads)
        while placed < pods:
            left = pods - placed
            open_to = [
                (
                    constraints.crowding(cell.domains),
                    -_reach(cell, left, bought_in) if constraints.gathers else 0.0,
                    int(cell.rows[0]),
                    at,
                )
                for at, cell in enumerate(cells)
                if cell.fits.any() and constraints.quota(cell.domains, self._universe)
            ]
            if not open_to:
                break
            cell = cells[min(open_to)[-1]]
            quota = min(constraints.quota(cell.domains, self._universe), left, 1 if several else pods)
            dealt = first_of(cell.fits, quota)
            cell.fits[:] -= dealt
            placed += self.fill(one, constraints, cell.rows, dealt)
        return placed


def _reach(cell: _Cell, pods: int, bought_in: Collection[Mapping[str, str]]) -> float:
    """Return for how many of `pods` pods there is a place in the domain of a cell."""
    if any(cell.domains.items() <= domains.items() for domains in bought_in):
        return pods
    return min(float(cell.fits.sum()), pods)
