"""Pods that must share a node with others, put together before nodes are chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from treenail.domain.packing.arrays.arrays import Floats, count_fitting, holds
from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.draft.node_rules import Company, most_joining
from treenail.domain.packing.draft.outcome import Outcome
from treenail.domain.packing.offers.chains import Chains, Link
from treenail.domain.packing.offers.families import Family
from treenail.domain.packing.placement.room_seats import RoomSeats
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.groups import Group
from treenail.domain.packing.pods.ladder import Rung
from treenail.domain.packing.pods.rules import Rules
from treenail.domain.packing.pods.terms import Term
from treenail.domain.packing.topology.choices import Choice, Choices
from treenail.domain.packing.topology.scope import Scope
from treenail.domain.packing.topology.universe import Universe


@dataclass(slots=True, eq=False)
class Bundle:
    """Pods that share a node: how many of which class, what they ask for together, and where they may be."""

    load: Floats
    demands: tuple[Demand, ...]
    choice: Choice
    number: int = 0
    parts: dict[int, int] = field(default_factory=dict)
    company: Company = field(default_factory=Company)
    seats: list[tuple[PodClass, Rung, Scope, int]] = field(default_factory=list)

    def has(self, group: Group) -> bool:
        """Tell whether the group counts some pod of the bundle."""
        return bool(self.company.counted.get(group.index))


class Bundles:
    """Gathers pods that must be together on new nodes, and finds their places in rooms."""

    def __init__(
        self,
        rooms: RoomSeats,
        chains: Chains,
        choices: Choices,
        universe: Universe,
        outcome: Outcome,
        terms: Mapping[int, Term],
    ) -> None:
        self._rooms = rooms
        self._chains = chains
        self._choices = choices
        self._universe = universe
        self._outcome = outcome
        self._terms = terms
        self._bundles: list[Bundle] = []
        self._opened = 0
        self._of_lot: dict[int, Bundle] = {}
        self._spent: set[tuple[int, Rung]] = set()

    def seat(
        self, one: PodClass, rung: Rung, scope: Scope, pods: int, alone: Mapping[int, Lot] | None
    ) -> None:
        """Seat pods with those they must be with; in rooms only, unless told who is `alone`."""
        placed = self._rooms.together(one, rung, scope, pods, begin=False)
        if (one.index, rung) in self._spent:
            alone = None
        if alone is not None and placed < pods:
            placed += self._join(one, rung, scope, pods - placed)
            while placed < pods and self._carve(one, rung, scope, alone):
                joined = self._join(one, rung, scope, pods - placed)
                placed += joined
                if not joined:
                    break
        if not placed and scope.may_begin:
            self._begin(one, rung, scope, pods, buying=alone is not None)

    def _carve(self, one: PodClass, rung: Rung, scope: Scope, alone: Mapping[int, Lot]) -> bool:
        """Make a bundle of a pod that was to go anywhere, for others to join it; tell if there was one."""
        wanted = [r.group for r in scope.together]
        for lot in alone.values():
            for party in lot.waiting:
                seat = party.seat
                if all(group in seat.one.counted for group in wanted):
                    demands = lot.alternatives[lot.chain[0].alternative]
                    bundle = Bundle(np.zeros_like(seat.one.requests), demands, seat.choice)
                    self._gather(seat.one, seat.rung, seat.scope, bundle, 1)
                    fits, joined = self._best_way(one, rung, scope, bundle, 1)
                    if fits:
                        lot.remove(party, 1)
                        _become(bundle, joined)
                        self._open(bundle)
                        return True
        return False

    def lots(self) -> list[Lot]:
        """Return the bundles as lots, numbered from -1 down."""
        self._of_lot = {}
        made: list[Lot] = []
        for bundle in self._bundles:
            lot = Lot(bundle.number, bundle.load, (bundle.demands,), self._chain(bundle), _rules(bundle))
            lot.bundle = dict(bundle.parts)
            lot.members = bundle.seats
            self._of_lot[lot.index] = bundle
            made.append(lot)
        return made

    def _open(self, bundle: Bundle) -> None:
        self._opened += 1
        bundle.number = -self._opened
        self._bundles.append(bundle)

    def take_back(self, lot: Lot) -> None:
        """Note that a bundle got no node: its pods are to be seated anew."""
        bundle = self._of_lot[lot.index]
        lot.bundle = {}
        self._bundles.remove(bundle)
        for one, rung, scope, pods in bundle.seats:
            self._outcome.unseat(one.index, pods, scope.given_up)
            scope.note_new(bundle.choice, -pods)
            self._spent.add((one.index, rung))

    def _begin(self, one: PodClass, rung: Rung, scope: Scope, pods: int, *, buying: bool) -> None:
        best, most = None, 0
        choices = self._choices.of(rung.demand, scope.keys, scope.targets, scope.apart_keys) if buying else ()
        for choice in sorted(choices, key=lambda choice: self._choices.price(choice, one.requests)):
            fits = self._fit(one, scope, Bundle(np.zeros_like(one.requests), (choice.demand,), choice), pods)
            if fits > most:
                best, most = choice, fits
        if self._rooms.most_in_one(one, rung, scope, pods) >= max(most, 1):
            self._rooms.together(one, rung, scope, pods, begin=True)
        elif best is not None:
            bundle = Bundle(np.zeros_like(one.requests), (best.demand,), best)
            self._open(bundle)
            self._put(one, rung, scope, bundle, most)

    def _join(self, one: PodClass, rung: Rung, scope: Scope, pods: int) -> int:
        placed = 0
        for bundle in self._bundles:
            if placed < pods and all(bundle.has(r.group) for r in scope.together):
                fits, joined = self._best_way(one, rung, scope, bundle, pods - placed)
                if fits:
                    _become(bundle, joined)
                    self._put(one, rung, scope, bundle, fits)
                    placed += fits
        return placed

    def _best_way(
        self, one: PodClass, rung: Rung, scope: Scope, bundle: Bundle, pods: int
    ) -> tuple[int, Bundle]:
        """Return how many of `pods` pods may join a bundle, and what it becomes by that.

        Where they ask for domains that it leaves open, it becomes one of those.
        """
        if all(key in bundle.choice.known for key in scope.keys):
            ways = [_joined(bundle, rung.demand, bundle.choice)]
        else:
            choices = self._choices.of(rung.demand, scope.keys, scope.targets, scope.apart_keys)
            ways = [
                _joined(bundle, choice.demand, _both(bundle.choice, choice))
                for choice in choices
                if _agree(bundle.choice, choice)
            ]
        found = [(self._fit(one, scope, way, pods), way) for way in ways]
        return max(found, key=lambda each: each[0], default=(0, bundle))

    def _fit(self, one: PodClass, scope: Scope, bundle: Bundle, pods: int) -> int:
        """Return how many of `pods` pods may join a bundle."""
        quota = min(scope.quota(bundle.choice.known, self._universe), pods) if scope.by_domain else pods
        quota = min(quota, most_joining(bundle.company, scope.rules, self._terms))
        most = 0.0
        for family in self._families(bundle):
            free = family.largest - bundle.load
            fits = np.where(holds(free, np.zeros_like(bundle.load)), count_fitting(free, one.requests), 0.0)
            most = max(most, float(fits.max(initial=0.0)))
        return int(max(min(quota, most), 0))

    def _put(self, one: PodClass, rung: Rung, scope: Scope, bundle: Bundle, pods: int) -> None:
        self._gather(one, rung, scope, bundle, pods)
        self._outcome.seated(one.index, pods, scope.given_up)
        scope.note_new(bundle.choice, pods)

    def _gather(self, one: PodClass, rung: Rung, scope: Scope, bundle: Bundle, pods: int) -> None:
        bundle.load = bundle.load + pods * one.requests
        bundle.parts[one.index] = bundle.parts.get(one.index, 0) + pods
        company = bundle.company
        for group in scope.counted:
            if group.term.per_node:
                company.counted[group.index] = company.counted.get(group.index, 0) + pods
        for index in scope.rules.firm:
            company.owned[index] = company.owned.get(index, 0) + pods
        bundle.seats.append((one, rung, scope, pods))

    def _families(self, bundle: Bundle) -> Iterable[Family]:
        families = self._chains.families
        for template in range(len(families.templates)):
            family = families.of_all(template, bundle.demands)
            if family is not None and self._chains.affordable(family):
                yield family

    def _chain(self, bundle: Bundle) -> tuple[Link, ...]:
        return self._chains.of((bundle.demands,), bundle.load)


def _joined(bundle: Bundle, demand: Demand, choice: Choice) -> Bundle:
    """Return what a bundle is when others that ask for `demand` join it."""
    return replace(bundle, demands=tuple(dict.fromkeys((*bundle.demands, demand))), choice=choice)


def _agree(one: Choice, other: Choice) -> bool:
    return all(other.known.get(key, value) == value for key, value in one.known.items())


def _both(one: Choice, other: Choice) -> Choice:
    """Return the nodes of two choices at once."""
    asked = one.requirements.with_(other.requirements)
    return replace(one, requirements=asked, known={**one.known, **other.known})


def _become(bundle: Bundle, to: Bundle) -> None:
    """Let a bundle ask for what `to` does, and be where that is: those in it count there from now on."""
    bundle.demands = to.demands
    if to.choice is bundle.choice:
        return
    for _, _, scope, pods in bundle.seats:
        scope.note_new(bundle.choice, -pods)
        scope.note_new(to.choice, pods)
    bundle.choice = to.choice


def _rules(bundle: Bundle) -> Rules:
    owned = tuple(sorted(bundle.company.owned))
    return Rules(owned, tuple(sorted(bundle.company.counted.items())), owned)
