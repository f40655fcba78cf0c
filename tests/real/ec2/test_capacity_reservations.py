"""Capacity reservations over the wire: found, counted, launched into, full, and cancelled."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.real.ec2.accounts import Account, node_class
from tests.real.ec2.clouds import LaidOut, cloud_of, request
from tests.real.lab.lab import Lab
from treenail.adapters.ec2.live_catalogue import LiveCatalogue
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetRequest, Override
from treenail.domain.model.node_classes import NodeClass, SelectorTerm
from treenail.domain.model.reservations import Reservation

LATEST = SelectorTerm(alias="al2023@latest")
ZONE = "us-east-1a"
TEAM = {"Key": "team", "Value": "web"}


def reserved(lab: Lab, *, instances: int = 2, of: str = "m5.large", **more: Any) -> str:
    specification = {"ResourceType": "capacity-reservation", "Tags": [TEAM]}
    made = lab.client("ec2").create_capacity_reservation(
        **{
            "InstanceType": of,
            "InstancePlatform": "Linux/UNIX",
            "AvailabilityZone": ZONE,
            "InstanceCount": instances,
            "InstanceMatchCriteria": "targeted",
            "TagSpecifications": [specification],
            **more,
        }
    )
    return str(made["CapacityReservation"]["CapacityReservationId"])


def of_terms(*terms: SelectorTerm) -> NodeClass:
    return replace(node_class(LATEST), reservation_terms=terms)


def found(lab: Lab, *terms: SelectorTerm) -> dict[str, int]:
    counts = Account(lab).catalogue.resolve(of_terms(*terms)).reservations
    return {count.of.reservation.id: count.left for count in counts}


def order(reservation: str, *, count: int = 1, token: str = "call-1") -> FleetRequest:  # noqa: S107
    override = Override("m5.large", ZONE, 0.0, Reservation(reservation))
    asked = replace(request("m5.large/a", count=count), token=token)
    return replace(asked, capacity_type=labels.RESERVED, overrides=(override,))


def test_where_nothing_reserved_is_to_be_used_none_is_looked_for(lab: Lab) -> None:
    wanted = of_terms(SelectorTerm(id=reserved(lab)))
    account = Account(lab)
    off = LiveCatalogue(account.aws, account.caches, account.cluster, reserved=False)

    assert account.catalogue.resolve(wanted).reservations
    asked = lab.calls().get("ec2:DescribeCapacityReservations", 0)
    assert off.resolve(wanted).reservations == ()
    assert "CapacityReservationsReady" not in {c.type for c in off.node_class_status(wanted).conditions}
    assert lab.calls().get("ec2:DescribeCapacityReservations", 0) == asked


def test_reservations_are_found_by_id_tags_owner_and_criteria(lab: Lab) -> None:
    own, other = reserved(lab), reserved(lab, TagSpecifications=[], InstanceMatchCriteria="open")

    assert found(lab, SelectorTerm(id=own)) == {own: 2}
    assert found(lab, SelectorTerm(tags=(("team", "*"),))) == {own: 2}
    assert found(lab, SelectorTerm(match_criteria="open")) == {other: 2}
    assert found(lab, SelectorTerm(id=own), SelectorTerm(match_criteria="open")) == {own: 2, other: 2}
    assert found(lab, SelectorTerm(tags=(("team", "*"),), owner="999999999999")) == {}
    assert found(lab) == {}


def test_what_cannot_be_used_is_not_found(lab: Lab) -> None:
    ended = reserved(lab)
    lab.client("ec2").cancel_capacity_reservation(CapacityReservationId=ended)
    reserved(lab, InstancePlatform="Windows")
    reserved(lab, Tenancy="dedicated")
    reserved(lab, AvailabilityZone="us-east-1f")

    assert found(lab, SelectorTerm(tags=(("team", "web"),)), SelectorTerm(id=ended)) == {}
    missing, there = SelectorTerm(id="cr-00000000000000000"), reserved(lab)
    assert found(lab, missing) == {}
    assert found(lab, missing, SelectorTerm(id=there)) == {there: 2}


def test_an_instance_is_launched_into_its_reservation_and_says_so(lab: Lab) -> None:
    reservation = reserved(lab)
    cloud = cloud_of(lab, LaidOut(lab))

    (bought,) = cloud.launch(order(reservation)).instances

    (described,) = (i for r in lab.client("ec2").describe_instances()["Reservations"] for i in r["Instances"])
    assert described["CapacityReservationId"] == reservation
    assert (bought.capacity_type, bought.reservation) == (labels.RESERVED, reservation)
    (listed,) = cloud.instances()
    assert (listed.capacity_type, listed.reservation) == (labels.RESERVED, reservation)
    assert found(lab, SelectorTerm(id=reservation)) == {reservation: 1}


def test_a_reservation_that_is_full_says_that_its_capacity_ran_out(lab: Lab) -> None:
    reservation = reserved(lab, instances=1)

    answer = cloud_of(lab, LaidOut(lab)).launch(order(reservation, count=2))

    assert len(answer.instances) == 1
    assert {error.code for error in answer.errors} == {"ReservationCapacityExceeded"}


def test_an_instance_whose_reservation_is_cancelled_is_on_demand_from_then_on(lab: Lab) -> None:
    reservation = reserved(lab)
    cloud = cloud_of(lab, LaidOut(lab))
    cloud.launch(order(reservation))

    lab.client("ec2").cancel_capacity_reservation(CapacityReservationId=reservation)

    (listed,) = cloud.instances()
    assert (listed.capacity_type, listed.reservation) == (labels.ON_DEMAND, "")


@pytest.mark.parametrize("capacity_type", [labels.ON_DEMAND, labels.SPOT])
def test_what_is_not_bought_as_reserved_leaves_reservations_alone(lab: Lab, capacity_type: str) -> None:
    cloud_of(lab, LaidOut(lab)).launch(replace(request("m5.large/a"), capacity_type=capacity_type))

    (described,) = (i for r in lab.client("ec2").describe_instances()["Reservations"] for i in r["Instances"])
    assert described["CapacityReservationSpecification"] == {"CapacityReservationPreference": "none"}


def test_instances_are_told_of_whose_capacity_block_is_about_to_end(lab: Lab) -> None:
    lab.set_pace(pending=0.0, hidden=0.0)
    soon = datetime.now(UTC) + timedelta(minutes=35)
    block, other = reserved(lab, EndDate=soon), reserved(lab)
    lab.make_block(block)
    cloud = cloud_of(lab, LaidOut(lab))
    (ending,) = cloud.launch(order(block)).instances
    cloud.launch(order(other, token="call-2"))  # noqa: S106 (a client token)

    (found,) = cloud.impairments().found

    assert (found.instance_id, found.kind) == (
        ending.id,
        InterruptionKind.CAPACITY_RESERVATION_INTERRUPTED,
    )
    assert found.deadline is not None
    assert timedelta(minutes=4) < found.deadline - datetime.now(UTC) <= timedelta(minutes=5)
