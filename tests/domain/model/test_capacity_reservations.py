from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, instance_type
from tests.domain.reserved import count
from treenail.domain.model import labels
from treenail.domain.model.capacity_reservations import with_reserved
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.price_overrides import PriceOverride, PriceOverrides

LARGE, XLARGE = instance_type("m5.large", 2, price=0.1), instance_type("m5.xlarge", 4, price=0.2)


def reserved(one: InstanceType) -> list[Offering]:
    return [o for o in one.offerings if o.reservation is not None]


def test_reserved_capacity_is_an_offering_that_costs_next_to_nothing() -> None:
    large, xlarge = with_reserved((LARGE, XLARGE), [count(left=3)])

    (offering,) = reserved(large)
    assert (offering.zone, offering.capacity_type, offering.left) == ("a", labels.RESERVED, 3)
    assert offering.price == pytest.approx(0.1 / 10_000_000)
    assert offering.available
    assert labels.RESERVED in large.requirements[labels.CAPACITY_TYPE].values
    assert xlarge is XLARGE


def test_without_reservations_types_are_the_very_same() -> None:
    types = (LARGE, XLARGE)

    assert with_reserved(types, []) is types
    assert with_reserved(types, [count(of="p5.48xlarge")]) == types


def test_a_type_that_is_sold_in_no_other_way_is_there_where_it_is_reserved() -> None:
    only_reserved = replace(instance_type("p6.48xlarge", 192, price=1), offerings=())

    types = with_reserved((LARGE,), [count(of="p6.48xlarge")], unsold={"p6.48xlarge": only_reserved})

    assert [one.name for one in types] == ["m5.large", "p6.48xlarge"]
    assert reserved(types[1])[0].available


def test_what_the_node_class_cannot_launch_is_not_available_as_reserved_either() -> None:
    unavailable = tuple(replace(o, available=False) for o in LARGE.offerings)

    (large,) = with_reserved((replace(LARGE, offerings=unavailable),), [count()])

    assert not reserved(large)[0].available


def test_a_reservation_that_expires_is_listed_and_not_available() -> None:
    (large,) = with_reserved((LARGE,), [count(expiring=True)])

    assert [o.available for o in reserved(large)] == [False]


def test_ones_own_prices_hold_for_reserved_capacity_where_they_say_so() -> None:
    own = PriceOverrides((PriceOverride(capacity_types=("reserved",), price=0.01),))

    (large,) = with_reserved((LARGE,), [count()], prices=own)

    assert reserved(large)[0].price == 0.01


@pytest.mark.parametrize(
    ("kind", "minutes", "expiring"),
    [
        pytest.param("capacity-block", 41, False, id="time enough"),
        pytest.param("capacity-block", 40, True, id="ten minutes before its instances are ended"),
        pytest.param("default", 1, False, id="no block: instances go on as on demand"),
    ],
)
def test_a_capacity_block_expires_forty_minutes_before_its_end(
    kind: str, minutes: int, *, expiring: bool
) -> None:
    found = count(kind=kind, ends_at=START + timedelta(minutes=minutes)).of

    assert found.as_of(START).expiring is expiring
