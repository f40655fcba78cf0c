"""Price overrides: discounts, savings plans and reservations in place of the public prices."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from treenail.domain.model.instance_types import InstanceType, Offering


@dataclass(frozen=True, kw_only=True)
class PriceOverride:
    """The real price of some offerings: `factor` times the public price, or `price` in US dollars per hour.

    `instance_types` are names, in which "*" stands for any text; `capacity_types` are those it is about, all
    where there are none. Just one of `factor` and `price` is not None.
    """

    instance_types: tuple[str, ...] = ("*",)
    capacity_types: tuple[str, ...] = ()
    factor: float | None = None
    price: float | None = None

    @cached_property
    def _names(self) -> re.Pattern[str]:
        either = "|".join(".*".join(map(re.escape, one.split("*"))) for one in self.instance_types)
        return re.compile(f"(?:{either})")

    def about(self, instance_type: str, capacity_type: str) -> bool:
        """Return whether it says what this offering costs."""
        bought_so = not self.capacity_types or capacity_type in self.capacity_types
        return bought_so and self._names.fullmatch(instance_type) is not None

    def of(self, public: float) -> float:
        """Return the price of an offering whose public price is `public`."""
        if self.price is not None:
            return self.price
        assert self.factor is not None  # noqa: S101
        return public * self.factor


@dataclass(frozen=True, slots=True)
class PriceOverrides:
    """All that is said of one's own prices. The first that is about an offering counts."""

    overrides: tuple[PriceOverride, ...] = ()

    def find(self, instance_type: str, capacity_type: str) -> PriceOverride | None:
        """Return the override that says what an offering costs; None where its public price holds."""
        return next((one for one in self.overrides if one.about(instance_type, capacity_type)), None)

    def applied(self, types: tuple[InstanceType, ...]) -> tuple[InstanceType, ...]:
        """Return `types` with their own prices; those that nothing is said of are the very same.

        An offering without a public price stays without one: it may not be sold at all.
        """
        return tuple(self._applied(one) for one in types) if self.overrides else types

    def reorder(self, names: Iterable[str], capacity_type: str) -> bool:
        """Return whether another of these types may cost the least than by the public prices."""
        return len({self.find(name, capacity_type) for name in names}) > 1

    def idle(self, types: Collection[InstanceType]) -> tuple[int, ...]:
        """Return the places, counted from 0, of the overrides that are about no offering of `types`."""
        used = {
            id(found)
            for one in types
            for offering in one.offerings
            if (found := self.find(one.name, offering.capacity_type)) is not None
        }
        return tuple(n for n, override in enumerate(self.overrides) if id(override) not in used)

    def _applied(self, instance_type: InstanceType) -> InstanceType:
        offerings = tuple(self._priced(instance_type.name, one) for one in instance_type.offerings)
        same = all(old is new for old, new in zip(instance_type.offerings, offerings, strict=True))
        return instance_type if same else replace(instance_type, offerings=offerings)

    def _priced(self, name: str, offering: Offering) -> Offering:
        override = self.find(name, offering.capacity_type)
        if override is None or not math.isfinite(offering.price):
            return offering
        return replace(offering, price=override.of(offering.price))


NO_OVERRIDES = PriceOverrides()
