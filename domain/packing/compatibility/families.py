"""What a claim may be: a template narrowed by what its pods require."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treenail.domain.labels import LEFT_OPEN
from treenail.domain.packing.arrays import Floats, Indices, holds, maximal_rows
from treenail.domain.packing.compatibility.ladder import Rung
from treenail.domain.packing.templates import Template, Templates
from treenail.domain.requirements import Requirements
from treenail.domain.taints import untolerated


@dataclass(frozen=True, eq=False)
class Family:
    """All nodes of one template that meet `requirements` and `present`: U usable types, cheapest first.

    `types` (U) are their rows in the template, `prices` (U) those of their cheapest offering that
    meets the requirements, `room` (U, R) what pods get of each, `capacity` (U, L) what each counts
    with against limits. `index` numbers families in the order they came up, `choices` is how many
    offerings a node may be bought as.
    """

    index: int
    template: Template
    requirements: Requirements
    present: Requirements
    types: Indices
    prices: Floats
    choices: int

    @cached_property
    def room(self) -> Floats:
        return self.template.room[self.types]

    @cached_property
    def capacity(self) -> Floats:
        return self.template.capacity[self.types]

    @cached_property
    def largest(self) -> Floats:
        """The rooms (F, R) no other room of the family exceeds: what fits in any fits in one of these."""
        return maximal_rows(self.room)

    @cached_property
    def bargains(self) -> Indices:
        """The rows, the cheapest first, that no cheaper one equals or exceeds in all that counts."""
        merits = np.hstack([self.room, -self.capacity])
        alive = np.ones(len(merits), dtype=np.bool_)
        for row in range(len(merits)):
            if alive[row]:
                alive[row + 1 :] &= (merits[row + 1 :] > merits[row]).any(axis=1)
        return np.flatnonzero(alive)

    def cheapest_holding(self, load: Floats) -> int | None:
        """Return the row of the cheapest type that holds `load` (R), None where none does."""
        able = holds(self.room, load)
        return int(able.argmax()) if able.any() else None


def may_meet(one: Family, other: Family) -> bool:
    """Tell whether the labels of a node may be such as both families require, its offerings left aside."""
    return (
        one.requirements.intersects(other.requirements)
        and one.requirements.intersects(other.present)
        and other.requirements.intersects(one.present)
    )


class Families:
    """The families of a problem, each made once."""

    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self._by_rung: dict[tuple[int, Rung], Family | None] = {}
        self._by_requirements: dict[tuple[int, Requirements, Requirements], Family | None] = {}
        self._meets: dict[tuple[int, int], Family | None] = {}
        self._count = 0

    def of(self, template: int, rung: Rung) -> Family | None:
        """Return what a new node of the template may be for a pod that demands `rung`, None where nothing."""
        key = (template, rung)
        if key not in self._by_rung:
            self._by_rung[key] = self._for_rung(template, rung)
        return self._by_rung[key]

    def meet(self, one: Family, other: Family) -> Family | None:
        """Return the nodes that belong to both families, None where there are none."""
        if one is other:
            return one
        if one.template is not other.template:
            return None
        key = (one.index, other.index)
        if key not in self._meets:
            met = None
            if may_meet(one, other):
                requirements = one.requirements.with_(other.requirements)
                met = self._family(one.template, requirements, one.present.with_(other.present))
            self._meets[key] = self._meets[(other.index, one.index)] = met
        return self._meets[key]

    def _for_rung(self, index: int, rung: Rung) -> Family | None:
        if untolerated(self.templates.offer(index).pool.taints, rung.tolerations) is not None:
            return None
        template = self.templates[index]
        for asked in (rung.requirements, rung.present):
            if not template.requirements.compatible(asked, may_be_undefined=LEFT_OPEN):
                return None
        return self._family(template, template.requirements.with_(rung.requirements), rung.present)

    def _family(self, template: Template, requirements: Requirements, present: Requirements) -> Family | None:
        key = (template.index, requirements, present)
        if key not in self._by_requirements:
            self._by_requirements[key] = self._narrowed(template, requirements, present)
        return self._by_requirements[key]

    def _narrowed(
        self, template: Template, requirements: Requirements, present: Requirements
    ) -> Family | None:
        shelf = template.shelf
        usable = template.admitted & holds(template.room, np.zeros_like(template.room))
        for requirement in (*requirements.values(), *present.values()):
            usable &= shelf.masks.admitting(requirement)
        offered = shelf.offers.prices[:, shelf.offers.within(requirements)]
        prices = offered.min(axis=1, initial=np.inf)
        types = np.flatnonzero(usable & np.isfinite(prices))
        if not len(types):
            return None
        choices = int(np.isfinite(offered[types]).sum())
        # By name where prices are equal: the order of a catalogue means nothing.
        types = types[np.lexsort((shelf.by_name[types], prices[types]))]
        self._count += 1
        return Family(self._count - 1, template, requirements, present, types, prices[types], choices)
