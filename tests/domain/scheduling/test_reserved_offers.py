from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, claim, conditions, instance_type, node_class, node_pool
from tests.domain.reserved import count
from treenail.domain.launch.launch_options import LaunchOptions, options
from treenail.domain.launch.launching import exhausted_offerings, launches
from treenail.domain.model import labels
from treenail.domain.model.capacity_reservations import Count, with_reserved
from treenail.domain.model.catalogue_keys import OfferingKey, mark_unavailable
from treenail.domain.model.fleets import FleetAnswer, FleetError, FleetRequest
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import LAUNCHED, NodeClaim
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.reserved_claims import InReservations, in_reservations
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.scheduling.reserved_offers import Stock

LARGE = instance_type("m5.large", 2, price=0.1)
LATER = START + timedelta(seconds=30)


def pool_with(*wanted: Requirement) -> NodePool:
    return replace(node_pool(), requirements=Requirements(wanted))


def of_way(*ways: str) -> Requirement:
    return Requirement.of(labels.CAPACITY_TYPE, Operator.IN, ways)


def offers(
    *counts: Count,
    pool: NodePool | None = None,
    taken: InReservations | None = None,
    ran_out: tuple[OfferingKey, ...] = (),
) -> tuple[PoolOffer, ...]:
    stock = Stock.of(with_reserved((LARGE,), counts))
    return stock.offers(pool or node_pool(), None, taken=taken or {}, ran_out=frozenset(ran_out))


def existing_nodes(found: tuple[PoolOffer, ...]) -> dict[str, int]:
    return {offer.reservation: offer.reserved_left for offer in found if offer.reservation}


def on_reserved(name: str = "c1", reservation: str = "cr-1") -> NodeClaim:
    wanted = (of_way("reserved"), Requirement.of(labels.RESERVATION_ID, Operator.IN, (reservation,)))
    return replace(claim(name), requirements=Requirements(wanted), instance_types=("m5.large",))


def in_use(name: str, *, since: float) -> NodeClaim:
    known = {labels.RESERVATION_ID: "cr-1"}
    return replace(
        on_reserved(name),
        provider_id=f"aws:///a/{name}",
        labels=known,
        conditions=conditions(LAUNCHED, since=since),
    )


def test_what_is_reserved_comes_first_and_is_not_offered_twice() -> None:
    first, last = offers(count(left=2))

    assert (first.reservation, first.reserved_left) == ("cr-1", 2)
    assert first.pool.requirements[labels.CAPACITY_TYPE].single == labels.RESERVED
    assert first.pool.requirements[labels.RESERVATION_ID].single == "cr-1"
    assert last.pool == node_pool()
    assert [o.available for o in last.instance_types[0].offerings if o.reservation] == [False]


def test_claims_of_a_reservation_count_unless_they_were_counted_already() -> None:
    claims = [in_use("before", since=-1), in_use("after", since=1), on_reserved("planned"), claim("plain")]

    taken = in_reservations(claims)

    assert taken == {"cr-1": (START - timedelta(seconds=1), START + timedelta(seconds=1), None)}
    assert existing_nodes(offers(count(left=5), taken=taken)) == {"cr-1": 3}
    assert existing_nodes(offers(count(left=5, at=LATER), taken=taken)) == {"cr-1": 4}
    assert existing_nodes(offers(count(left=2), taken=taken)) == {}


@pytest.mark.parametrize(
    ("wanted", "bought"),
    [
        pytest.param((), {"cr-1", "cr-2"}, id="says nothing"),
        pytest.param((of_way("reserved"),), {"cr-1", "cr-2"}, id="reserved alone"),
        pytest.param((of_way("spot", "on-demand"),), set(), id="not reserved"),
        pytest.param((Requirement.of(labels.RESERVATION_ID, Operator.IN, ("cr-2",)),), {"cr-2"}, id="one"),
        pytest.param((Requirement(labels.RESERVATION_ID),), set(), id="none"),
    ],
)
def test_a_pool_buys_in_the_reservations_that_it_admits(
    wanted: tuple[Requirement, ...], bought: set[str]
) -> None:
    found = offers(count("cr-1"), count("cr-2", zone="b"), pool=pool_with(*wanted))

    assert set(existing_nodes(found)) == bought


