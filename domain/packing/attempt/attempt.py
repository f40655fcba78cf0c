"""One attempt at a plan, from nothing placed to every pod's place or the reasons it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.attempt.comparison import places_others, places_the_same
from treenail.domain.packing.draft.drafts import Draft, cost_of, placed_in
from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.draft.outcome import Outcome, plan_of
from treenail.domain.packing.ground import Ground
from treenail.domain.packing.nodes.node_planner import NodePlanner
from treenail.domain.packing.offers.chains import Link
from treenail.domain.packing.one_by_one.one_by_one import OneByOne
from treenail.domain.packing.placement.room_seats import RoomSeats
from treenail.domain.packing.placement.seating import Seating
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.pods.classes import PodClass, largest_first
from treenail.domain.packing.refusals.refusals import Refusals

# So often all are seated at most: each time, fewer choices are left for those that got no node.
_SETTLINGS: Final = 1000
# So often pods that got no node are tried in what the others leave of theirs.
_SQUEEZES: Final = 100


class Attempt:
    """Places the pods of a problem; only the last one begun on a ground counts on."""

    def __init__(self, ground: Ground) -> None:
        ground.clear()
        self._ground = ground
        self._reading = ground.reading
        self._steps = ground.steps
        self._nodes = NodePlanner(ground.families, ground.reading, ground.problem.settings, ground.steps)
        self._rooms = ground.rooms
        self.outcome = Outcome(ground.reading, self._rooms.names)
        self._seats = RoomSeats(self._rooms, ground.universe, self.outcome)
        # The classes, by number, that nothing holds, whoever else is placed.
        self._hopeless: set[int] = set()
        # For what nodes were looked for, and what they cost ($/h).
        self._wanted: Mapping[object, int] = {}
        self._cost = 0.0
        self._seating = Seating(
            self._seats, ground.chains, ground.choices, ground.scopes, ground.universe, self.outcome
        )

    def plan(self) -> PackingPlan:
        """Seat class after class, and plan nodes for all who have none."""
        in_order = self._in_order()
        self._settle(in_order)
        return self._written(in_order)

    def plan_one_by_one(self, before: Attempt, worth: float) -> PackingPlan | None:
        """Place pod after pod, as Karpenter does, and look for cheaper nodes for the same pods.

        None where that leaves more, or comes to what there was `before`: the same pods have a place, and
        nodes, which are no cheaper as they are, would be looked for that were looked for then. Or where those
        found for the same pods do not cost less than `worth` ($/h).
        """
        turns = OneByOne(self._ground, self._seats, self.outcome)
        hopeful = [one for one in self._reading.classes if one.index not in before._hopeless]
        turns.place(hopeful, self._reading.set_aside)
        others = places_others(self.outcome, before.outcome)
        if not others and not places_the_same(self.outcome, before.outcome):
            return None
        lots, drafts = turns.planned()
        if not others and cost_of(drafts) >= before._cost and _wanted(lots) == before._wanted:
            return None
        drafts = self._nodes.planned_from(lots, drafts, turns.ledger)
        # What limits leave decides what a claim costs in the end.
        final = not any(draft.family.template.limited for draft in drafts)
        if not others and final and cost_of(drafts) >= worth:
            return None
        self._buy(drafts, lots)
        return self._written(self._reading.classes)

    @property
    def contended(self) -> bool:
        """Whether pods were left that could have a place if others had not."""
        waiting = (one for one in self._reading.classes if self._waits(one))
        return any(one.index not in self._hopeless and self._could_go(one) for one in waiting)

    @property
    def order_matters(self) -> bool:
        """Whether pods were placed whose place depends on where others are, by domain or in company."""
        placed = (one for one in self._reading.classes if one.index not in self._hopeless)
        return any(self._ground.scopes.of(one, rung).depends for one in placed for rung in one.ladder.rungs)

    def _could_go(self, one: PodClass) -> bool:
        chains = self._ground.chains
        for rung in one.ladder.rungs:
            if self._rooms.could_take(rung.demand, one.requests):
                return True
            chain = chains.of(((rung.demand,),), one.requests)
            if any(link.family.template.limited for link in chain):
                return True
        return False

    def _written(self, in_order: Sequence[PodClass]) -> PackingPlan:
        ground = self._ground
        refusals = Refusals(
            ground.problem, ground.families.templates, self._nodes.ledger, self._reading.axis, ground.blockers
        )
        self._each(in_order, lambda one: self.outcome.refuse(one.index, refusals.of(one)), always=True)
        return plan_of(self.outcome, self._nodes.problems)

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
                self.outcome.deferred.add(one.index)
                continue
            try:
                action(one)
            except Exception as error:  # noqa: BLE001 (whatever is wrong with one class, the others must go on)
                self._reading.set_aside(one.index, error)

    def _waits(self, one: PodClass) -> bool:
        if self.outcome.waiting(one.index) <= 0:
            return False
        return one.index not in self._reading.refused and one.index not in self.outcome.deferred

    def _seat(self, in_order: Sequence[PodClass]) -> None:
        """Seat classes over and over, as long as it helps: one may make way for another."""
        while True:
            before = sum(self.outcome.waiting(one.index) for one in in_order)
            self._each(in_order, self._seat_one)
            after = sum(self.outcome.waiting(one.index) for one in in_order if self._waits(one))
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
        largest: dict[int, Floats] = {}
        chains: dict[tuple[int, int], tuple[Link, ...]] = {}

        def look(one: PodClass) -> None:
            key = (id(one.ladder), id(one.requests))
            if key not in chains:
                demands = [(rung.demand,) for rung in one.ladder.rungs]
                chains[key] = self._ground.chains.of(demands, one.requests)
            if chains[key]:
                family = chains[key][0].family
                largest[family.index] = family.most
            else:
                nowhere.add(one.index)
                if not any(self._rooms.could_take(rung.demand, one.requests) for rung in one.ladder.rungs):
                    self._hopeless.add(one.index)

        self._each(self._reading.classes, look, always=True)
        axis = self._reading.axis
        most = np.maximum.reduce(list(largest.values())) if largest else np.ones(len(axis.names))
        ordered = largest_first(self._reading.classes, self._ground.problem.settings.order, axis, most)
        return sorted(ordered, key=lambda one: (_placeholder(one), one.index not in nowhere))

    def _settle(self, in_order: Sequence[PodClass]) -> None:
        """Seat all classes and buy nodes for them; seat those anew that get none, while there are seats."""
        place = {one.index: at for at, one in enumerate(in_order)}
        in_order = [one for one in in_order if one.index not in self._hopeless]
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
        drafts = self._nodes.cheaper()
        if any(self._waits(one) for one in in_order):
            drafts, lots = self._squeezed(in_order, drafts)
        self._buy(drafts, lots)

    def _buy(self, drafts: Sequence[Draft], lots: Iterable[Lot]) -> None:
        self._drop_unplaced(lots, placed_in(drafts))
        self._wanted, self._cost = _wanted(lots), cost_of(drafts)
        by_index = {lot.index: lot for lot in lots}
        bound = self._nodes.bound([lot for lot in lots if lot.units], drafts, self._ground.chains)
        self.outcome.buy(drafts, by_index, bound, self._nodes.finishing())
        if self._steps.exhausted:
            waiting = [one.index for one in self._reading.classes if self.outcome.waiting(one.index)]
            self.outcome.deferred.update(waiting)

    def _drop_unplaced(self, lots: Iterable[Lot], placed: Mapping[int, int]) -> None:
        """Note that units of which there is no node planned have no seat any longer."""
        for lot in lots:
            left = lot.units - placed.get(lot.index, 0)
            if left > 0 and lot.bundle:
                for one, _, scope, pods in lot.members:
                    self.outcome.unseat(one.index, pods, scope.given_up)
                lot.bundle = {}
            elif left > 0:
                for seat, pods in lot.take_last(left):
                    self.outcome.unseat(seat.one.index, pods, seat.scope.given_up)

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


def _wanted(lots: Iterable[Lot]) -> Mapping[object, int]:
    """Return how many units of each kind are to get nodes: of equal requests, families to try and rules."""
    units: dict[object, int] = {}
    for lot in lots:
        kind = (lot.requests.tobytes(), tuple(link.family.index for link in lot.chain), lot.rules)
        units[kind] = units.get(kind, 0) + lot.units
    return {kind: count for kind, count in units.items() if count}


def _placeholder(one: PodClass) -> bool:
    """Tell whether these pods only hold room for others: nobody is to wait for them."""
    return one.spec.priority < 0
