"""Placement on existing nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, Indices
from treenail.domain.packing.arrays.dealing import first_of
from treenail.domain.packing.existing.existing_nodes import ExistingNodes
from treenail.domain.packing.planned.outcome import Outcome
from treenail.domain.packing.topology.class_constraints import RelaxedClass, TopologyConstraints
from treenail.domain.packing.topology.spread_and_affinity_quotas import Restriction
from treenail.domain.packing.topology.universe import Universe

# Up to so many parts, a look at all places for each of them is quicker than sorting.
_FEW_PARTS: Final = 16
# So many nodes are looked at first where the first that fit are taken: mostly these are enough.
_LOOKED_AT_FIRST: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """The existing nodes (rows) in one domain of each key, and how many pods each of them can take."""

    domains: Mapping[str, str]
    rows: Indices
    fits: Floats


@dataclass(slots=True, eq=False)
class NodePods:
    """Pods of a class on an existing node (by row) that rely on where others are.

    `number` is their place in the order in which pods were placed.
    """

    relaxed: RelaxedClass
    row: int
    pods: int
    number: int


class ExistingPlacement:
    """Places pods of a class on the first existing nodes that hold them and that topology terms allow.

    `numbers` numbers all placements in their order, those on new nodes too. `relying` are the pods on
    existing nodes that rely on where others are: they may have to leave again.
    """

    def __init__(self, existing_nodes: ExistingNodes, universe: Universe, outcome: Outcome) -> None:
        self.numbers = count(1)
        self.relying: list[NodePods] = []
        self._existing_nodes = existing_nodes
        self._universe = universe
        self._outcome = outcome

    def placement(
        self,
        relaxed: RelaxedClass,
        pods: int,
        bought_in: Collection[Mapping[str, str]] = (),
    ) -> int:
        """Place up to `pods` pods on existing nodes; return how many found a place.

        `bought_in` are the domains in which pods that gather can have all the new nodes they need.
        """
        constraints = relaxed.constraints
        rows = self._existing_nodes.open_to(relaxed.level.demand)
        if not len(rows):
            return 0
        # No domain matters: the first nodes in Karpenter's order are filled, as its first fit would pod by
        # pod.
        if not constraints.by_domain:
            return self._fill_first(relaxed, rows, pods)
        # Which nodes suit is known per demand, how many pods fit per array of requests: both are remembered,
        # so that a class tried again costs O(N) array operations and no look at labels.
        fits = self.fits(relaxed, rows)
        # Full nodes are left out before domains are looked at: in a large cluster they may be most of them.
        able = fits > 0
        cells = self._cells(constraints, rows[able], fits[able]) if np.logical_or.reduce(able) else []
        # With one spread alone, all pods are dealt at once. Anything else goes by turns, for each pod may
        # change what is open to the next.
        spread = constraints.sole_spread
        if spread is not None:
            return self._spread(relaxed, spread, cells, pods)
        return self._one_by_one(relaxed, cells, pods, bought_in)

    def _fill_first(self, relaxed: RelaxedClass, rows: Indices, pods: int) -> int:
        """Place up to `pods` pods on the first of `rows` that take them; return how many found a place."""
        if len(rows) > 2 * _LOOKED_AT_FIRST:
            some = rows[:_LOOKED_AT_FIRST]
            dealt = first_of(self.fits(relaxed, some), pods)
            if dealt.sum() >= pods:
                return self.fill(relaxed, some, dealt)
        return self.fill(relaxed, rows, first_of(self.fits(relaxed, rows), pods))

    def first(self, relaxed: RelaxedClass) -> bool:
        """Place one pod on the first existing node that takes it now; return whether there is one."""
        constraints = relaxed.constraints
        rows = self._existing_nodes.open_to(relaxed.level.demand)
        if not len(rows):
            return False
        fits = self.fits(relaxed, rows)
        if not constraints.may_begin:
            for restriction in constraints.together:
                fits = np.where(restriction.group.on_existing_nodes[rows] > 0, fits, 0.0)
        # The first node whose domain lets a pod in, not the emptiest domain: one by one, Karpenter takes the
        # first existing node that accepts, and this attempt is to place whoever Karpenter does.
        for at in fits.nonzero()[0].tolist():
            if constraints.quota(self._existing_nodes.labels(int(rows[at])), self._universe) >= 1:
                return bool(self.fill(relaxed, rows[at : at + 1], np.ones(1)))
        return False

    def any_left(self, relaxed: RelaxedClass) -> bool:
        """Return whether some existing node could take a pod if its domain did not matter."""
        rows = self._existing_nodes.open_to(relaxed.level.demand)
        return bool(len(rows)) and bool(np.logical_or.reduce(self.fits(relaxed, rows)))

    def fits(self, relaxed: RelaxedClass, rows: Indices) -> Floats:
        """Return how many pods of the class each of `rows` (M) can take (M), terms per node included."""
        one, _, constraints = relaxed
        fits = self._existing_nodes.fits(rows, one.requests, one.kind.volumes)
        # What is free stays untouched by pods that only count: a host port or a spread per node may bar a
        # node that is almost empty.
        if constraints.by_node:
            fits = np.minimum(fits, constraints.most_on(rows))
        return fits

    def together(self, relaxed: RelaxedClass, pods: int, *, begin: bool) -> int:
        """Place pods on the nodes of those they must share a node with; return how many found a place.

        With `begin`, none of these are placed: then all go to the one node that holds the most of them.
        """
        constraints = relaxed.constraints
        rows = self._existing_nodes.open_to(relaxed.level.demand)
        if not len(rows):
            return 0
        fits = self.fits(relaxed, rows)
        if begin:
            # All in one node, or they would not be together. Of nodes that hold as many, `argmax` takes the
            # first, which is the one Karpenter would look at first.
            best = int(np.minimum(self._let_in(constraints, rows, fits), pods).argmax())
            fits = np.where(np.arange(len(rows)) == best, fits, 0.0)
        else:
            for restriction in constraints.together:
                fits = np.where(restriction.group.on_existing_nodes[rows] > 0, fits, 0.0)
        placed = 0
        for at in fits.nonzero()[0].tolist():
            # The quota is computed for each node again: the pods that were just placed may have used up the
            # domain.
            quota = min(
                constraints.quota(self._existing_nodes.labels(int(rows[at])), self._universe), pods - placed
            )
            placed += self.fill(relaxed, rows[at : at + 1], np.minimum(fits[at : at + 1], quota))
        return placed

    def most_in_one(self, relaxed: RelaxedClass, pods: int) -> int:
        """Return how many of `pods` pods the existing node with the most room for them could take."""
        rows = self._existing_nodes.open_to(relaxed.level.demand)
        if not len(rows):
            return 0
        fits = self._let_in(relaxed.constraints, rows, self.fits(relaxed, rows))
        return int(np.minimum(fits, pods).max())

    def fill(self, relaxed: RelaxedClass, rows: Indices, dealt: Floats) -> int:
        """Place `dealt` (M) pods on each of `rows` (M); return their sum."""
        one, _, constraints = relaxed
        filled = dealt.nonzero()[0]
        rows, dealt = rows[filled], dealt[filled]
        if len(filled):
            self._existing_nodes.take(rows, dealt, one.requests, one.kind.volumes)
            taken = {int(row): int(pods) for row, pods in zip(rows, dealt, strict=True)}
            self._outcome.nominate(one.index, taken, constraints.given_up)
            # For pods that no term counts this is all there is to do.
            if constraints.counted or constraints.apart:
                for row, pods in taken.items():
                    constraints.note_existing_node(row, self._existing_nodes.labels(row), pods)
            # If those they rely on get no new node after all, these must be found again: see
            # `Placer.undo_dependants`.
            if constraints.relies:
                self.relying += [
                    NodePods(relaxed, row, pods, next(self.numbers)) for row, pods in taken.items()
                ]
        return int(dealt.sum())

    def count(self, some: NodePods, pods: int) -> None:
        """Count so many more of these pods in the groups of their node; fewer where negative."""
        labels = self._existing_nodes.labels(some.row)
        some.relaxed.constraints.note_existing_node(some.row, labels, pods)

    def may_stay(self, some: NodePods) -> float:
        """Return how many of these pods may stay where they are. They are not counted themselves."""
        constraints = some.relaxed.constraints
        # Who they had to be with is gone from the node, and they may not begin by themselves.
        left = any(not r.group.on_existing_nodes[some.row] for r in constraints.together)
        if left and not constraints.may_begin:
            return 0.0
        return constraints.quota(self._existing_nodes.labels(some.row), self._universe)

    def vacate(self, some: NodePods, pods: int) -> None:
        """Take pods off their node, where they are not counted any more: they are to be placed anew."""
        some.pods -= pods
        if not some.pods:
            self.relying.remove(some)
        (one, _, constraints), rows = some.relaxed, np.array([some.row], dtype=np.intp)
        # A negative count gives the node its resources back. Their groups were corrected by the caller, who
        # counts all pods that rely on others anew.
        self._existing_nodes.take(rows, np.array([-float(pods)]), one.requests, one.kind.volumes)
        self._outcome.nominate(one.index, {some.row: -pods}, constraints.given_up)

    def _let_in(self, constraints: TopologyConstraints, rows: Indices, fits: Floats) -> Floats:
        """Return, of the pods that fit each of `rows`, how many the terms by domain let in."""
        if not constraints.by_domain:
            return fits
        quotas = [
            constraints.quota(self._existing_nodes.labels(int(row)), self._universe) if able else 0.0
            for row, able in zip(rows, fits, strict=True)
        ]
        return np.minimum(fits, quotas)

    def _cells(self, constraints: TopologyConstraints, rows: Indices, fits: Floats) -> list[_Cell]:
        """Part existing nodes by their domains, in the order of the first node of each part.

        Nodes that lack a label are left out, unless only anti-affinity looks at it.
        """
        keys = tuple(r.group.term.key for r in constraints.by_domain)
        numbers, many = self._existing_nodes.parts(keys)
        cells = []
        for members in _parted(numbers[rows], many):
            of = self._existing_nodes.labels(int(rows[members[0]]))
            known = {key: of.get(key) for key in keys}
            domains = {key: value for key, value in known.items() if value is not None}
            # A spread or an affinity cannot hold on a node without the label: the scheduler refuses such
            # nodes.
            if all(name in domains or name in constraints.asked.apart_keys for name in known):
                cells.append(_Cell(domains, rows[members], fits[members]))
        return cells

    def _spread(self, relaxed: RelaxedClass, spread: Restriction, cells: list[_Cell], pods: int) -> int:
        """Spread pods over the domains of existing nodes, as evenly as what is free allows."""
        if not cells:
            return 0
        domains = [cell.domains[spread.group.term.key] for cell in cells]
        # Pods that request nothing fit infinitely often: the sum is cut down so that dealing ends.
        fits = np.minimum(np.array([cell.fits.sum() for cell in cells]), pods)
        dealt = spread.dealt(domains, fits, pods, self._universe, relaxed.constraints.strict)
        return sum(
            self.fill(relaxed, cell.rows, first_of(cell.fits, most))
            for cell, most in zip(cells, dealt, strict=True)
            if most
        )

    def _one_by_one(
        self,
        relaxed: RelaxedClass,
        cells: list[_Cell],
        pods: int,
        bought_in: Collection[Mapping[str, str]],
    ) -> int:
        """Place pods in the least crowded domains, as many at a time as the quota allows.

        Pods that gather begin in the domain that has a place for the most of them.
        """
        placed, constraints = 0, relaxed.constraints
        # Beside another term a spread must be dealt pod by pod: after each, another domain may be the least
        # crowded.
        several = bool(constraints.spreads)
        while placed < pods:
            left = pods - placed
            open_to = [
                (
                    constraints.crowding(cell.domains),
                    # The first pod decides for all: begun in a small domain, the rest would find no place.
                    -_reach(cell, left, bought_in) if constraints.gathers else 0.0,
                    # Equal ones go by their first node, which is Karpenter's order; the number only tells
                    # them apart.
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
            placed += self.fill(relaxed, cell.rows, dealt)
        return placed


def _parted(numbers: Indices, many: int) -> list[Indices]:
    """Part places by their numbers, each below `many`, in the order of the first place of each part."""
    if many <= _FEW_PARTS:
        found = [part for number in range(many) if len(part := (numbers == number).nonzero()[0])]
    else:
        _, number, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        found = np.split(number.argsort(kind="stable"), np.cumsum(counts)[:-1])
    return sorted(found, key=lambda part: int(part[0]))


def _reach(cell: _Cell, pods: int, bought_in: Collection[Mapping[str, str]]) -> float:
    """Return for how many of `pods` pods there is a place in the domain of a cell, new nodes counted."""
    if any(cell.domains.items() <= domains.items() for domains in bought_in):
        return pods
    return min(float(cell.fits.sum()), pods)
