"""Pack pods: the one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from treenail.domain.packing.arrays import Floats
from treenail.domain.packing.chains import Chains
from treenail.domain.packing.classes import PodClass, largest_first
from treenail.domain.packing.compatibility.families import Families
from treenail.domain.packing.daemons import read_daemons
from treenail.domain.packing.drafts import Draft, placed_in
from treenail.domain.packing.lots import Lot
from treenail.domain.packing.node_planner import NodePlanner
from treenail.domain.packing.outcome import Outcome, plan_of
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.reading import read
from treenail.domain.packing.refusals import Refusals
from treenail.domain.packing.room_seats import RoomSeats
from treenail.domain.packing.rooms import Rooms
from treenail.domain.packing.seating import Seating
from treenail.domain.packing.steps import Steps
from treenail.domain.packing.templates import Templates
from treenail.domain.packing.topology.blockers import Blockers
from treenail.domain.packing.topology.choices import Choices
from treenail.domain.packing.topology.scope import Scopes
from treenail.domain.packing.topology.universe import Universe

# So often all are seated at most: each time, fewer choices are left for those that got no node.
_SETTLINGS: Final = 1000
# So often pods that got no node are tried in what the others leave of theirs.
_SQUEEZES: Final = 100


def pack(problem: Problem) -> PackingPlan:
    """Decide where every pod of `problem` goes.

    Depends on nothing but the problem, and not on the order its pods come in. A class of pods on
    which packing fails is set aside with the error's text; the others are packed.
    """
    return _Packer(problem).plan()


class _Packer:
    """One solve: pods are seated class by class, and anew where no node could be planned for them."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._settings = problem.settings
        self._reading = read(problem)
        axis = self._reading.axis
        self._steps = Steps(problem.settings.steps)
        daemons = read_daemons(problem.daemons, axis)
        templates = Templates(problem.offers, daemons, axis, pods=len(problem.pods))
        self._families = Families(templates, problem.settings.min_values)
        self._chains = Chains(self._families)
        self._nodes = NodePlanner(self._families, self._reading, self._settings, self._steps)
        rooms = Rooms(problem.rooms, axis)
        self._outcome = Outcome(self._reading, rooms.names)
        universe = Universe(templates, problem.rooms)
        choices = Choices(self._chains, self._reading.demands, universe)
        scopes = Scopes(self._reading.groups)
        self._seating = Seating(
            RoomSeats(rooms, universe, self._outcome), self._chains, choices, scopes, universe, self._outcome
        )
        self._blockers = Blockers(problem, scopes, choices, self._chains, universe)

    def plan(self) -> PackingPlan:
        in_order = self._in_order()
        self._settle(in_order)
        refusals = Refusals(
            self._problem, self._families.templates, self._nodes.ledger, self._reading.axis, self._blockers
        )
        self._each(in_order, lambda one: self._outcome.refuse(one.index, refusals.of(one)), always=True)
        return plan_of(self._outcome, self._nodes.problems)

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
        return not known and self._outcome.waiting(one.index) > 0

    def _seat(self, in_order: Sequence[PodClass]) -> None:
        """Seat classes over and over, as long as it helps: one may make way for another."""
        while True:
            before = sum(self._outcome.waiting(one.index) for one in in_order)
            self._each(in_order, self._seat_one)
            after = sum(self._outcome.waiting(one.index) for one in in_order if self._waits(one))
            if not after or after == before:
                return

    def _seat_one(self, one: PodClass) -> None:
        self._steps.spend()
        self._seating.seat(one)

    def _in_order(self) -> list[PodClass]:
        """Return the classes, the largest first, but before them those that no new node would hold.

        These go first into the rooms that others could do without. Placeholders come after all others.
        """
        nowhere: set[int] = set()
        largest: list[Floats] = []

        def look(one: PodClass) -> None:
            chain = self._chains.of([(rung.demand,) for rung in one.ladder.rungs], one.requests)
            if chain:
                largest.append(chain[0].family.largest.max(axis=0))
            else:
                nowhere.add(one.index)

        self._each(self._reading.classes, look, always=True)
        axis = self._reading.axis
        most = np.max(largest, axis=0) if largest else np.ones(len(axis.names))
        ordered = largest_first(self._reading.classes, self._settings.order, axis, most)
        return sorted(ordered, key=lambda one: (_placeholder(one), one.index not in nowhere))

    def _settle(self, in_order: Sequence[PodClass]) -> None:
        """Seat all classes and buy nodes for them; seat those anew that get none, while there are seats."""
        place = {one.index: at for at, one in enumerate(in_order)}
        taken_back = False
        # Placeholders wait until all others have found what there is for them.
        going = [one for one in in_order if not _placeholder(one)]
        for _ in range(_SETTLINGS):
            self._seat(going)
            lots = sorted(self._seating.lots, key=lambda lot: min(place[index] for index in lot.classes()))
            drafts = self._nodes.planned(lots)
            short = self._take_back(lots, placed_in(drafts))
            taken_back = taken_back or short
            # Who relied on those must go too.
            unsettled = taken_back and self._seating.unsettle()
            if self._steps.exhausted or (not (short or unsettled) and len(going) == len(in_order)):
                break
            if not (short or unsettled):
                going = list(in_order)
        if any(self._waits(one) for one in in_order):
            drafts, lots = self._squeezed(in_order, drafts)
        by_index = {lot.index: lot for lot in lots}
        self._outcome.buy(drafts, by_index, self._nodes.bound, self._nodes.finishing())
        if self._steps.exhausted:
            waiting = [one.index for one in self._reading.classes if self._outcome.waiting(one.index)]
            self._outcome.deferred.update(waiting)

    def _take_back(self, lots: Iterable[Lot], placed: Mapping[int, int]) -> bool:
        """Take back the seats of units that got no node; tell whether there were any."""
        short = False
        for lot in lots:
            left = lot.units - placed.get(lot.index, 0)
            if left > 0:
                self._seating.take_back(lot, left)
                short = True
        return short

    def _squeezed(self, in_order: Sequence[PodClass], drafts: list[Draft]) -> tuple[list[Draft], list[Lot]]:
        """Put pods that got no node of their own where the others leave room for them."""
        self._seating.squeeze()
        for _ in range(_SQUEEZES):
            tried = False
            for one in in_order:
                self._each((one,), self._seat_one)
                # What came of it is known before others rely on it.
                for lot, units in self._seating.squeezed():
                    tried = True
                    drafts, left = self._nodes.squeeze(drafts, self._seating.lots, lot, units)
                    if left:
                        self._seating.take_back(lot, left)
            if not tried:
                break
        self._take_back(self._seating.lots, placed_in(drafts))
        return drafts, self._seating.lots


def _placeholder(one: PodClass) -> bool:
    """Tell whether these pods only hold room for others: nobody is to wait for them."""
    return one.spec.priority < 0
