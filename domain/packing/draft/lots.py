"""Pods that are to get new nodes, as packing sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.draft.seats import Seat
from treenail.domain.packing.offers.chains import Link
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.ladder import Rung
from treenail.domain.packing.pods.rules import FREE, Rules
from treenail.domain.packing.topology.scope import Scope


@dataclass(slots=True, eq=False)
class Party:
    """Pods of one seat in a lot. `number` tells in which order they were seated."""

    seat: Seat
    pods: int
    number: int = 0


@dataclass(slots=True, eq=False)
class Lot:
    """Units of pods that ask for the same in every way, each for `requests` (R).

    `alternatives` are the demands to be tried in order, each a conjunction, and `chain` the families they
    lead to. `waiting` are the pods, in the order they are named; a unit is one pod, or, of a `bundle`, all
    pods in it (by class): they must share a node. `members` tell how those in a bundle are seated.
    """

    index: int
    requests: Floats
    alternatives: tuple[tuple[Demand, ...], ...]
    chain: tuple[Link, ...]
    rules: Rules = FREE
    waiting: list[Party] = field(default_factory=list)
    bundle: dict[int, int] = field(default_factory=dict)
    members: Sequence[tuple[PodClass, Rung, Scope, int]] = ()
    _pods: int = 0

    @property
    def units(self) -> int:
        """How many units there are still to be named."""
        return 1 if self.bundle else self._pods

    def classes(self) -> tuple[int, ...]:
        """Return the classes, by index, whose pods these are."""
        return tuple(self.bundle) or tuple(party.seat.one.index for party in self.waiting)

    def add(self, seat: Seat, pods: int, number: int) -> None:
        """Add pods of a seat, the `number`-th to be taken."""
        self._pods += pods
        if self.waiting and self.waiting[-1].seat.key == seat.key:
            self.waiting[-1].pods += pods
        else:
            self.waiting.append(Party(seat, pods, number))

    def remove(self, party: Party, pods: int) -> None:
        """Take off pods of one party."""
        party.pods -= pods
        self._pods -= pods
        if not party.pods:
            self.waiting.remove(party)

    def take_last(self, units: int) -> list[tuple[Seat, int]]:
        """Take off the last of the units; return of which seats they are, and how many of each."""
        taken: list[tuple[Seat, int]] = []
        while units and self.waiting:
            party = self.waiting[-1]
            count = min(units, party.pods)
            taken.append((party.seat, count))
            units -= count
            self.remove(party, count)
        return taken

    def take(self, units: int) -> list[tuple[int, int]]:
        """Take the next `units`; return of which classes they are, and how many pods of each."""
        if self.bundle:
            members = list(self.bundle.items())
            self.bundle = {}
            return members
        taken: list[tuple[int, int]] = []
        while units and self.waiting:
            party = self.waiting[0]
            pods = min(units, party.pods)
            taken.append((party.seat.one.index, pods))
            units -= pods
            self.remove(party, pods)
        return taken