def test_a_reservation_that_ran_out_is_left_out_and_others_are_not() -> None:
    gone = (labels.RESERVED, "m5.large", "cr-1")

    assert set(existing_nodes(offers(count("cr-1"), count("cr-2"), ran_out=(gone,)))) == {"cr-2"}


def test_pools_share_what_is_left_until_something_else_runs_out_or_is_back() -> None:
    stock = Stock.of((instance_type("m5.large", 2, price=0.1), instance_type("c5.large", 2, price=0.1)))
    first, second = replace(node_pool(), name="first"), replace(node_pool(), name="second")
    gone = frozenset({(labels.ON_DEMAND, "m5.large", "a")})

    def left(pool: NodePool, ran_out: frozenset[OfferingKey]) -> PoolOffer:
        (offer,) = stock.offers(pool, None, ran_out=ran_out, taken={})
        return offer

    marked = left(first, gone).instance_types
    assert left(second, frozenset(gone)).instance_types is marked
    assert marked == mark_unavailable(stock.types, gone)
    assert left(first, frozenset()).instance_types is stock.types
    assert left(first, gone).instance_types == marked


def test_a_claim_on_reserved_capacity_is_bought_as_that() -> None:
    types = with_reserved((LARGE,), [count("cr-1"), count("cr-2", left=9)])
    buyable = LaunchOptions(types)

    way, (override,) = options(on_reserved(), buyable)
    _, others = options(replace(claim("c2"), instance_types=("m5.large",)), buyable)

    assert (way, override.zone, override.reservation and override.reservation.id) == ("reserved", "a", "cr-1")
    assert others
    assert all(one.reservation is None for one in others)


def test_of_several_reservations_that_a_claim_admits_the_one_with_the_most_left_is_taken() -> None:
    types = with_reserved((LARGE,), [count("cr-1"), count("cr-2", left=9), count("cr-3")])
    wanted = replace(on_reserved(), requirements=Requirements((of_way("reserved"),)))

    _, (override,) = options(wanted, LaunchOptions(types))

    assert override.reservation is not None
    assert override.reservation.id == "cr-2"


def request() -> FleetRequest:
    types = with_reserved((LARGE,), [count("cr-1")])
    (launch,), hopeless = launches(
        [on_reserved("c1"), on_reserved("c2")],
        pool=node_pool(),
        node_class=node_class(),
        buyable=LaunchOptions(types),
        cluster_name="demo",
    )
    assert not hopeless
    return launch.request


def test_claims_on_one_reservation_are_bought_by_one_call_that_names_it() -> None:
    asked = request()

    assert (asked.count, asked.capacity_type) == (2, labels.RESERVED)
    assert [one.id for one in asked.reservations] == ["cr-1"]
    assert (
        asked.digest()
        != replace(asked, overrides=tuple(replace(o, reservation=None) for o in asked.overrides)).digest()
    )


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "InternalError", "UnauthorizedOperation"])
def test_an_error_that_is_not_about_the_reservation_leaves_it_in_use(code: str) -> None:
    refused = FleetAnswer(errors=(FleetError(code, "", "m5.large", "a"),))

    assert exhausted_offerings(request(), refused) == ()


@pytest.mark.parametrize("code", ["ReservationCapacityExceeded", "InvalidCapacityReservationId.NotFound"])
def test_a_reservation_that_ec2_refuses_has_run_out_by_its_id(code: str) -> None:
    refused = FleetAnswer(errors=(FleetError(code, "", "m5.large", "a"),))

    (key,) = exhausted_offerings(request(), refused)

    assert key == (labels.RESERVED, "m5.large", "cr-1")
    (left,) = mark_unavailable(with_reserved((LARGE,), [count("cr-1"), count("cr-2")]), frozenset({key}))
    assert {o.reservation.id: o.available for o in left.offerings if o.reservation} == {
        "cr-1": False,
        "cr-2": True,
    }
