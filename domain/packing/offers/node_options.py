"""Node options: a pool's template narrowed by what its pods require, with the types left."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from treenail.domain.model.labels import LEFT_OPEN
from treenail.domain.model.pods import HostPort
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.taints import untolerated
from treenail.domain.packing.arrays.arrays import Bools, Floats, Indices, holds, maximal_rows, unequalled
from treenail.domain.packing.arrays.lazy import Lazy
from treenail.domain.packing.offers.exotic_and_burstable_types import set_aside
from treenail.domain.packing.offers.min_values import MinValues
from treenail.domain.packing.offers.templates import NodeTemplate, NodeTemplates
from treenail.domain.packing.offers.types_left_out import NOTHING_ASIDE, SetAside
from treenail.domain.packing.pods.demands import Demand
from treenail.domain.packing.pods.terms import ports_conflict
from treenail.domain.packing.problem import MinValuesPolicy

# Up to so many pairs of types and loads, looking at all takes no longer than finding the undominated types.
_FEW: Final = 2000


@dataclass(frozen=True, eq=False)
class NodeOption:
    """All nodes of one template that meet `requirements` and `present`: U usable types, cheapest first.

    `types` (U) are their rows in the template, `prices` (U) those of their cheapest offering that
    meets the requirements, `room` (U, R) what pods get of each, `capacity` (U, L) what each counts
    with against limits. `index` numbers options in the order they came up, `choices` is how many
    offerings a node may be bought as: the more, the more flexible. `taken` are host ports that must be free,
    so types on which daemons take them are out. `min_values` is what minValues asks for, where it does;
    `aside` which types do not count, or not in full, since ordinary ones have as much room.
    """

    index: int
    template: NodeTemplate
    requirements: Requirements
    present: Requirements
    types: Indices
    prices: Floats
    choices: int
    taken: tuple[HostPort, ...] = ()
    min_values: MinValues | None = None
    aside: SetAside = NOTHING_ASIDE

    @Lazy
    def costs(self) -> Floats:
        """The cost of a node of each type in all (U), $/h."""
        return self.prices + self.template.surcharge

    @Lazy
    def room(self) -> Floats:
        """The resources (U, R) that pods get of each type, less what minValues keeps from use."""
        return self.whole if self.min_values is None else self.min_values.room(self.whole)

    @Lazy
    def whole(self) -> Floats:
        """The room that pods would get of each type (U, R) if no other had to do as well."""
        whole = self.template.room[self.types]
        if self.aside.at_baseline:
            steady = self.aside.counting_baseline(self.types)
            whole[steady] = self.template.steady_room[self.types[steady]]
        return whole

    def whole_of(self, type_row: int) -> Floats:
        """Return what pods would get (R) of a type, by its row in the template."""
        steady = type_row in self.aside.at_baseline
        room: Floats = (self.template.steady_room if steady else self.template.room)[type_row]
        return room

    def as_roomy(self, other: NodeOption, type_row: int) -> bool:
        """Return whether a type, by its row in the template, is there with as much room as in `other`."""
        if type_row not in self.types:
            return False
        return (type_row in self.aside.at_baseline) == (type_row in other.aside.at_baseline)

    @Lazy
    def rows(self) -> frozenset[int]:
        """The rows of its types in the template."""
        return frozenset(self.types.tolist())

    @Lazy
    def capacity(self) -> Floats:
        """The resources (U, L) that each type counts with against limits."""
        return self.template.capacity[self.types]

    @Lazy
    def largest(self) -> Floats:
        """The rooms (F, R) of the option's types that no other type exceeds in every resource."""
        return maximal_rows(self.room)

    @Lazy
    def most(self) -> Floats:
        """The most of each resource (R) that any type has room for."""
        most: Floats = np.maximum.reduce(self.room)
        return most

    @Lazy
    def undominated(self) -> Indices:
        """The rows, cheapest first, of types that no cheaper type equals or exceeds in all that counts."""
        # Under limits a type that counts with less may be wanted though a cheaper one has as much room.
        merits = np.hstack([self.room, -self.capacity]) if self.template.limited else self.room
        return unequalled(merits)

    def weighed_with(self, loads: int) -> Indices | slice:
        """Return the rows to look at to find the cheapest type for each of so many loads.

        These are the undominated types, or all of them: for a few loads, finding out which types are
        undominated takes longer than it saves.
        """
        few = loads * len(self.types) <= _FEW and "undominated" not in self.__dict__
        return slice(None) if few else self.undominated

    def most_within(self, cost: float) -> list[float] | None:
        """Return the most of each resource (R) that nodes of up to `cost` ($/h) have; None without one."""
        # Types are sorted by price, and the surcharge is the same for all: a binary search finds the dearest
        # that money can buy, and running maxima say what it could hold at most.
        costs, most = self._by_cost
        number = bisect_right(costs, cost)
        return most[number - 1] if number else None

    @Lazy
    def _by_cost(self) -> tuple[list[float], list[list[float]]]:
        return self.costs.tolist(), np.maximum.accumulate(self.room).tolist()

    @Lazy
    def _largest_one(self) -> Floats:
        """The room (R) of the type with the most of the first resource."""
        room: Floats = self.room[int(self.room[:, 0].argmax())]
        return room

    def holds(self, load: Floats) -> bool:
        """Return whether some type holds `load` (R)."""
        # Tried first: R numbers to compare in place of U x R.
        if np.logical_and.reduce(self._largest_one >= load):
            return True
        return bool(np.logical_or.reduce(holds(self.room, load)))

    def able(self, load: Floats, allowed: Bools | None) -> Bools | None:
        """Return which types (U) hold `load` (R) and leave enough choice together; None where none do.

        `allowed` (U) are those that limits leave, None where limits do not matter.
        """
        if allowed is None:
            # Without limits, what minValues takes off is in `room` already; with them, the types left decide.
            able = holds(self.room, load)
            return able if able[able.argmax()] else None
        able = holds(self.whole, load) & allowed
        if not able[able.argmax()] or (self.min_values is not None and not self.min_values.enough(able)):
            return None
        return able

    def cheapest_holding(self, load: Floats) -> int | None:
        """Return the row of the cheapest type that holds `load` (R), None where none does."""
        able = holds(self.room, load)
        # The first that holds is the cheapest: rows are sorted by price. `argmax` of none is 0, so it is
        # looked at.
        row = int(able.argmax())
        return row if able[row] else None


