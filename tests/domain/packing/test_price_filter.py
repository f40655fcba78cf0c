"""Which types of a claim are cheaper than what it replaces, whatever the launch gets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.movable import ANY_WAY, at_least, coming, going
from tests.domain.packing.problems import instance_type, is_in, offer, pool
from tests.domain.reserved import count
from tests.sentences import said
from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.capacity_reservations import with_reserved
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.packing.consolidation.price_filter import cheaper_than
from treenail.domain.packing.consolidation.same_type import not_bought_again, without_same_type
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.packing.problem import MinValuesPolicy, PoolOffer
from treenail.domain.scheduling.reserved_offers import Stock

NONE = Block.NONE_CHEAPER.by()
ON_DEMAND_ONLY = {labels.ON_DEMAND: 1.0}
SIZES = ("small", "medium", "large", "xlarge", "2xlarge")
C5 = tuple(instance_type(f"c5.{size}", cpu=2**i, memory=4, price=0.1 * 2**i) for i, size in enumerate(SIZES))
M5 = tuple(
    instance_type(f"m5.{size}", cpu=2**i, memory=8, price=0.12 * 2**i, ways=ON_DEMAND_ONLY)
    for i, size in enumerate(SIZES)
)
ALL = (*C5, *M5)
OFFERS = (offer(types=ALL),)
ON_DEMAND = is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)


def sold(name: str, *offerings: Offering) -> InstanceType:
    return replace(instance_type(name, cpu=2, memory=8, price=1.0), offerings=offerings)


def kept(claim: PlannedClaim | Blocker) -> tuple[str, ...]:
    assert not isinstance(claim, Blocker), claim
    return claim.instance_types


def ways(claim: PlannedClaim | Blocker) -> frozenset[str]:
    assert not isinstance(claim, Blocker), claim
    return claim.requirements[labels.CAPACITY_TYPE].values


# --- prices


def test_types_stay_that_cost_less_and_none_that_costs_the_same() -> None:
    claim = coming(ALL, ON_DEMAND)

    assert kept(cheaper_than(claim, OFFERS, 0.24)) == ("c5.small", "m5.small", "c5.medium")
    assert kept(cheaper_than(claim, OFFERS, 0.1001)) == ("c5.small",)
    assert cheaper_than(claim, OFFERS, 0.1) == NONE
    # A sum of prices is seldom exact: this is a tenth, as it comes of one.
    assert cheaper_than(claim, OFFERS, 0.1 + 0.2 - 0.2) == NONE


def test_what_a_node_costs_beside_its_price_counts() -> None:
    claim = coming(ALL, ON_DEMAND, surcharge=0.02)

    assert kept(cheaper_than(claim, OFFERS, 0.25)) == ("c5.small", "m5.small", "c5.medium")
    assert kept(cheaper_than(claim, OFFERS, 0.2)) == ("c5.small", "m5.small")


def test_a_type_counts_with_the_dearest_zone_of_the_way_it_is_bought_first() -> None:
    apart = sold(
        "c5.large",
        Offering("zone-a", labels.SPOT, 0.1),
        Offering("zone-b", labels.SPOT, 0.3),
        Offering("zone-a", labels.ON_DEMAND, 0.5),
    )
    claim, offers = coming((apart,), ANY_WAY), (offer(types=(apart,)),)

    assert cheaper_than(claim, offers, 0.3) == NONE
    assert kept(cheaper_than(claim, offers, 0.31)) == ("c5.large",)
    in_a = coming((apart,), ANY_WAY, is_in(labels.ZONE, "zone-a"))
    assert kept(cheaper_than(in_a, offers, 0.2)) == ("c5.large",)
    on_demand = coming((apart,), ON_DEMAND)
    assert cheaper_than(on_demand, offers, 0.5) == NONE


def test_an_offering_that_ran_out_counts_neither_for_nor_against_a_type() -> None:
    dear_one_out = sold(
        "c5.large",
        Offering("zone-a", labels.SPOT, 0.1),
        Offering("zone-b", labels.SPOT, 0.3, available=False),
    )
    spot_out = sold(
        "m5.large",
        Offering("zone-a", labels.SPOT, 0.1, available=False),
        Offering("zone-a", labels.ON_DEMAND, 0.5),
    )
    types = (dear_one_out, spot_out)

    assert kept(cheaper_than(coming(types, ANY_WAY), (offer(types=types),), 0.2)) == ("c5.large",)


def test_reserved_capacity_is_for_claims_that_ask_for_it_alone() -> None:
    types = with_reserved(C5, (count("cr-1", "c5.xlarge", "zone-a"),))
    offers = Stock.of(types).offers(pool(), None, taken={})
    reserved = next(one for one in types if one.name == "c5.xlarge")
    (there,) = (o for o in reserved.offerings if o.reservation is not None)
    asked = (is_in(labels.CAPACITY_TYPE, labels.RESERVED), is_in(labels.RESERVATION_ID, "cr-1"))

    found = cheaper_than(coming((reserved,), *asked), offers, there.price + 1e-6)

    assert kept(found) == ("c5.xlarge",)
    assert ways(found) == {labels.RESERVED}
    assert cheaper_than(coming((reserved,), ON_DEMAND), offers, there.price + 1e-6) == NONE


def test_the_claim_says_what_its_types_cost_and_have_at_most() -> None:
    found = cheaper_than(coming(ALL, ON_DEMAND), OFFERS, 0.24)

    assert not isinstance(found, Blocker)
    assert found.price == pytest.approx(0.1)
    assert found.largest["cpu"] == C5[1].capacity["cpu"]
    assert found.largest["memory"] == M5[0].capacity["memory"]


def test_types_that_the_pool_offers_no_more_are_dropped() -> None:
    claim = coming(ALL, ON_DEMAND)

    assert kept(cheaper_than(claim, (offer(types=M5),), 0.24)) == ("m5.small",)
    assert cheaper_than(claim, (offer(pool("other"), ALL),), 0.24) == NONE


# --- spot and on demand


def test_where_both_are_possible_only_spot_is_bought() -> None:
    # c5.large costs 0.16 on spot and 0.40 on demand, m5.small 0.12 and is not sold on spot.
    found = cheaper_than(coming(ALL, ANY_WAY), OFFERS, 0.2)

    assert ways(found) == {labels.SPOT}
    assert kept(found) == ("c5.small", "c5.medium", "c5.large")


def test_what_is_bought_in_one_way_only_stays_as_it_is() -> None:
    assert ways(cheaper_than(coming(ALL, ON_DEMAND), OFFERS, 0.2)) == {labels.ON_DEMAND}
    assert kept(cheaper_than(coming(M5, ANY_WAY), OFFERS, 0.2)) == ("m5.small",)
    spot = is_in(labels.CAPACITY_TYPE, labels.SPOT)
    assert ways(cheaper_than(coming(ALL, spot), OFFERS, 0.2)) == {labels.SPOT}


def test_types_are_in_the_order_of_what_they_cost_on_spot() -> None:
    dear_on_spot = sold(
        "m5.large", Offering("zone-a", labels.ON_DEMAND, 0.1), Offering("zone-a", labels.SPOT, 0.3)
    )
    cheap_on_spot = sold(
        "c5.large", Offering("zone-a", labels.ON_DEMAND, 0.4), Offering("zone-a", labels.SPOT, 0.2)
    )
    types = (dear_on_spot, cheap_on_spot)

    found = cheaper_than(coming(types, ANY_WAY), (offer(types=types),), 0.5)

    assert kept(found) == ("c5.large", "m5.large")
    assert not isinstance(found, Blocker)
    assert found.price == pytest.approx(0.2)


# --- minValues


def families(least: int) -> Requirement:
    return at_least(least, Requirement.of(labels.INSTANCE_FAMILY, Operator.EXISTS))


def test_what_min_values_asks_for_must_be_left() -> None:
    claim = coming(ALL, ON_DEMAND, families(2))

    found = cheaper_than(claim, OFFERS, 0.12)

    assert said(found) == (
        "Filtering by price: minValues requirement is not met for label(s) karpenter.k8s.aws/instance-family"
    )
    assert kept(cheaper_than(claim, OFFERS, 0.13)) == ("c5.small", "m5.small")


def test_types_that_cannot_be_bought_on_spot_are_no_choice() -> None:
    assert isinstance(cheaper_than(coming(ALL, ANY_WAY, families(2)), OFFERS, 0.5), Blocker)


def test_as_much_choice_as_there_is_will_do_where_that_is_the_policy() -> None:
    claim = coming(ALL, ON_DEMAND, families(2))

    found = cheaper_than(claim, OFFERS, 0.12, MinValuesPolicy.BEST_EFFORT)

    assert kept(found) == ("c5.small",)
    assert not isinstance(found, Blocker)
    assert found.requirements[labels.INSTANCE_FAMILY].min_values == 1


# --- several nodes, and the types they have


def same_type(*removed: tuple[str, float | None], claim: PlannedClaim) -> PlannedClaim | Blocker:
    nodes = [going(f"n{i}", of=of, price=price) for i, (of, price) in enumerate(removed)]
    return without_same_type(nodes, claim, OFFERS)


def test_several_nodes_are_replaced_only_by_less_than_the_cheapest_that_could_stay() -> None:
    on_demand = coming(C5, ON_DEMAND, surcharge=0.02)
    large = ("c5.2xlarge", 1.6)

    assert kept(same_type(large, large, ("c5.medium", 0.2), claim=on_demand)) == ("c5.small",)
    assert same_type(large, large, ("c5.small", 0.1), claim=on_demand) == NONE
    assert same_type(large, ("m5.small", 0.12), ("c5.large", None), claim=on_demand) == NONE


def test_nodes_of_types_that_are_not_to_come_leave_the_claim_alone() -> None:
    claim = coming(C5, ON_DEMAND)

    assert same_type(("m5.small", 0.01), ("m5.large", None), claim=claim) is claim


def test_of_several_nodes_those_that_a_claim_would_bring_again_are_told_apart() -> None:
    claim = coming(C5, ON_DEMAND)
    again, like = going("again", of="c5.small"), going("spot", of="c5.small", way=labels.SPOT)
    other = going("other", of="c5.large")

    assert not_bought_again((again, like, other), (claim,)) == (like, other)
    assert not_bought_again((again, other), ()) == (again, other)
    assert not_bought_again((again, again), (claim,)) == (again,)


# --- properties

prices = st.floats(0.01, 1.0)
types_sold = st.lists(
    st.lists(
        st.builds(
            Offering,
            st.sampled_from(("zone-a", "zone-b")),
            st.sampled_from((labels.SPOT, labels.ON_DEMAND)),
            prices,
            st.booleans(),
        ),
        max_size=4,
    ),
    min_size=1,
    max_size=8,
).map(lambda each: tuple(sold(f"c{i}.large", *offerings) for i, offerings in enumerate(each)))


@given(types_sold, prices, st.floats(0.0, 0.1), st.sampled_from((ANY_WAY, ON_DEMAND)))
def test_no_launch_of_what_is_left_costs_as_much_as_what_it_replaces(
    types: tuple[InstanceType, ...], most: float, surcharge: float, asked: Requirement
) -> None:
    if all(one.cheapest(Requirements((asked,))) is None for one in types):
        return
    claim = coming(types, asked, surcharge=surcharge)
    by_name = {one.name: one for one in types}

    found = cheaper_than(claim, (PoolOffer(pool=pool(), instance_types=types),), most)

    if isinstance(found, Blocker):
        return
    for name in found.instance_types:
        launches = [
            o
            for o in by_name[name].offerings
            if o.available and found.requirements[labels.CAPACITY_TYPE].has(o.capacity_type)
        ]
        assert launches
        assert all(o.price + surcharge < most for o in launches)
    assert set(found.instance_types) <= set(claim.instance_types)
    assert cheaper_than(found, (PoolOffer(pool=pool(), instance_types=types),), most) == found
