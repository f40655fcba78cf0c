"""The least that nodes for some pods can cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """What nodes for some pods must have as prices together at least, and what they must cost in all, $/h."""

    price: float = 0.0
    cost: float = 0.0

    def plus(self, other: Bound) -> Bound:
        return Bound(self.price + other.price, self.cost + other.cost)
