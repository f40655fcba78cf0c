from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.real.ec2.accounts import Account, node_class
from tests.real.lab.lab import Lab
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import DEFAULT_KUBELET, Kubelet, SelectorTerm

CLASS = node_class(SelectorTerm(alias="al2023@latest"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All types of the laboratory, read once for all tests here, and the calls that took."""

    account: Account
    types: tuple[InstanceType, ...]
    calls: dict[str, int]


@pytest.fixture(scope="module")
def reading(lab_process: Lab) -> Iterator[Reading]:
    lab_process.reset()
    lab_process.set_on_demand_price("m5.large", 0.5)
    account = Account(lab_process)
    types = account.catalogue.instance_types(CLASS, DEFAULT_KUBELET)
    yield Reading(account=account, types=types, calls=lab_process.calls())
    lab_process.check()


@pytest.fixture(scope="module")
def shipped(reading: Reading) -> dict[str, InstanceType]:
    """The types of the package, in the zones and with the ids that the laboratory has."""
    zones = reading.account.catalogue.resolve(CLASS).zones
    types = Catalogue.shipped().instance_types(CLASS, DEFAULT_KUBELET, zones=zones)
    return {one.name: one for one in types if one.offerings}


def test_over_the_wire_there_are_the_types_of_the_package(
    reading: Reading, shipped: dict[str, InstanceType]
) -> None:
    assert [one.name for one in reading.types] == sorted(shipped)
    assert len(reading.types) > 1300


def test_nodes_have_the_labels_and_the_room_that_the_package_says(
    reading: Reading, shipped: dict[str, InstanceType]
) -> None:
    for one in reading.types:
        same = shipped[one.name]
        assert one.requirements == same.requirements, one.name
        assert one.capacity == same.capacity, one.name
        assert one.allocatable == same.allocatable, one.name


def test_types_are_offered_in_the_same_zones_at_the_prices_of_the_list(
    reading: Reading, shipped: dict[str, InstanceType]
) -> None:
    for one in reading.types:
        same = {(o.zone, o.zone_id, o.capacity_type): o.price for o in shipped[one.name].offerings}
        found = {(o.zone, o.zone_id, o.capacity_type): o.price for o in one.offerings}
        assert found.keys() == same.keys(), one.name
        for place, price in found.items():
            if place[2] == labels.ON_DEMAND:
                assert price == (0.5 if one.name == "m5.large" else same[place]), one.name


def test_spot_costs_what_its_history_says(reading: Reading) -> None:
    (large,) = (one for one in reading.types if one.name == "m5.large")
    spot = {o.zone: o.price for o in large.offerings if o.capacity_type == labels.SPOT}

    assert spot == {zone: reading.account.lab.spot_price("m5.large", zone) for zone in spot}
    assert len(spot) == 3


def test_all_that_took_few_calls(reading: Reading) -> None:
    calls = dict(reading.calls)
    # A page has 1,000 of these, and there is more than one price of the day for a type in a zone.
    assert 7 <= calls.pop("ec2:DescribeSpotPriceHistory") <= 20

    assert calls == {
        "ec2:DescribeSubnets": 1,
        "ec2:DescribeSecurityGroups": 1,
        "ec2:DescribeImages": 1,
        "ssm:GetParameter": 5,
        # 1,395 types and 1,367 prices by 100, 6,436 offerings by 1,000.
        "ec2:DescribeInstanceTypes": 14,
        "pricing:GetProducts": 14,
        "ec2:DescribeInstanceTypeOfferings": 7,
    }


def test_asking_again_takes_no_call_and_little_time(reading: Reading) -> None:
    account = reading.account
    before = account.lab.calls()
    started = time.process_time()
    again = account.catalogue.instance_types(CLASS, DEFAULT_KUBELET)
    account.catalogue.instance_types(CLASS, Kubelet(max_pods=20))
    seconds = time.process_time() - started

    assert again is reading.types
    assert account.lab.calls() == before
    # It takes 0.2 s on a machine that has nothing else to do: all types anew for another kubelet.
    assert seconds < 4


def test_after_a_minute_only_subnets_and_images_are_looked_at_again(reading: Reading) -> None:
    account = reading.account
    before = account.lab.calls()
    account.time.seconds += 61
    again = account.catalogue.instance_types(CLASS, DEFAULT_KUBELET)
    made = {action: n - before.get(action, 0) for action, n in account.lab.calls().items()}

    assert again is reading.types
    assert {action: n for action, n in made.items() if n} == {
        "ec2:DescribeSubnets": 1,
        "ec2:DescribeImages": 1,
    }
