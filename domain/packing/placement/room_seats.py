"""Seat pods in rooms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, Indices
from treenail.domain.packing.arrays.dealing import first_of
from treenail.domain.packing.draft.outcome import Outcome
from treenail.domain.packing.existing.rooms import Rooms
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.ladder import Rung
from treenail.domain.packing.topology.restrictions import Restriction
from treenail.domain.packing.topology.scope import Scope
from treenail.domain.packing.topology.universe import Universe


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """The rooms in one domain of each key, and how many pods each of them can take."""

    domains: Mapping[str, str]
    rows: Indices
    fits: Floats


@dataclass(slots=True, eq=False)
class Guests:
    """Pods of a class in a room (by row) that rely on where others are; the `number`-th to be seated."""

    one: PodClass
    scope: Scope
    row: int
    pods: int
    number: int


class RoomSeats:
    """Puts pods of a class into the first rooms that hold them, as far as topologies let it.

    `numbers` count all who are seated, in rooms or not. `guests` are those that rely on others.
    """

    def __init__(self, rooms: Rooms, universe: Universe, outcome: Outcome) -> None:
        self.numbers = count(1)
        self.guests: list[Guests] = []
        self._rooms = rooms
        self._universe = universe
        self._outcome = outcome

    def seat(
        self,
        one: PodClass,
        rung: Rung,
        scope: Scope,
        pods: int,
        bought_in: Collection[Mapping[str, str]] = (),
    ) -> int:
        """Put up to `pods` pods into rooms; return how many found a place.

        `bought_in` are domains in which those that gather, and find no room there, will have new nodes.
        """
        rows = self._rooms.open_to(rung.demand)
        if not len(rows):
            return 0
        fits = self.fits(one, scope, rows)
        if not scope.by_domain:
            return self.fill(one, scope, rows, first_of(fits, pods))
        able = fits > 0
        cells = self._cells(scope, rows[able], fits[able]) if np.logical_or.reduce(able) else []
        spread = scope.sole_spread
        if spread is not None:
            return self._spread(one, scope, spread, cells, pods)
        return self._one_by_one(one, scope, cells, pods, bought_in)

    def first(self, one: PodClass, rung: Rung, scope: Scope) -> bool:
        """Put one pod into the first room that takes it as things stand; tell whether there is one."""
        rows = self._rooms.open_to(rung.demand)
        if not len(rows):
            return False
        fits = self.fits(one, scope, rows)
        if not scope.may_begin:
            for restriction in scope.together:
                fits = np.where(restriction.group.on_rooms[rows] > 0, fits, 0.0)
        for at in fits.nonzero()[0].tolist():
            if scope.quota(self._rooms.labels(int(rows[at])), self._universe) >= 1:
                return bool(self.fill(one, scope, rows[at : at + 1], np.ones(1)))
        return False

    def any_left(self, one: PodClass, rung: Rung, scope: Scope) -> bool:
        """Tell whether some room could take a pod, domains left aside."""
        rows = self._rooms.open_to(rung.demand)
        return bool(len(rows)) and bool(np.logical_or.reduce(self.fits(one, scope, rows)))

    def fits(self, one: PodClass, scope: Scope, rows: Indices) -> Floats:
        """Return how many pods of the class each of `rows` can take, terms per node counted."""
        fits = self._rooms.fits(rows, one.requests, one.kind.volumes)
        if scope.by_node:
            fits = np.minimum(fits, scope.most_on(rows))
        return fits

    def together(self, one: PodClass, rung: Rung, scope: Scope, pods: int, *, begin: bool) -> int:
        """Put pods into the rooms where those are that they must be with; return how many found a place.

        Where there are none they may `begin` in the room that holds the most of them.
        """
        rows = self._rooms.open_to(rung.demand)
        if not len(rows):
            return 0
        fits = self.fits(one, scope, rows)
        if begin:
            best = int(np.minimum(self._let_in(scope, rows, fits), pods).argmax())
            fits = np.where(np.arange(len(rows)) == best, fits, 0.0)
        else:
            for restriction in scope.together:
                fits = np.where(restriction.group.on_rooms[rows] > 0, fits, 0.0)
        placed = 0
        for at in fits.nonzero()[0].tolist():
            quota = min(scope.quota(self._rooms.labels(int(rows[at])), self._universe), pods - placed)
            placed += self.fill(one, scope, rows[at : at + 1], np.minimum(fits[at : at + 1], quota))
        return placed

    def most_in_one(self, one: PodClass, rung: Rung, scope: Scope, pods: int) -> int:
        """Return how many of `pods` pods the roomiest room could take."""
        rows = self._rooms.open_to(rung.demand)
        if not len(rows):
            return 0
        return int(np.minimum(self._let_in(scope, rows, self.fits(one, scope, rows)), pods).max())

    def fill(self, one: PodClass, scope: Scope, rows: Indices, dealt: Floats) -> int:
        """Put so many pods (`dealt`, by row) into `rows`; return how many that are."""
        filled = dealt.nonzero()[0]
        rows, dealt = rows[filled], dealt[filled]
        if len(filled):
            self._rooms.take(rows, dealt, one.requests, one.kind.volumes)
            taken = {int(row): int(pods) for row, pods in zip(rows, dealt, strict=True)}
            self._outcome.nominate(one.index, taken, scope.given_up)
            if scope.counted or scope.apart:
                for row, pods in taken.items():
                    scope.note_room(row, self._rooms.labels(row), pods)
            if scope.relies:
                self.guests += [
                    Guests(one, scope, row, pods, next(self.numbers)) for row, pods in taken.items()
                ]
        return int(dealt.sum())

    def count(self, guests: Guests, pods: int) -> None:
        """Count so many more of the guests where they are; fewer, where negative."""
        guests.scope.note_room(guests.row, self._rooms.labels(guests.row), pods)

    def may_stay(self, guests: Guests) -> float:
        """Return how many of the guests those they rely on let in, of whom they are counted none."""
        scope = guests.scope
        if any(not r.group.on_rooms[guests.row] for r in scope.together) and not scope.may_begin:
            return 0.0
        return scope.quota(self._rooms.labels(guests.row), self._universe)

    def vacate(self, guests: Guests, pods: int) -> None:
        """Take pods out of their room, where they count no longer: they are to be seated anew."""
        guests.pods -= pods
        if not guests.pods:
            self.guests.remove(guests)
        one, rows = guests.one, np.array([guests.row], dtype=np.intp)
        self._rooms.take(rows, np.array([-float(pods)]), one.requests, one.kind.volumes)
        self._outcome.nominate(one.index, {guests.row: -pods}, guests.scope.given_up)

    def _let_in(self, scope: Scope, rows: Indices, fits: Floats) -> Floats:
        """Return how many of the pods that fit each of `rows` the terms by domain let in."""
        if not scope.by_domain:
            return fits
        quotas = [
            scope.quota(self._rooms.labels(int(row)), self._universe) if able else 0.0
            for row, able in zip(rows, fits, strict=True)
        ]
        return np.minimum(fits, quotas)

    def _cells(self, scope: Scope, rows: Indices, fits: Floats) -> list[_Cell]:
        """Part rooms by their domains, less those that lack one. In the order of their first rooms.

        Where pods are only kept apart, rooms without a domain will do.
        """
        by_codes: dict[tuple[int, ...], list[int]] = {}
        columns = [self._rooms.values(r.group.term.key) for r in scope.by_domain]
        codes = np.array([codes[rows] for _, codes in columns]).T
        for at, row in enumerate(codes.tolist()):
            by_codes.setdefault(tuple(row), []).append(at)
        cells = []
        for key, members in by_codes.items():
            values = [values[code] for (values, _), code in zip(columns, key, strict=True)]
            known = dict(zip((r.group.term.key for r in scope.by_domain), values, strict=True))
            domains = {name: value for name, value in known.items() if value is not None}
            if all(name in domains or name in scope.apart_keys for name in known):
                cells.append(_Cell(domains, rows[members], fits[members]))
        return cells

    def _spread(self, one: PodClass, scope: Scope, spread: Restriction, cells: list[_Cell], pods: int) -> int:
        """Spread pods over the domains that rooms have, as evenly as rooms can."""
        if not cells:
            return 0
        domains = [cell.domains[spread.group.term.key] for cell in cells]
        fits = np.minimum(np.array([cell.fits.sum() for cell in cells]), pods)
        dealt = spread.dealt(domains, fits, pods, self._universe, scope.strict)
        return sum(
            self.fill(one, scope, cell.rows, first_of(cell.fits, most))
            for cell, most in zip(cells, dealt, strict=True)
            if most
        )

    def _one_by_one(
        self,
        one: PodClass,
        scope: Scope,
        cells: list[_Cell],
        pods: int,
        bought_in: Collection[Mapping[str, str]],
    ) -> int:
        """Put pods into the least crowded cell, as many as may go there before it is asked again.

        Those that gather begin where there is a place for the most of them.
        """
        placed = 0
        several = bool(scope.spreads)
        while placed < pods:
            left = pods - placed
            open_to = [
                (
                    scope.crowding(cell.domains),
                    -_reach(cell, left, bought_in) if scope.gathers else 0.0,
                    int(cell.rows[0]),
                    at,
                )
                for at, cell in enumerate(cells)
                if cell.fits.any() and scope.quota(cell.domains, self._universe)
            ]
            if not open_to:
                break
            cell = cells[min(open_to)[-1]]
            quota = min(scope.quota(cell.domains, self._universe), left, 1 if several else pods)
            dealt = first_of(cell.fits, quota)
            cell.fits[:] -= dealt
            placed += self.fill(one, scope, cell.rows, dealt)
        return placed


def _reach(cell: _Cell, pods: int, bought_in: Collection[Mapping[str, str]]) -> float:
    """Return for how many of `pods` pods there is a place in the domain of a cell."""
    if any(cell.domains.items() <= domains.items() for domains in bought_in):
        return pods
    return min(float(cell.fits.sum()), pods)
