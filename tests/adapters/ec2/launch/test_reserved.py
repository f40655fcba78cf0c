from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.ec2.launch.orders import FACTS, node_class, request
from tests.adapters.ec2.launch.test_fleet_call import call
from treenail.adapters.ec2.launch.reserved import reservation_of
from treenail.adapters.ec2.launch.template import Build, Template, template_of
from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetRequest, Override
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.reservations import CAPACITY_BLOCK, Reservation

PLAIN = Reservation("cr-1")
BLOCK = Reservation("cr-1", CAPACITY_BLOCK)
LENT = Reservation("cr-1", interruptible=True)
ZONE = "us-east-1a"


def template(of: FleetRequest, reservation: Reservation | None = None) -> Template:
    build = Build(max_pods=29, reservation=reservation)
    return template_of(of, FACTS, security_groups=("sg-1",), instance_profile="nodes", build=build)


def reserved(reservation: Reservation) -> FleetRequest:
    override = Override("m5.large", ZONE, 0.0, reservation)
    return request(capacity_type=labels.RESERVED, overrides=(override,))


@pytest.mark.parametrize(
    ("reservation", "market"),
    [
        (PLAIN, None),
        (BLOCK, {"MarketType": "capacity-block"}),
        (LENT, {"MarketType": "interruptible-capacity-reservation"}),
    ],
)
def test_a_template_names_the_reservation_and_takes_nothing_else(
    reservation: Reservation, market: dict[str, str] | None
) -> None:
    data = template(reserved(reservation), reservation).data

    assert data["CapacityReservationSpecification"] == {
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationId": "cr-1"},
    }
    assert data.get("InstanceMarketOptions") == market


def test_what_is_not_bought_as_reserved_uses_up_no_open_reservation() -> None:
    assert template(request()).data["CapacityReservationSpecification"] == {
        "CapacityReservationPreference": "none"
    }


def test_where_a_class_cannot_name_reservations_open_ones_are_used_as_ever() -> None:
    old = replace(node_class(), ref=NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default"))

    assert "CapacityReservationSpecification" not in template(request(node_class=old)).data


def test_each_reservation_has_a_template_of_its_own() -> None:
    names = {template(reserved(one), one).name for one in (PLAIN, BLOCK, Reservation("cr-2"))}

    assert len(names) == 3


@pytest.mark.parametrize(
    ("reservation", "target", "options"),
    [
        (PLAIN, "on-demand", {"OnDemandOptions": {"AllocationStrategy": "lowest-price"}}),
        (BLOCK, "capacity-block", {}),
        (
            LENT,
            "reserved-capacity",
            {"ReservedCapacityOptions": {"ReservationTypes": ["interruptible-capacity-reservation"]}},
        ),
    ],
)
def test_a_fleet_asks_for_reserved_capacity_by_its_kind(
    reservation: Reservation, target: str, options: dict[str, Any]
) -> None:
    parameters = call(reserved(reservation)).parameters

    assert parameters["TargetCapacitySpecification"]["DefaultTargetCapacityType"] == target
    known = ("OnDemandOptions", "SpotOptions", "ReservedCapacityOptions")
    assert {name: value for name, value in parameters.items() if name in known} == options


def test_the_answer_is_read_by_the_reservation_that_was_asked_for() -> None:
    assert call(reserved(PLAIN)).reservations == {("m5.large", ZONE): PLAIN}


@pytest.mark.parametrize(
    ("preference", "reservation"),
    [("capacity-reservations-only", "cr-1"), ("open", ""), ("none", "")],
)
def test_an_instance_that_fell_into_an_open_reservation_was_not_bought_as_reserved(
    preference: Any, reservation: str
) -> None:
    found: Any = {
        "CapacityReservationId": "cr-1",
        "CapacityReservationSpecification": {"CapacityReservationPreference": preference},
    }

    assert reservation_of(found) == reservation
    assert reservation_of({}) == ""