def may_meet(one: NodeOption, other: NodeOption) -> bool:
    """Return whether a node's labels can be what both options require, types and offerings aside."""
    return (
        # `present` is looked at on both sides: a label that one must have, the other may forbid.
        one.requirements.intersects(other.requirements)
        and one.requirements.intersects(other.present)
        and other.requirements.intersects(one.present)
    )


class NodeOptions:
    """The node options of a problem, each made once: equal options are one object."""

    def __init__(
        self, templates: NodeTemplates, min_values: MinValuesPolicy = MinValuesPolicy.STRICT
    ) -> None:
        self.templates = templates
        self._min_values = min_values
        self._by_demand: dict[tuple[int, Demand], NodeOption | None] = {}
        self._by_requirements: dict[
            tuple[int, Requirements, Requirements, tuple[HostPort, ...], SetAside | None], NodeOption | None
        ] = {}
        self._meets: dict[tuple[int, int], NodeOption | None] = {}
        self._count = 0

    def of(self, template: int, demand: Demand) -> NodeOption | None:
        """Return what a new node of the template may be for a pod of this demand, None where nothing."""
        # A demand is one object in a problem, so the key costs no more than two pointers.
        key = (template, demand)
        if key not in self._by_demand:
            self._by_demand[key] = self._for_demand(template, demand)
        return self._by_demand[key]

    def of_all(self, template: int, demands: tuple[Demand, ...]) -> NodeOption | None:
        """Return what a new node of the template may be that meets all `demands`, None where nothing."""
        # A conjunction is met step by step: each meeting is remembered, and many conjunctions begin alike.
        option = self.of(template, demands[0])
        for demand in demands[1:]:
            other = self.of(template, demand)
            option = self.meet(option, other) if option is not None and other is not None else None
        return option

    def of_each(self, *demands: Demand) -> Iterator[NodeOption]:
        """Yield what new nodes may be that meet all `demands`, templates in their order."""
        for template in range(len(self.templates)):
            option = self.of_all(template, demands)
            if option is not None:
                yield option

    def meet(self, one: NodeOption, other: NodeOption) -> NodeOption | None:
        """Return the option of nodes that belong to both options, None where there are none."""
        if one is other:
            return one
        # A node is of one pool. Equal labels of two pools make no node of both.
        if one.template is not other.template:
            return None
        key = (one.index, other.index)
        if key not in self._meets:
            met = None
            if may_meet(one, other):
                requirements = one.requirements.with_(other.requirements)
                # What is set aside stays so: a meeting only ever narrows.
                met = self._option(
                    one.template,
                    requirements,
                    one.present.with_(other.present),
                    one.taken + other.taken,
                    one.aside.joined(other.aside),
                )
            # Meeting is symmetric, and None is an answer worth keeping.
            self._meets[key] = self._meets[(other.index, one.index)] = met
        return self._meets[key]

    def _for_demand(self, index: int, demand: Demand) -> NodeOption | None:
        # Taints first: the template's arrays are not even made for a pool that nobody tolerates.
        if untolerated(self.templates.offer(index).pool.taints, demand.tolerations) is not None:
            return None
        template = self.templates[index]
        for asked in (demand.requirements, demand.present):
            # As in Karpenter: labels of the user's own must be declared by the pool, well-known ones may be
            # open.
            if not template.requirements.compatible(asked, may_be_undefined=LEFT_OPEN):
                return None
        requirements = template.requirements.with_(demand.requirements)
        return self._option(template, requirements, demand.present, demand.ports)

    def _option(
        self,
        template: NodeTemplate,
        requirements: Requirements,
        present: Requirements,
        ports: tuple[HostPort, ...],
        aside: SetAside | None = None,
    ) -> NodeOption | None:
        taken = (
            tuple(sorted({daemon for daemon in template.ports if _conflict(daemon, ports)})) if ports else ()
        )
        # By value, once for each demand: two demands that narrow a pool to the same nodes share their arrays.
        key = (template.index, requirements, present, taken, aside)
        known = self._by_requirements.get(key)
        if known is None and key not in self._by_requirements:
            known = self._by_requirements[key] = self._narrowed(template, requirements, present, taken, aside)
        return known

    def _narrowed(
        self,
        template: NodeTemplate,
        requirements: Requirements,
        present: Requirements,
        taken: tuple[HostPort, ...],
        aside: SetAside | None,
    ) -> NodeOption | None:
        table = template.table
        usable = _usable(template, requirements, present, taken)
        cheapest = table.offers.cheapest(requirements)
        # Rows are sorted by price here, once: everywhere else "the first that holds" means "the cheapest that
        # holds".
        types = cheapest.order[usable[cheapest.order]]
        if aside is None:
            aside = set_aside(template, requirements, types)
        types = aside.without_left_out(types)
        if not len(types):
            return None
        least = None
        if any(requirement.min_values is not None for requirement in requirements.values()):
            least = MinValues([table.types[t] for t in types], requirements, self._min_values)
            # The pool's minValues can never be met by these types: no node of this option may be bought.
            if not least.possible:
                return None
        # Only options that have types get a number: it also ranks them, so numbers must not depend on
        # anything but the order of questions.
        self._count += 1
        return NodeOption(
            self._count - 1,
            template,
            requirements if least is None else least.requirements,
            present,
            types,
            cheapest.prices[types],
            int(np.add.reduce(cheapest.counts[types])),
            taken,
            least,
            aside,
        )


def _usable(
    template: NodeTemplate, requirements: Requirements, present: Requirements, taken: tuple[HostPort, ...]
) -> Bools:
    """Return which types (T) of the template meet what is required, with the ports `taken` left free."""
    usable = template.usable.copy()
    # Types whose daemons take a port that pods need are out for these pods alone.
    for port in taken:
        usable &= ~template.ports[port]
    for requirement in (*requirements.values(), *present.values()):
        # What the pool requires itself is in the mask already: its own requirement is kept as it is.
        if requirement is not template.requirements.get(requirement.key):
            usable &= template.table.masks.admitting(requirement)
    return usable


def _conflict(daemon: HostPort, ports: tuple[HostPort, ...]) -> bool:
    return any(ports_conflict(daemon, port) for port in ports)
