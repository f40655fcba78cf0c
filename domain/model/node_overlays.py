"""Node overlays: what users say instance types cost, and what extended resources their nodes will have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from treenail.domain.model.requirements import ANYTHING, Requirements
from treenail.domain.model.resources import NOTHING, Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """The change of a price in $/h: it is `price` now, or `factor` times what it was and `more` on top.

    `written` is how the overlay says it ("0.05", "+10%", "-0.01").
    """

    written: str
    price: float | None = None
    factor: float = 1.0
    more: float = 0.0

    def of(self, price: float) -> float:
        """Return what a price becomes; never less than 0."""
        changed = price * self.factor + self.more if self.price is None else self.price
        return max(changed, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOverlay:
    """A NodeOverlay: it changes prices of the offerings that its `requirements` select, or adds `capacity`.

    `weight` is 0 where it is unset; the largest counts. `capacity` are extended resources alone.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    generation: int = 0
    weight: int = 0
    requirements: Requirements = ANYTHING
    price: PriceChange | None = None
    capacity: Resources = NOTHING


def heaviest_overlays_first(overlays: Iterable[NodeOverlay]) -> tuple[NodeOverlay, ...]:
    """Return overlays in the order they count: by weight, and as in Karpenter the last name first."""
    by_name = sorted(overlays, key=lambda one: one.name, reverse=True)
    return tuple(sorted(by_name, key=lambda one: -one.weight))
