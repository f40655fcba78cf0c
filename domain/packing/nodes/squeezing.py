"""Find places for those who got none, with all others where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from treenail.domain.packing.arrays.arrays import Bools, Floats, holds
from treenail.domain.packing.draft.drafts import Draft, added
from treenail.domain.packing.draft.lots import Lot
from treenail.domain.packing.draft.node_rules import NodeRules
from treenail.domain.packing.nodes.holes import fill_holes
from treenail.domain.packing.offers.families import Families, Family
from treenail.domain.packing.offers.limits import Ledger


class Squeezing:
    """Adds units to planned nodes (`drafts`), one lot after the other.

    First where that costs nothing, then on nodes that become larger by it, and last on nodes of their own,
    as far as what limits leave, which `ledger` tells, goes. `stands` tells whether all drafts may be bought.
    """

    def __init__(
        self,
        drafts: Sequence[Draft],
        families: Families,
        ledger: Ledger,
        rules: NodeRules,
        stands: Callable[[list[Draft]], bool],
    ) -> None:
        self.drafts = list(drafts)
        self._families = families
        self._ledger = ledger
        self._rules = rules
        self._stands = stands

    def place(self, lot: Lot, units: int) -> int:
        """Place up to `units` of a lot; return how many are left."""
        left = np.array([float(units)])
        while True:
            for link in lot.chain:
                self.drafts = fill_holes(self.drafts, link.family, [lot], left, self._families, self._rules)
            if not left[0] or not self._one_more(lot):
                return int(left[0])
            left[0] -= 1

    def _one_more(self, lot: Lot) -> bool:
        families = [link.family for link in lot.chain]
        return any(self._grown(lot, one) for one in families) or any(
            self._opened(lot, one) for one in families
        )

    def _grown(self, lot: Lot, family: Family) -> bool:
        """Put a unit of the lot on a node that becomes another type by it; tell whether there was one."""
        for at, draft in enumerate(self.drafts):
            narrowed = self._families.meet(draft.family, family)
            if narrowed is None or not self._may_join(draft, lot):
                continue
            load = draft.load + lot.requests
            own = draft.family.capacity[draft.row]
            row = _cheapest(narrowed, load, self._ledger.allowed(narrowed, own))
            if row is None:
                continue
            grown = Draft(narrowed, row, load, added(draft.parts, {lot.index: 1}))
            rest = [replace(draft, copies=draft.copies - 1)] if draft.copies > 1 else []
            changed = [*self.drafts[:at], grown, *rest, *self.drafts[at + 1 :]]
            if self._taken(narrowed.capacity[row] - own, narrowed, changed):
                return True
        return False

    def _opened(self, lot: Lot, family: Family) -> bool:
        """Plan a node for one unit of the lot; tell whether the limits leave any."""
        row = _cheapest(family, lot.requests, self._ledger.allowed(family))
        if row is None:
            return False
        opened = Draft(family, row, lot.requests, {lot.index: 1})
        return self._taken(family.capacity[row], family, [*self.drafts, opened])

    def _taken(self, capacity: Floats, family: Family, drafts: list[Draft]) -> bool:
        self._ledger.take(family.template, capacity)
        if not self._stands(drafts):
            self._ledger.take(family.template, -capacity)
            return False
        self.drafts = drafts
        return True

    def _may_join(self, draft: Draft, lot: Lot) -> bool:
        return self._rules.free(lot) or self._rules.most(self._rules.company(draft.parts), lot) >= 1


def _cheapest(family: Family, load: Floats, allowed: Bools) -> int | None:
    """Return the row of the cheapest type that holds `load` (R), of those that leave enough choice."""
    able = holds(family.whole, load) & allowed
    row = int(able.argmax())
    if not able[row] or (family.choice is not None and not family.choice.enough(able)):
        return None
    return row
