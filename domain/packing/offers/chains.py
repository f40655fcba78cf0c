"""Where pods may get a new node, in the order to be tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.offers.families import Families, Family
from treenail.domain.packing.offers.limits import Ledger
from treenail.domain.packing.pods.demands import Demand


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A family of nodes that may be opened, and the number of the alternative that leads there."""

    alternative: int
    family: Family


class Chains:
    """Finds chains, and remembers which families hold what."""

    def __init__(self, families: Families) -> None:
        self.families = families
        self._held: dict[tuple[int, int], bool] = {}
        self._allowed: dict[int, bool] = {}
        self._known: dict[tuple[tuple[tuple[Demand, ...], ...], int], tuple[Link, ...]] = {}
        self._kept: list[Floats] = []

    def holds(self, family: Family, requests: Floats) -> bool:
        """Tell whether some type of `family` holds `requests` (R)."""
        key = (family.index, id(requests))
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = family.holds(requests)
            # As long as it is kept, nothing else has its identity.
            self._kept.append(requests)
        return held

    def affordable(self, family: Family) -> bool:
        """Tell whether the limits leave a single node of the family."""
        if not family.template.limited:
            return True
        known = self._allowed.get(family.index)
        if known is None:
            known = self._allowed[family.index] = bool(Ledger().allowed(family).any())
        return known

    def known(self, alternatives: tuple[tuple[Demand, ...], ...], requests: Floats) -> tuple[Link, ...]:
        """Return the same as `of`, found once for each array of requests."""
        key = (alternatives, id(requests))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.of(alternatives, requests)
            self._kept.append(requests)
        return found

    def of(self, alternatives: Sequence[tuple[Demand, ...]], requests: Floats) -> tuple[Link, ...]:
        """Return the families in which a node can hold `requests`, by alternative, pools in their order.

        The first whose limits cannot be reached is the last: it takes all that comes to it.
        """
        links = []
        for number, demands in enumerate(alternatives):
            for template in range(len(self.families.templates)):
                family = self.families.of_all(template, demands)
                if family is None or not self.affordable(family) or not self.holds(family, requests):
                    continue
                links.append(Link(number, family))
                if not family.template.limited:
                    return tuple(links)
        return tuple(links)
