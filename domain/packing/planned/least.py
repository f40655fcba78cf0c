"""Bounds: the least that nodes for some pods can cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """Lower bounds for the nodes of some pods, $/h: of their prices together, and of their whole cost."""

    price: float = 0.0
    cost: float = 0.0

    def plus(self, other: Bound) -> Bound:
        return Bound(self.price + other.price, self.cost + other.cost)
