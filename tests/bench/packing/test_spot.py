from __future__ import annotations

import pytest

from tests.bench.packing.decisions import Claim, Decision, Requirement
from tests.bench.packing.spot import Launches
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import NOTHING

ZONES = ("a", "b")


def instance_type(name: str, spot: float | None, on_demand: float) -> InstanceType:
    prices = {labels.SPOT: spot, labels.ON_DEMAND: on_demand}
    offerings = [
        Offering(zone=zone, capacity_type=way, price=price)
        for zone in ZONES
        for way, price in prices.items()
        if price is not None
    ]
    return InstanceType(
        name=name, requirements=Requirements(()), capacity=NOTHING, offerings=tuple(offerings)
    )


SMALL, LARGE = instance_type("small", 1.0, 2.0), instance_type("large", 1.5, 3.0)
NEVER_SPOT = instance_type("never-spot", None, 2.5)
LAUNCHES = Launches([SMALL, LARGE, NEVER_SPOT])


def claim(*types: str, **requirements: str) -> Claim:
    keys = {"way": labels.CAPACITY_TYPE, "zone": labels.ZONE}
    written = tuple(Requirement(keys[name], "In", (value,)) for name, value in requirements.items())
    return Claim(node_pool="p", pods=(), instance_types=types, requirements=written, price=1.0)


def decision(*claims: Claim) -> Decision:
    return Decision(
        node_claims=claims, existing={}, unschedulable={}, cost=1.0, pods=1, seconds=(), processor_seconds=()
    )


def test_a_claim_that_may_be_spot_is_and_one_that_may_not_takes_the_cheapest_on_demand() -> None:
    assert LAUNCHES.costs(decision(claim("small"))) == pytest.approx((1.0,) * 20)
    assert LAUNCHES.costs(decision(claim("small", "large", way="on-demand")), 1) == pytest.approx((2.0,))
    assert LAUNCHES.costs(decision(claim("never-spot")), 1) == pytest.approx((2.5,))


def test_dearer_types_that_are_offered_too_raise_the_cost_by_how_often_they_are_taken() -> None:
    (cost,) = LAUNCHES.costs(decision(claim("small", "large")), 1)
    costs = LAUNCHES.costs(decision(claim("small", "large")))

    assert 1.0 < cost < 1.25
    assert len(set(costs)) > 10, "markets are as deep everywhere"


def test_a_market_is_the_same_for_every_claim_that_is_in_it() -> None:
    one = decision(claim("small", "large"))

    assert LAUNCHES.costs(decision(*one.node_claims, *one.node_claims)) == pytest.approx(
        [2 * cost for cost in LAUNCHES.costs(one)]
    )


def test_spot_that_costs_more_than_the_cheapest_on_demand_is_not_offered() -> None:
    launches = Launches([SMALL, instance_type("dear", 2.1, 4.0)])

    assert launches.types_per_spot_claim(decision(claim("small", "dear"))) == 1


def test_a_claim_offers_where_its_zone_is_and_sixty_types_at_most() -> None:
    launches = Launches(instance_type(f"t{n:03d}", 1.0, 2.0) for n in range(100))
    offered = launches.offered(claim(*(f"t{n:03d}" for n in range(100)), zone="b"))

    assert offered.types == 60
    assert {option.zone for option in offered.spot} == {"b"}


def test_types_are_counted_for_spot_claims_alone() -> None:
    mixed = decision(claim("small", "large"), claim("small"), claim("small", "large", way="on-demand"))

    assert LAUNCHES.types_per_spot_claim(mixed) == 1.5
    assert LAUNCHES.types_per_spot_claim(decision(claim("never-spot"))) is None
