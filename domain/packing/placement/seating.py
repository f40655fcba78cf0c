"""Decide where pods may go: into which rooms, and in which domains they are to get new nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from treenail.domain.packing.draft.lots import Lot, Party
from treenail.domain.packing.draft.outcome import Outcome
from treenail.domain.packing.draft.seats import Seat
from treenail.domain.packing.offers.chains import Chains
from treenail.domain.packing.placement.bundles import Bundles
from treenail.domain.packing.placement.room_seats import RoomSeats
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.ladder import Ladder, Rung
from treenail.domain.packing.pods.terms import Kind
from treenail.domain.packing.topology.choices import Choice, Choices
from treenail.domain.packing.topology.restrictions import Restriction
from treenail.domain.packing.topology.scope import Scope, Scopes
from treenail.domain.packing.topology.universe import Universe


@dataclass(frozen=True, slots=True)
class _Relying:
    """Pods with a seat that may depend on others.

    They were the `number`-th to take it. The calls count so many of them there, tell how many may be there,
    and take so many away.
    """

    number: int
    pods: int
    count: Callable[[int], None]
    quota: Callable[[], float]
    leave: Callable[[int], None]


class Seating:
    """Seats one class after the other, rung by rung: in rooms first, then on nodes to be bought.

    Those for new nodes are gathered as `lots`.
    """

    def __init__(
        self,
        rooms: RoomSeats,
        chains: Chains,
        choices: Choices,
        scopes: Scopes,
        universe: Universe,
        outcome: Outcome,
    ) -> None:
        self._rooms = rooms
        self._chains = chains
        self._choices = choices
        self._scopes = scopes
        self._universe = universe
        self._outcome = outcome
        # How many pods of a class, at a rung, a choice holds, and how many it can, as limits have shown.
        self._held: dict[tuple[int, Rung, int], int] = {}
        self._most: dict[tuple[int, Rung, int], int] = {}
        self._free: dict[tuple[Ladder, int], tuple[tuple[Demand, ...], ...]] = {}
        self._by_key: dict[tuple[int, tuple[tuple[Demand, ...], ...], int], Lot] = {}
        self._listed: dict[int, Lot] = {}
        self._squeezing = False
        self._squeezed: list[tuple[Lot, int]] = []
        self.bundles = Bundles(rooms, chains, choices, universe, outcome, scopes.terms)

    @property
    def lots(self) -> list[Lot]:
        """The lots there are, bundles included."""
        lots = [lot for lot in self._listed.values() if lot.waiting]
        return lots + self.bundles.lots()

    def seat(self, one: PodClass) -> None:
        """Seat as many pods of a class as can be."""
        for number, rung in enumerate(one.ladder.rungs):
            left = self._outcome.waiting(one.index)
            if not left or self._squeezed:
                break
            scope = self._scopes.of(one, rung)
            if scope.together:
                alone = None if self._squeezing else self._listed
                self.bundles.seat(one, rung, scope, left, alone)
            elif scope.by_domain:
                self._by_turns(one, rung, scope, left)
            else:
                left -= self._rooms.seat(one, rung, scope, left)
                if left:
                    self._open(one, number, rung, scope, left)

    def take_back(self, lot: Lot, units: int) -> None:
        """Note that so many units of a lot got no node: their pods are to be seated anew, elsewhere."""
        if lot.bundle:
            self.bundles.take_back(lot)
            return
        for seat, pods in lot.take_last(units):
            self._leave(seat, pods)
            self._cap(seat)
            if not self._squeezing and any(
                r.owned and r.group.term.kind is Kind.SPREAD for r in seat.scope.by_domain
            ):
                # Those in other domains relied on these: all are spread anew.
                self._empty(seat)

    def unsettle(self) -> bool:
        """Take back those who relied on others that got no node after all; tell whether there are any.

        All who have a seat for which it matters are counted anew, in the order they took it, for as long as
        that helps.
        """
        relying = [*self._planned(), *self._guests()]
        relying.sort(key=lambda one: one.number)
        for one in relying:
            one.count(-one.pods)
        left = [one.pods for one in relying]
        before = -1
        while before != sum(left):
            before = sum(left)
            for at, one in enumerate(relying):
                pods = int(min(left[at], one.quota())) if left[at] else 0
                if pods:
                    one.count(pods)
                    left[at] -= pods
        for one, pods in zip(relying, left, strict=True):
            if pods:
                one.leave(pods)
        return before > 0

    def _planned(self) -> Iterator[_Relying]:
        for lot in self._listed.values():
            for party in lot.waiting:
                yield _Relying(
                    party.number,
                    party.pods,
                    partial(party.seat.scope.note_new, party.seat.choice),
                    partial(party.seat.scope.quota, party.seat.choice.known, self._universe),
                    partial(self._unseat, party, lot),
                )

    def _guests(self) -> Iterator[_Relying]:
        for guests in self._rooms.guests:
            yield _Relying(
                guests.number,
                guests.pods,
                partial(self._rooms.count, guests),
                partial(self._rooms.may_stay, guests),
                partial(self._rooms.vacate, guests),
            )

    def _unseat(self, party: Party, lot: Lot, pods: int) -> None:
        self._outcome.unseat(party.seat.one.index, pods, party.seat.scope.given_up)
        self._held[party.seat.key] -= pods
        lot.remove(party, pods)

    def squeeze(self) -> None:
        """From now on, take every choice for open again, and go where there is a hole, one by one."""
        self._most.clear()
        self._squeezing = True

    def squeezed(self) -> list[tuple[Lot, int]]:
        """Return the lots that pods have joined since this was last asked, and how many: it is one seat's."""
        found, self._squeezed = self._squeezed, []
        return found

    def _leave(self, seat: Seat, pods: int) -> None:
        self._outcome.unseat(seat.one.index, pods, seat.scope.given_up)
        seat.scope.note_new(seat.choice, -pods)
        self._held[seat.key] -= pods

    def _cap(self, seat: Seat) -> None:
        """Let the class have no more of a choice than it has now."""
        # Those that might have any node have been tried on all rungs.
        rungs = seat.one.ladder.rungs if seat.scope.free else (seat.rung,)
        for rung in rungs:
            key = (seat.one.index, rung, seat.choice.number)
            self._most[key] = self._held.get(key, 0)

    def _empty(self, seat: Seat) -> None:
        for lot in self._listed.values():
            for party in tuple(lot.waiting):
                if party.seat.one is seat.one and party.seat.scope.by_domain:
                    pods = party.pods
                    lot.remove(party, pods)
                    self._leave(party.seat, pods)

    def _left_in(self, one: PodClass, rung: Rung, choice: Choice) -> float:
        """Return how many more pods of the class the choice may have."""
        key = (one.index, rung, choice.number)
        return self._most.get(key, inf) - self._held.get(key, 0)

    def _by_turns(self, one: PodClass, rung: Rung, scope: Scope, left: int) -> None:
        """Fill rooms and new nodes by turns: each may make way for the other."""
        bought_in = self._bought_in(one, rung, scope) if scope.gathers else ()
        while left:
            placed = self._rooms.seat(one, rung, scope, left, bought_in)
            if not placed:
                placed = self._choose(one, rung, scope, left)
            if not placed or self._squeezing:
                return
            left -= placed

    def _bought_in(self, one: PodClass, rung: Rung, scope: Scope) -> list[Mapping[str, str]]:
        """Return the domains in which there are new nodes for all pods of a class: no limit is near."""
        choices = self._choices.by_price(
            rung.demand,
            scope.keys,
            scope.targets,
            one.requests,
            unlimited_first=True,
            apart_keys=scope.apart_keys,
        )
        return [choice.known for choice in choices if not self._choices.limited(choice, one.requests)]

    def _open(self, one: PodClass, number: int, rung: Rung, scope: Scope, left: int) -> None:
        if scope.free:
            self._open_freely(one, number, rung, scope, left)
        else:
            self._choose(one, rung, scope, left)

    def _open_freely(self, one: PodClass, number: int, rung: Rung, scope: Scope, left: int) -> None:
        """Let pods that nothing but nodes matters to have whatever node the rest of their ladder leads to."""
        key = (one.ladder, number)
        if key not in self._free:
            self._free[key] = tuple((rung.demand,) for rung in one.ladder.rungs[number:])
        lot = self._lot(one, self._free[key], scope)
        # A wish that a new node would not fulfil falls first, so that rooms are tried without it.
        if lot.chain and lot.chain[0].alternative == 0:
            (anywhere,) = self._choices.of(rung.demand, (), ())
            pods = int(min(left, self._left_in(one, rung, anywhere)))
            if pods > 0:
                self._add(lot, Seat(one, rung, scope, anywhere), pods)
                scope.note_new(anywhere, pods)

    def _choose(self, one: PodClass, rung: Rung, scope: Scope, left: int) -> int:
        """Choose domains for pods that get new nodes; return for how many it was possible."""
        # Where it is the same otherwise, they go where it costs least; all together, where no limit is near.
        in_order = self._choices.by_price(
            rung.demand,
            scope.keys,
            scope.targets,
            one.requests,
            unlimited_first=scope.gathers,
            apart_keys=scope.apart_keys,
        )
        choices: Sequence[Choice] = in_order
        if self._most:
            choices = [choice for choice in in_order if self._left_in(one, rung, choice) > 0]
        if not choices:
            return 0
        if scope.sole_spread is not None:
            return self._spread(one, rung, scope, scope.sole_spread, choices, left)
        best, most = self._least_crowded(scope, choices) if scope.by_domain else (0, inf)
        if not most:
            return 0
        chosen = choices[best]
        if self._squeezing or scope.spreads:
            most = min(most, 1.0)
        pods = int(min(left, most, self._left_in(one, rung, chosen)))
        self._take(one, rung, scope, chosen, pods)
        return pods

    def _least_crowded(self, scope: Scope, choices: Sequence[Choice]) -> tuple[int, float]:
        """Return which choice has the fewest pods of those that may have some more, and how many: or none."""
        domains = [choice.known for choice in choices]
        quotas = scope.quotas(domains, self._universe)
        ranked = [(scope.crowding(domains[at]), at) for at, quota in enumerate(quotas) if quota]
        if not ranked:
            return 0, 0.0
        best = min(ranked)[1]
        return best, quotas[best]

    def _spread(
        self,
        one: PodClass,
        rung: Rung,
        scope: Scope,
        spread: Restriction,
        choices: Sequence[Choice],
        left: int,
    ) -> int:
        """Spread pods over the domains there are new nodes in, as evenly as may be."""
        domains = [choice.known[spread.group.term.key] for choice in choices]
        pods = left
        if self._squeezing:
            pods = 1
        elif self._rooms.any_left(one, rung, scope):
            # Once the emptiest domain has one more, rooms in the others may take pods again.
            held = spread.held(domains)
            pods = min(left, held.count(min(held)))
        fits = np.array([min(pods, self._left_in(one, rung, choice)) for choice in choices])
        dealt = spread.dealt(domains, fits, pods, self._universe, scope.strict)
        for choice, count in zip(choices, dealt, strict=True):
            if count:
                self._take(one, rung, scope, choice, int(count))
        return int(dealt.sum())

    def _take(self, one: PodClass, rung: Rung, scope: Scope, choice: Choice, pods: int) -> None:
        lot = self._lot(one, ((choice.demand,),), scope)
        self._add(lot, Seat(one, rung, scope, choice), pods)
        scope.note_new(choice, pods)

    def _lot(self, one: PodClass, alternatives: tuple[tuple[Demand, ...], ...], scope: Scope) -> Lot:
        # Equal requests are one object, and so are equal rules.
        key = (id(one.requests), alternatives, id(scope.rules))
        lot = self._by_key.get(key)
        if lot is None:
            chain = self._chains.known(alternatives, one.requests)
            lot = self._by_key[key] = Lot(len(self._by_key), one.requests, alternatives, chain, scope.rules)
        return lot

    def _add(self, lot: Lot, seat: Seat, pods: int) -> None:
        self._listed[lot.index] = lot
        lot.add(seat, pods, next(self._rooms.numbers))
        self._held[seat.key] = self._held.get(seat.key, 0) + pods
        self._outcome.seated(seat.one.index, pods, seat.scope.given_up)
        if self._squeezing:
            self._squeezed.append((lot, pods))
