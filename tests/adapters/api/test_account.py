from __future__ import annotations

import json
from typing import Any

import pytest

from treenail.adapters.api.account import Account
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.manifests import decode_all, parse_manifests

SUBNET = {"id": "subnet-1", "zone": "eu-west-1a", "cidr": "10.0.0.0/24"}


def account(**spec: Any) -> Account:
    head = {"apiVersion": "treenail.sh/v1alpha1", "kind": "Account", "metadata": {"name": "mine"}}
    [found] = decode_all(
        parse_manifests(json.dumps({**head, "spec": spec}).encode(), "account.yaml")
    ).accounts
    return found


def test_the_region_of_an_account_is_that_of_its_zones() -> None:
    found = account(subnets=[SUBNET])

    assert (found.region, found.zones) == ("eu-west-1", ("eu-west-1a",))


def test_what_is_not_listed_is_not_known_and_what_is_listed_empty_is_not_there() -> None:
    assert account().images is None
    assert account(images=[]).images == ()


def test_a_subnet_without_a_block_has_one_of_its_own() -> None:
    found = account(subnets=[{**SUBNET, "cidr": "100.64.0.0/18"}, {"id": "subnet-2", "zone": "eu-west-1a"}])

    assert found.subnets is not None
    assert found.subnets[1].cidr == "100.64.64.0/19"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"subnets": [{**SUBNET, "id": "sg-1"}]}, "spec.subnets[0].id: 'sg-1' does not begin with subnet-"),
        ({"subnets": [SUBNET, SUBNET]}, "spec.subnets[1].id: 'subnet-1' is that of spec.subnets[0] already"),
        (
            {"subnets": [SUBNET, {**SUBNET, "id": "subnet-2"}]},
            "spec.subnets[1].cidr: '10.0.0.0/24' overlaps that of spec.subnets[0], 10.0.0.0/24",
        ),
        ({"subnets": [{**SUBNET, "cidr": "10.0.0.1/24"}]}, "spec.subnets[0].cidr: '10.0.0.1/24' is no block"),
        ({"subnets": [{**SUBNET, "zone": "here"}]}, "spec.subnets[0].zone: 'here' is no zone"),
        ({"region": "eu-west-2", "subnets": [SUBNET]}, "'eu-west-1a' is not in eu-west-2"),
        ({"region": "Ireland"}, "spec.region: 'Ireland' is no region"),
        ({"images": [{"id": "ami-1", "architecture": "x86"}]}, "spec.images[0].architecture"),
        ({"prices": {"onDemand": {"m5.large": -1}}}, "spec.prices.onDemand[m5.large]: -1 is not above 0"),
        ({"prices": {"onDemand": {"m5.large": 1e9}}}, "[m5.large]: 1000000000.0 is more than 1,000,000"),
        ({"prices": {"spot": {"m5.large": {"eu-west-1a": 0}}}}, "[m5.large].eu-west-1a: 0 is not above 0"),
        ({"prices": {"onDemand": {"large": 1}}}, "'large' is no instance type"),
        ({"subnetz": []}, "spec.subnetz"),
        ({"subnets": []}, "spec.subnets: is empty"),
        (
            {"subnets": [{**SUBNET, "cidr": "0.0.0.0/0"}, {"id": "subnet-2", "zone": "eu-west-1a"}]},
            "spec.subnets[1].cidr: is missing: the other subnets leave no block free",
        ),
        (
            {
                "capacityReservations": [
                    {"id": "cr-1", "instanceType": "p5.48xlarge", "zone": "eu-west-1a", "instances": 1}
                    | {"type": "capacity-block"}
                ]
            },
            "spec.capacityReservations[0].endTime: is missing",
        ),
    ],
)
def test_what_is_wrong_with_an_account_is_said_with_file_object_and_field(
    spec: dict[str, Any], said: str
) -> None:
    with pytest.raises(ManifestError) as caught:
        account(**spec)

    text = str(caught.value).replace('"', "'")
    assert text.startswith("account.yaml: Account mine: ")
    assert said in text
