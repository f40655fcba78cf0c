"""Pods that are to get new nodes, as packing sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from treenail.domain.packing.arrays import Floats
from treenail.domain.packing.chains import Link
from treenail.domain.packing.compatibility.demands import Demand


@dataclass(frozen=True, slots=True)
class Rules:
    """The terms per node, by number of their groups, that the pods of a unit have, and that count them.

    `counted` says how many of the pods each counts; there are only those that pods to be placed have. The
    `firm` ones of those they have bind also who comes after them.
    """

    owned: tuple[int, ...] = ()
    counted: tuple[tuple[int, int], ...] = ()
    firm: tuple[int, ...] = ()


FREE = Rules()


@dataclass(slots=True, eq=False)
class Lot:
    """Units of pods that ask for the same in every way, each for `requests` (R).

    `alternatives` are the demands to be tried in order, each a conjunction, and `chain` the families they
    lead to. `waiting` names the pods as (class by index, units); a unit is one pod, or, of a `bundle`, all
    pods in it: they must share a node.
    """

    index: int
    requests: Floats
    alternatives: tuple[tuple[Demand, ...], ...]
    chain: tuple[Link, ...]
    rules: Rules = FREE
    waiting: list[list[int]] = field(default_factory=list)
    bundle: dict[int, int] = field(default_factory=dict)

    @property
    def units(self) -> int:
        """How many units there are still to be named."""
        return 1 if self.bundle else sum(count for _, count in self.waiting)

    def classes(self) -> tuple[int, ...]:
        """Return the classes, by index, whose pods these are."""
        return tuple(self.bundle) or tuple(index for index, _ in self.waiting)

    def add(self, index: int, pods: int) -> None:
        """Add pods of the class `index`."""
        if self.waiting and self.waiting[-1][0] == index:
            self.waiting[-1][1] += pods
        else:
            self.waiting.append([index, pods])

    def remove(self, index: int, pods: int) -> None:
        """Take off pods of the class `index`."""
        left = [[of, count - pods if of == index else count] for of, count in self.waiting]
        self.waiting = [entry for entry in left if entry[1] > 0]

    def take(self, units: int) -> Iterator[tuple[int, int]]:
        """Yield of which classes the next `units` are, and how many pods of each."""
        if self.bundle:
            yield from self.bundle.items()
            self.bundle = {}
            return
        while units:
            index, pods = self.waiting[0]
            taken = min(units, pods)
            yield index, taken
            units -= taken
            if taken == pods:
                del self.waiting[0]
            else:
                self.waiting[0][1] -= taken
