from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.builders import instance_type
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverride, PriceOverrides

LARGE = instance_type("m5.large", 2, price=0.1)
METAL = instance_type("m5.metal", 96, price=4.0)
FAST = instance_type("c5.large", 2, price=0.08)
TYPES = (FAST, LARGE, METAL)


def prices(overrides: PriceOverrides, of: InstanceType = LARGE) -> dict[str, float]:
    """Return what a type costs in zone a, by capacity type."""
    (found,) = overrides.applied((of,))
    return {o.capacity_type: o.price for o in found.offerings if o.zone == "a"}


def overrides(*written: PriceOverride) -> PriceOverrides:
    return PriceOverrides(written)


def test_a_factor_is_of_the_public_price() -> None:
    assert prices(overrides(PriceOverride(factor=0.5))) == {"on-demand": 0.1 / 2, "spot": 0.1 * 0.4 / 2}


def test_a_price_takes_the_place_of_the_public_one_in_the_capacity_types_it_is_about() -> None:
    own = PriceOverride(capacity_types=(labels.ON_DEMAND,), price=0.03)

    assert prices(overrides(own)) == {"on-demand": 0.03, "spot": 0.1 * 0.4}


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("m5.large", {"m5.large"}),
        ("m5.*", {"m5.large", "m5.metal"}),
        ("*.large", {"c5.large", "m5.large"}),
        ("m*e*", {"m5.large", "m5.metal"}),
        ("m5", set()),
        ("m5.larg?", set()),
        ("*", {"c5.large", "m5.large", "m5.metal"}),
    ],
)
def test_a_star_stands_for_any_text_and_nothing_else_for_more_than_itself(
    pattern: str, names: set[str]
) -> None:
    own = overrides(PriceOverride(instance_types=(pattern,), factor=2))

    changed = {new.name for old, new in zip(TYPES, own.applied(TYPES), strict=True) if new is not old}

    assert changed == names


def test_the_first_that_is_about_an_offering_counts() -> None:
    own = overrides(
        PriceOverride(instance_types=("c5.*", "m5.large"), capacity_types=(labels.SPOT,), price=1.0),
        PriceOverride(instance_types=("m5.*",), factor=10),
        PriceOverride(price=7.0),
    )

    assert prices(own) == {"on-demand": 1.0, "spot": 1.0}
    assert prices(own, METAL) == {"on-demand": 40.0, "spot": 16.0}
    assert prices(own, FAST) == {"on-demand": 7.0, "spot": 1.0}


def test_an_offering_without_a_public_price_stays_out_of_use() -> None:
    unpriced = Offering("a", labels.SPOT, math.inf, available=False)

    (found,) = overrides(PriceOverride(price=0.01)).applied((replace(LARGE, offerings=(unpriced,)),))

    assert found.offerings == (unpriced,)


def test_where_nothing_is_said_types_are_the_very_same() -> None:
    assert NO_OVERRIDES.applied(TYPES) is TYPES


def test_those_that_are_about_nothing_there_is_are_found() -> None:
    own = overrides(
        PriceOverride(instance_types=("m5.lrage",), factor=2),
        PriceOverride(instance_types=("m5.*",), factor=2),
        PriceOverride(instance_types=("m5.large",), factor=2),
        PriceOverride(capacity_types=("reserved",), factor=2),
    )

    assert own.idle(TYPES) == (0, 2, 3)


def test_the_order_of_prices_may_change_only_where_types_are_not_all_treated_alike() -> None:
    own = overrides(PriceOverride(instance_types=("m5.*",), capacity_types=(labels.ON_DEMAND,), factor=0.5))

    assert own.reorder(("m5.large", "c5.large"), labels.ON_DEMAND)
    assert not own.reorder(("m5.large", "m5.metal"), labels.ON_DEMAND)
    assert not own.reorder(("m5.large", "c5.large"), labels.SPOT)
    assert not NO_OVERRIDES.reorder(("m5.large", "c5.large"), labels.ON_DEMAND)
