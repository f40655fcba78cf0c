from __future__ import annotations

import pytest

from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering, Overhead
from treenail.domain.model.requirements import ANYTHING, Operator, Requirement, Requirements
from treenail.domain.model.reservations import Reservation
from treenail.domain.model.resources import Resources

SPOT_A = Offering("us-east-1a", "spot", 0.05, zone_id="use1-az1")
SPOT_B = Offering("us-east-1b", "spot", 0.04, zone_id="use1-az2")
DEMAND_A = Offering("us-east-1a", "on-demand", 0.17, zone_id="use1-az1")
SOLD_OUT = Offering("us-east-1c", "spot", 0.01, available=False, zone_id="use1-az3")


def instance_type(*offerings: Offering, overhead: Overhead | None = None) -> InstanceType:
    return InstanceType(
        name="c5.xlarge",
        requirements=Requirements(
            [
                Requirement.of(labels.INSTANCE_TYPE, Operator.IN, ["c5.xlarge"]),
                Requirement.of(labels.ZONE, Operator.IN, sorted({o.zone for o in offerings})),
                Requirement.of(labels.AWS + "instance-gpu-count", Operator.DOES_NOT_EXIST),
            ]
        ),
        capacity=Resources.parse({"cpu": 4, "memory": "8Gi", "pods": 58}),
        overhead=overhead or Overhead(),
        offerings=offerings,
    )


def where(key: str, *values: str) -> Requirements:
    return Requirements([Requirement.of(key, Operator.IN, values)])


@pytest.mark.parametrize(
    ("requirements", "found"),
    [
        (ANYTHING, SPOT_B),
        (where(labels.ZONE, "us-east-1a"), SPOT_A),
        (where(labels.CAPACITY_TYPE, "on-demand"), DEMAND_A),
        (where(labels.CAPACITY_TYPE, "on-demand", "spot"), SPOT_B),
        (where(labels.ZONE_ID, "use1-az1"), SPOT_A),
        (where(labels.ZONE_ID, "use1-az1").with_(where(labels.CAPACITY_TYPE, "on-demand")), DEMAND_A),
        (where(labels.ZONE, "us-east-1c"), None),
        (where(labels.CAPACITY_TYPE, "reserved"), None),
        (Requirements([Requirement.of(labels.ZONE, Operator.NOT_IN, ["us-east-1b"])]), SPOT_A),
    ],
    ids=["any", "zone", "on-demand", "either", "zone-id", "both", "sold-out", "not-offered", "not-there"],
)
def test_the_cheapest_available_offering_that_is_allowed_is_found(
    requirements: Requirements, found: Offering | None
) -> None:
    assert instance_type(SPOT_A, SOLD_OUT, DEMAND_A, SPOT_B).cheapest(requirements) == found


def test_between_equal_prices_the_order_is_fixed() -> None:
    one, other = Offering("a", "spot", 0.1), Offering("b", "spot", 0.1)
    demand = Offering("b", "on-demand", 0.1)

    assert instance_type(other, one).cheapest(ANYTHING) == one
    assert instance_type(one, demand).cheapest(ANYTHING) == demand


def test_an_offering_requires_its_zone_and_capacity_type() -> None:
    assert SPOT_A.requirements().without(labels.OF_RESERVATIONS) == Requirements.from_labels(
        {labels.ZONE: "us-east-1a", labels.CAPACITY_TYPE: "spot", labels.ZONE_ID: "use1-az1"}
    )
    assert labels.ZONE_ID not in Offering("a", "spot", 0.1).requirements()


def test_only_reserved_capacity_has_the_labels_of_a_reservation() -> None:
    wanted = Requirements((Requirement.of(labels.RESERVATION_ID, Operator.IN, ("cr-1",)),))
    reserved = Offering("a", labels.RESERVED, 0, reservation=Reservation("cr-1"), left=1)

    assert wanted.intersects(reserved.requirements())
    assert not wanted.intersects(SPOT_A.requirements())
    assert reserved.requirements()[labels.RESERVATION_TYPE].single == "default"


def test_allocatable_is_capacity_less_all_overhead_and_never_negative() -> None:
    overhead = Overhead(
        kube_reserved=Resources.parse({"cpu": "80m", "memory": "893Mi"}),
        system_reserved=Resources.parse({"memory": "100Mi"}),
        eviction_threshold=Resources.parse({"memory": "100Mi"}),
    )

    assert instance_type(overhead=overhead).allocatable == Resources.parse(
        {"cpu": "3920m", "memory": "7099Mi", "pods": 58}
    )
    all_of_it = Overhead(kube_reserved=Resources.parse({"memory": "9Gi"}))
    assert instance_type(overhead=all_of_it).allocatable["memory"] == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (labels.INSTANCE_TYPE, "c5.xlarge"),
        (labels.ZONE, None),
        (labels.AWS + "instance-gpu-count", None),
        ("unheard-of", None),
    ],
)
def test_a_label_is_known_where_every_node_of_the_type_has_the_same(key: str, value: str | None) -> None:
    assert instance_type(SPOT_A, SPOT_B).label(key) == value
