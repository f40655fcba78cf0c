from __future__ import annotations

from itertools import pairwise

import pytest

from tests.adapters.fake.ec2.rig import ZONES, A, B, Rig, node_class, request
from tests.agenda import START
from treenail.adapters.fake.ec2 import EC2Settings
from treenail.domain.model import labels
from treenail.domain.model.node_classes import Kubelet


def test_spot_costs_a_drawn_share_of_on_demand_by_type_and_zone() -> None:
    prices = [Rig(seed=seed).ec2.spot_price("m5.large", zone) or 0 for seed in range(30) for zone in ZONES]

    assert all(0.25 * 0.096 <= price <= 0.60 * 0.096 for price in prices)
    assert len(set(prices)) == len(prices)
    assert max(prices) - min(prices) > 0.3 * 0.096


def test_asking_for_prices_in_another_order_does_not_change_them() -> None:
    one, other = Rig(), Rig()

    forward = {zone: one.ec2.spot_price("m5.large", zone) for zone in ZONES}
    backward = {zone: other.ec2.spot_price("m5.large", zone) for zone in reversed(ZONES)}

    assert forward == backward


def test_what_is_offered_costs_what_an_instance_then_costs() -> None:
    rig = Rig()
    types = {t.name: t for t in rig.ec2.instance_types(node_class(), Kubelet())}
    prices = {(o.zone, o.capacity_type): o.price for o in types["c5.large"].offerings}

    spot, on_demand = rig.launch_spot("c5.large/b", call="s"), rig.launch_one("c5.large/b", call="o")

    assert spot.price == prices[B, labels.SPOT] == rig.ec2.spot_price("c5.large", B)
    assert on_demand.price == prices[B, labels.ON_DEMAND] == 0.085


def test_a_type_nobody_knows_has_no_price() -> None:
    assert Rig().ec2.spot_price("zz9.large", A) is None


def test_prices_stay_unless_they_may_move() -> None:
    rig, moving = Rig(), Rig(settings=EC2Settings(moving_prices=True))

    def course(of: Rig) -> list[float]:
        prices = []
        for _ in range(144):
            of.agenda.run(600)
            prices.append(of.ec2.spot_price("m5.large", A) or 0.0)
        return prices

    still, moved = course(rig), course(moving)
    assert len(set(still)) == 1
    assert max(moved) > 1.1 * min(moved)
    assert max(moved) < 1.4 * min(moved)
    steps = [abs(b / a - 1) for a, b in pairwise(moved)]
    assert max(steps) < 0.04


def offered(rig: Rig) -> float:
    """Return what the catalogue of now says that spot of m5.large costs in the first zone."""
    types = {t.name: t for t in rig.ec2.instance_types(node_class(), Kubelet())}
    return next(o.price for o in types["m5.large"].offerings if (o.zone, o.capacity_type) == (A, labels.SPOT))


def test_offerings_follow_moving_prices() -> None:
    rig = Rig(settings=EC2Settings(moving_prices=True))
    before = offered(rig)
    rig.agenda.run(7200)

    assert offered(rig) == rig.ec2.spot_price("m5.large", A) != before


def test_a_price_that_was_set_is_what_is_offered_and_paid_until_it_is_lifted() -> None:
    rig = Rig()
    drawn = offered(rig)
    old = rig.launch_spot("m5.large/a", call="before")

    rig.ec2.outside.set_spot_price("m5.large", A, 0.012)
    new = rig.launch_spot("m5.large/a", call="after")

    assert offered(rig) == rig.ec2.spot_price("m5.large", A) == new.price == 0.012
    assert old.price == drawn
    assert rig.ec2.spot_price("m5.large", B) != 0.012
    rig.ec2.outside.set_spot_price("m5.large", A, None)
    assert offered(rig) == drawn


@pytest.mark.parametrize(
    ("instance_type", "zone", "price"),
    [("zz9.large", A, 0.1), ("m5.large", "eu-west-1a", 0.1), ("m5.large", A, 0.0)],
)
def test_what_is_not_sold_has_no_price_and_none_is_free(instance_type: str, zone: str, price: float) -> None:
    with pytest.raises(ValueError, match=r"is not sold|is no price|there is no zone"):
        Rig().ec2.outside.set_spot_price(instance_type, zone, price)


def test_an_instance_costs_by_the_second_until_it_is_terminated() -> None:
    rig = Rig()
    instance = rig.launch_one("m5.large/a")
    rig.agenda.run(1800)
    half_an_hour = rig.ec2.cost()
    rig.ec2.terminate((instance.id,))
    rig.agenda.run(3600)

    assert half_an_hour == pytest.approx(0.048)
    assert rig.ec2.cost() == half_an_hour
    assert rig.ec2.cost(START) == 0


def test_the_cost_of_all_is_the_sum_and_other_clusters_pay_for_themselves() -> None:
    rig = Rig()
    rig.ec2.launch(request("m5.large/a", count=2, call="two"))
    rig.ec2.outside.launch(request("p3.2xlarge/c", cluster="other", call="other"))
    rig.agenda.run(3600)

    assert rig.ec2.cost() == pytest.approx(0.192)
