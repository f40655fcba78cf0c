"""Prices of claims, as their annotations say them, and by the decision that bought them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.claims import DECISION
from treenail.domain.model.nodes import NodeClaim


def write_price(price: float) -> dict[str, str]:
    """Return the annotation with the price of a claim's instance in $/h; none if it is unknown."""
    return {labels.PRICE: f"{price:.6f}"} if price > 0 else {}


def price_of(claim: NodeClaim) -> float | None:
    """Return what a claim's instance costs in $/h, None where it does not say."""
    try:
        price = float(claim.annotations.get(labels.PRICE, ""))
    except ValueError:
        return None
    return price if math.isfinite(price) and price >= 0 else None


class ClaimPrices:
    """The prices of the claims there are, by the decision that made them. Mutable."""

    def __init__(self) -> None:
        self._decision_of: dict[str, str] = {}
        self._by_decision: dict[str, dict[str, float | None]] = {}

    def note(self, claim: NodeClaim) -> None:
        """Take in the present state of a claim."""
        decision = claim.annotations.get(DECISION, "")
        self.forget(claim.name)
        self._decision_of[claim.name] = decision
        self._by_decision.setdefault(decision, {})[claim.name] = price_of(claim)

    def forget(self, name: str) -> None:
        """Take in that a claim is gone."""
        decision = self._decision_of.pop(name, None)
        if decision is None:
            return
        made = self._by_decision[decision]
        made.pop(name, None)
        if not made:
            del self._by_decision[decision]

    def after(self, cause: Cause, decisions: Iterable[str]) -> float | None:
        """Return the cost of what replaces a node that ends for a cause, $/h; None if not known, or not yet.

        It is the price of what these decisions bought, which found places for its pods: 0 where they bought
        nothing, and 0 for an empty node, for which there were none.
        """
        bought = [self._by_decision.get(decision, {}) for decision in decisions]
        if cause is Cause.EMPTY and not bought:
            return 0.0
        prices = [price for made in bought for price in made.values()]
        if not bought or any(price is None for price in prices):
            return None
        return math.fsum(price for price in prices if price is not None)
