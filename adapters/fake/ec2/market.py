"""The spot market: prices and capacity drawn by seed, instance type and zone."""

from __future__ import annotations

import hashlib
from math import pi, sin
from typing import Final, TypeAlias

from treenail.adapters.fake.ec2.catalogue import Catalogue

_EPOCH_SECONDS: Final = 600
# A moving price goes up and down once within 6 to 24 hours, by up to this share of itself.
_SWING: Final = 0.15
_PERIOD_SECONDS: Final = (21_600.0, 86_400.0)
_DEEPEST: Final = 10
# A spot price's mean (a factor of the price on demand), its period (seconds) and its phase (0 to 1).
_Curve: TypeAlias = tuple[float, float, float]


class SpotMarket:
    """The spot market of a region, drawn from the seed, less prices that were set. Asking changes nothing."""

    def __init__(self, seed: int, catalogue: Catalogue, *, factor: tuple[float, float], moving: bool) -> None:
        self._seed = seed
        self._catalogue = catalogue
        self._factor = factor
        self._moving = moving
        self._curves: dict[tuple[str, str], _Curve] = {}
        self._set: dict[tuple[str, str], float] = {}
        # Grows with every price that is set: who remembers prices asks anew then.
        self.changes = 0

    def set_price(self, instance_type: str, zone: str, price: float | None) -> None:
        """Let spot cost `price` from now on, in $/h; with None again what it would by itself.

        Raises:
            ValueError: the type is not sold, or the price is not above 0.
        """
        if not self.sold(instance_type, zone):
            raise ValueError(f"{instance_type} is not sold in {zone}")
        if price is not None and price <= 0:
            raise ValueError(f"{price} is no price")
        if price is None:
            self._set.pop((instance_type, zone), None)
        else:
            self._set[instance_type, zone] = price
        self.changes += 1

    def sold(self, instance_type: str, zone: str) -> bool:
        """Return whether a type has a price, and the region has the zone."""
        return self._catalogue.on_demand_price(instance_type) is not None and zone in self._catalogue.zones

    def epoch(self, now: float) -> int:
        """Return the number of the span of time, at monotonic second `now`, within which prices stay."""
        return int(now // _EPOCH_SECONDS) if self._moving else 0

    def price(self, instance_type: str, zone: str, epoch: int) -> float | None:
        """Return what spot costs, in $/h; None where the type has no price."""
        on_demand = self._catalogue.on_demand_price(instance_type)
        if on_demand is None:
            return None
        if (instance_type, zone) in self._set:
            return self._set[instance_type, zone]
        curve = self._curves.get((instance_type, zone))
        if curve is None:
            curve = self._curves[instance_type, zone] = self._curve(instance_type, zone)
        factor, period, phase = curve
        if self._moving:
            factor *= 1 + _SWING * sin(2 * pi * (epoch * _EPOCH_SECONDS / period + phase))
        return round(on_demand * factor, 6)

    def price_at(self, instance_type: str, zone: str, now: float) -> float | None:
        """Return what spot costs at monotonic second `now`."""
        return self.price(instance_type, zone, self.epoch(now))

    def depth(self, instance_type: str, zone: str) -> int:
        """Return how much spare capacity there is, from 1 to 10."""
        return 1 + int(self._drawn("depth", instance_type, zone) * _DEEPEST)

    def _curve(self, instance_type: str, zone: str) -> _Curve:
        (low, high), (short, long) = self._factor, _PERIOD_SECONDS
        factor = low + (high - low) * self._drawn("factor", instance_type, zone)
        period = short + (long - short) * self._drawn("period", instance_type, zone)
        return factor, period, self._drawn("phase", instance_type, zone)

    def _drawn(self, what: str, instance_type: str, zone: str) -> float:
        text = f"{self._seed}/{what}/{instance_type}/{zone}"
        digest = hashlib.blake2b(text.encode(), digest_size=6).digest()
        return int.from_bytes(digest, "big") / 2**48
