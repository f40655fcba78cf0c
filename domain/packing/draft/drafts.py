"""Claims while a plan is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.offers.families import Family


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """So many `copies` of one node: `parts` is how many pods of which class (by index) each is to hold.

    `row` is the type in its family it is meant to be, the cheapest that is allowed; `load` (R) is
    what its pods request together.
    """

    family: Family
    row: int
    load: Floats
    parts: Mapping[int, int]
    copies: int = 1

    @property
    def price(self) -> float:
        """The price of one copy, $/h."""
        return float(self.family.prices[self.row])

    @property
    def free(self) -> Floats:
        """What is left (R) on each copy."""
        rest: Floats = self.family.room[self.row] - self.load
        return rest


def added(parts: Mapping[int, int], more: Mapping[int, int]) -> dict[int, int]:
    """Return how many pods of each class (by index) two lots are together."""
    together = dict(parts)
    for index, pods in more.items():
        together[index] = together.get(index, 0) + pods
    return together


def cost_of(drafts: Iterable[Draft]) -> float:
    """Return what all copies cost together, $/h."""
    return sum(draft.price * draft.copies for draft in drafts)


def nodes_in(drafts: Iterable[Draft]) -> int:
    """Return how many nodes the drafts are."""
    return sum(draft.copies for draft in drafts)


def placed_in(drafts: Iterable[Draft]) -> dict[int, int]:
    """Return how many pods of each class (by index) the drafts hold."""
    placed: dict[int, int] = {}
    for draft in drafts:
        for index, pods in draft.parts.items():
            placed[index] = placed.get(index, 0) + pods * draft.copies
    return placed
