"""Allocation strategies of EC2: the offering that a fleet takes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetError

# Spot: what price-capacity-optimized looks at, as many of the cheapest and so much dearer at most.
_BAND_PRICE: Final = 1.3
_BAND_SIZE: Final = 12
_PRICE_WEIGHT: Final = 4


@dataclass(frozen=True, slots=True, order=True)
class Option:
    """An offering a fleet may take from, at a price in $/h; `depth` is how much spare capacity there is."""

    price: float
    instance_type: str
    zone: str
    depth: int = 1


def candidates(options: Sequence[Option], capacity_type: str) -> list[Option]:
    """Return those of the sorted `options` that the next instance may come from.

    On demand (lowest-price) these are the cheapest, spot (price-capacity-optimized) the cheaper ones.
    """
    cheapest = options[0].price if options else 0.0
    if capacity_type != labels.SPOT:
        return [option for option in options if option.price == cheapest]
    return [option for option in options[:_BAND_SIZE] if option.price <= cheapest * _BAND_PRICE]


def draw_one(among: Sequence[Option], dice: random.Random) -> Option:
    """Draw one of these candidates, cheap and deep pools more often."""
    cheapest = min(option.price for option in among)
    weights = [o.depth * (cheapest / o.price if o.price else 1.0) ** _PRICE_WEIGHT for o in among]
    return dice.choices(among, weights)[0]


def allocate(
    options: Sequence[Option],
    count: int,
    capacity_type: str,
    *,
    dice: random.Random,
    refusal: Callable[[Option], FleetError | None],
    take: Callable[[Option], None],
) -> tuple[FleetError, ...]:
    """Take `count` instances, one by one, or fewer where the options run out.

    `refusal` tells why there is nothing in one, if so. Return the refusals of those that were looked at.
    """
    left, errors = sorted(options), []
    for _ in range(count):
        among = candidates(left, capacity_type)
        while refused := [(option, error) for option in among if (error := refusal(option)) is not None]:
            for option, error in refused:
                errors.append(error)
                left.remove(option)
            among = candidates(left, capacity_type)
        if not among:
            break
        take(draw_one(among, dice))
    return tuple(errors)
