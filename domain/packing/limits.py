"""How much of each pool's limits is left while a plan is made."""

from __future__ import annotations

import numpy as np

from treenail.domain.packing.arrays import Bools, Floats, holds
from treenail.domain.packing.compatibility.families import Family
from treenail.domain.packing.templates import Template
from treenail.domain.resources import NOTHING


class Ledger:
    """What the claims of a plan take of their pools' limits, each counted with the type it would be now.

    A type is allowed while its capacity is within what is left, in every limited resource.
    """

    def __init__(self) -> None:
        self._left: dict[int, Floats] = {}

    def copy(self) -> Ledger:
        """Return a ledger of the same entries."""
        other = Ledger()
        other._left = dict(self._left)
        return other

    def left(self, template: Template) -> Floats:
        """Return what is left (L), in the order of `template.limited`."""
        known = self._left.get(template.index)
        if known is None:
            limits = template.offer.limits_left or NOTHING
            known = np.array([limits[name] for name in template.limited], dtype=np.float64)
            self._left[template.index] = known
        return known

    def allowed(self, family: Family, given_back: Floats | float = 0.0) -> Bools:
        """Return which types (U) of `family` may be bought, or may be instead of what is `given_back` (L)."""
        left = self.left(family.template) + given_back
        return (
            holds(left, family.capacity) if family.template.limited else np.ones(len(family.types), np.bool_)
        )

    def copies(self, family: Family, row: int) -> float:
        """Return how many nodes of the type in `row`, one of those allowed, may be bought."""
        left, each = self.left(family.template), family.capacity[row]
        counted = each > 0
        return float(np.floor(left[counted] / each[counted]).min(initial=np.inf))

    def take(self, template: Template, capacity: Floats) -> None:
        """Count `capacity` (L) as used; a negative one gives back."""
        self._left[template.index] = self.left(template) - capacity
