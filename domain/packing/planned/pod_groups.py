"""Pod groups: pods that are to get new nodes and ask for the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.offers.option_order import OrderedOption
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.pods.rules import FREE, Rules
from treenail.domain.packing.topology.choices import DomainChoice
from treenail.domain.packing.topology.class_constraints import RelaxedClass, TopologyConstraints


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """A class at one relaxation level and the domains chosen for it, kept so that it can be taken back."""

    relaxed: RelaxedClass
    choice: DomainChoice

    @property
    def one(self) -> PodClass:
        """The class of pods."""
        return self.relaxed.one

    @property
    def constraints(self) -> TopologyConstraints:
        """The topology constraints of the class at its relaxation level."""
        return self.relaxed.constraints

    @property
    def key(self) -> tuple[int, RelaxationLevel, int]:
        """The class, the level and the choice, as numbers."""
        return (self.relaxed.one.index, self.relaxed.level, self.choice.number)


@dataclass(slots=True, eq=False)
class PlacedPods:
    """Pods of one placement in a pod group. `number` is their place in the order of placements."""

    placement: Placement
    pods: int
    number: int = 0


@dataclass(slots=True, eq=False)
class PodGroup:
    """Units that ask for the same of a new node, each for `requests` (R).

    A unit is one pod; of a `bundle` it is all pods in it (how many by class), which must share a node.
    `alternatives` are the demands to be tried in order, each a conjunction, and `options_in_order` the node
    options they lead to. `waiting` are the pods in the order they are named, `members` the placements of a
    bundle.
    """

    index: int
    requests: Floats
    alternatives: tuple[tuple[Demand, ...], ...]
    options_in_order: tuple[OrderedOption, ...]
    rules: Rules = FREE
    waiting: list[PlacedPods] = field(default_factory=list)
    # A bundle is emptied when it is named or taken back: then the group has no units left.
    bundle: dict[int, int] = field(default_factory=dict)
    members: Sequence[tuple[RelaxedClass, int]] = ()
    _pods: int = 0

    @property
    def units(self) -> int:
        """The number of units still to be named."""
        return 1 if self.bundle else self._pods

    def classes(self) -> tuple[int, ...]:
        """Return the classes, by index, whose pods these are."""
        return tuple(self.bundle) or tuple(placed_pods.placement.one.index for placed_pods in self.waiting)

    def add(self, placement: Placement, pods: int, number: int) -> None:
        """Add pods of a placement, the `number`-th that was made."""
        # Kept beside the list: units are asked for far more often than they change.
        self._pods += pods
        # Placed in turns, a class comes back to one choice many times: it stays one entry.
        if self.waiting and self.waiting[-1].placement.key == placement.key:
            self.waiting[-1].pods += pods
        else:
            self.waiting.append(PlacedPods(placement, pods, number))

    def remove(self, placed_pods: PlacedPods, pods: int) -> None:
        """Take off pods of one placement."""
        placed_pods.pods -= pods
        self._pods -= pods
        # Empty entries go, so that whoever is last in the list really waits.
        if not placed_pods.pods:
            self.waiting.remove(placed_pods)

    def take_last(self, units: int) -> list[tuple[Placement, int]]:
        """Take off the last of the units; return their placements, and how many pods of each.

        The last placed go first: who was placed before them had the better claim to a node.
        """
        taken: list[tuple[Placement, int]] = []
        while units and self.waiting:
            # From the end, where `take` names pods from the beginning.
            placed_pods = self.waiting[-1]
            # Part of an entry may go: a group can be given fewer nodes than it has pods of one placement.
            count = min(units, placed_pods.pods)
            taken.append((placed_pods.placement, count))
            units -= count
            self.remove(placed_pods, count)
        return taken

    def take(self, units: int) -> list[tuple[int, int]]:
        """Take the next `units`; return of which classes they are, and how many pods of each."""
        if self.bundle:
            # All or nothing: a unit of a bundle is on a node as a whole, and there is only one.
            members = list(self.bundle.items())
            self.bundle = {}
            return members
        taken: list[tuple[int, int]] = []
        while units and self.waiting:
            # Classes of a group share its nodes in the order of placement, so that equal plans name equal
            # pods.
            placed_pods = self.waiting[0]
            pods = min(units, placed_pods.pods)
            taken.append((placed_pods.placement.one.index, pods))
            units -= pods
            self.remove(placed_pods, pods)
        return taken
