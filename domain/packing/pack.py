"""Pack pods: the one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from treenail.domain.packing.chains import Link, chain_of
from treenail.domain.packing.cheapest import Cheapest
from treenail.domain.packing.classes import PodClass, largest_first
from treenail.domain.packing.compatibility.families import Families
from treenail.domain.packing.compatibility.ladder import Rung
from treenail.domain.packing.components import Component, components
from treenail.domain.packing.daemons import read_daemons
from treenail.domain.packing.drafts import Draft, placed_in
from treenail.domain.packing.first_fit import FirstFit
from treenail.domain.packing.limits import Ledger
from treenail.domain.packing.outcome import Outcome, plan_of
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Packing, Problem
from treenail.domain.packing.reading import read
from treenail.domain.packing.refusals import Refusals
from treenail.domain.packing.rooms import Rooms
from treenail.domain.packing.steps import Steps
from treenail.domain.packing.templates import Templates


def pack(problem: Problem) -> PackingPlan:
    """Decide where every pod of `problem` goes.

    Depends on nothing but the problem, and not on the order its pods come in. A class of pods on
    which packing fails is set aside with the error's text; the others are packed.
    """
    return _Packer(problem).plan()


class _Packer:
    """One solve: rooms first, then nodes the classic way, then cheaper ones if there are."""

    def __init__(self, problem: Problem) -> None:
        self._settings = problem.settings
        self._reading = read(problem)
        axis = self._reading.axis
        self._steps = Steps(problem.settings.steps)
        daemons = read_daemons(problem.daemons, axis)
        self._families = Families(Templates(problem.offers, daemons, axis, pods=len(problem.pods)))
        self._ledger = Ledger()
        self._rooms = Rooms(problem.rooms, axis)
        self._chains: dict[int, tuple[Link, ...]] = {}
        self._outcome = Outcome(self._reading, self._rooms.names)

    def plan(self) -> PackingPlan:
        self._each(self._reading.classes, self._find_chain)
        in_order = self._in_order()
        # Pods that no new node would hold go first into the rooms that others could do without.
        self._each(sorted(in_order, key=lambda one: bool(self._chains[one.index])), self._into_rooms)
        self._onto_new_nodes(in_order)
        self._each(in_order, self._into_rooms_at_last, always=True)
        refusals = Refusals(self._families.templates, self._ledger, self._reading.axis)
        self._each(in_order, lambda one: self._outcome.refuse(one.index, refusals.of(one)), always=True)
        return plan_of(self._outcome, self._ledger)

    def _each(
        self, classes: Iterable[PodClass], action: Callable[[PodClass], None], *, always: bool = False
    ) -> None:
        """Do `action` with every class that still has pods to place; set aside those it fails on.

        When the steps are used up, classes are deferred, unless it is to be done `always`.
        """
        for one in tuple(classes):
            if not self._waits(one):
                continue
            if self._steps.exhausted and not always:
                self._outcome.deferred.add(one.index)
                continue
            try:
                action(one)
            except Exception as error:  # noqa: BLE001 (whatever is wrong with one class, the others must go on)
                self._reading.set_aside(one.index, error)

    def _waits(self, one: PodClass) -> bool:
        known = one.index in self._reading.refused or one.index in self._outcome.deferred
        return not known and self._outcome.left[one.index] > 0

    def _find_chain(self, one: PodClass) -> None:
        self._chains[one.index] = chain_of(one, self._families)

    def _in_order(self) -> list[PodClass]:
        known = [one for one in self._reading.classes if one.index in self._chains]
        largest = [link.family.largest.max(axis=0) for chain in self._chains.values() for link in chain[:1]]
        axis = self._reading.axis
        most = np.max(largest, axis=0) if largest else np.ones(len(axis.names))
        return largest_first(known, self._settings.order, axis, most)

    def _into_rooms(self, one: PodClass) -> None:
        """Fill rooms, without giving up a wish that a new node would fulfil."""
        chain = self._chains[one.index]
        rungs = one.ladder.rungs
        self._fill_rooms(one, rungs[: chain[0].rung + 1] if chain else rungs)

    def _into_rooms_at_last(self, one: PodClass) -> None:
        """Fill rooms with those that the limits kept off new nodes, whatever they wished."""
        self._fill_rooms(one, one.ladder.rungs)

    def _fill_rooms(self, one: PodClass, rungs: Iterable[Rung]) -> None:
        self._steps.spend()
        for rung in rungs:
            left = self._outcome.left[one.index]
            if left:
                self._outcome.nominate(one.index, self._rooms.fill(rung, one.requests, left))

    def _onto_new_nodes(self, in_order: Sequence[PodClass]) -> None:
        drafts = self._first_fit([one for one in in_order if self._chains[one.index]])
        tried = [one for one in in_order if self._chains[one.index] and self._waits(one)]
        for component in components(tried, [self._chains[one.index] for one in tried], self._families):
            members = {one.index for one in component.classes}
            self._buy(component, [draft for draft in drafts if not members.isdisjoint(draft.parts)])

    def _first_fit(self, classes: Sequence[PodClass]) -> list[Draft]:
        """Return first-fit's nodes for all classes but those it fails on: these leave no trace in it."""
        columns = len(self._reading.axis.names)
        while True:
            aside = len(self._reading.refused)
            self._ledger = Ledger()
            first_fit = FirstFit(self._families, self._ledger, self._steps, columns)
            self._each(classes, lambda one: first_fit.place(one, self._outcome.left[one.index]))  # noqa: B023
            if len(self._reading.refused) == aside:
                return first_fit.drafts()

    def _buy(self, component: Component, drafts: list[Draft]) -> None:
        """Take first-fit's nodes for the classes of a component, or cheaper ones."""
        bound = component.lower_bound(placed_in(drafts))
        if self._settings.packing is Packing.CHEAPEST:
            wanted = [self._outcome.left[one.index] for one in component.classes]
            first = drafts
            drafts = Cheapest(component, self._families, self._ledger, self._steps).improve(
                wanted, first, bound
            )
            if drafts is not first:
                bound = component.lower_bound(placed_in(drafts))
        self._outcome.buy(drafts, bound)
