"""Of prices and pages, which we patch or add."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.real.lab.lab import Lab

A = "us-east-1a"


def history(lab: Lab, **asked: Any) -> list[dict[str, Any]]:
    pages = lab.client("ec2").get_paginator("describe_spot_price_history").paginate(**asked)
    return [row for page in pages for row in page["SpotPriceHistory"]]


def products(lab: Lab, **fields: str) -> list[dict[str, Any]]:
    filters = [{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in fields.items()]
    pages = (
        lab.client("pricing").get_paginator("get_products").paginate(ServiceCode="AmazonEC2", Filters=filters)
    )
    return [json.loads(text) for page in pages for text in page["PriceList"]]


def test_the_spot_price_now_is_one_row_per_type_zone_and_product(lab: Lab) -> None:
    rows = history(
        lab, InstanceTypes=["c5.large"], ProductDescriptions=["Linux/UNIX"], StartTime=datetime.now(UTC)
    )

    prices = {row["AvailabilityZone"]: float(row["SpotPrice"]) for row in rows}
    on_demand = lab.on_demand_price("c5.large")
    assert on_demand is not None
    assert len(rows) == len(prices) >= 5
    assert prices[A] == lab.spot_price("c5.large", A)
    assert all(0.29 * on_demand < price < 0.51 * on_demand for price in prices.values())
    assert len(set(prices.values())) > 1


def test_without_a_start_older_prices_come_too_and_other_products(lab: Lab) -> None:
    rows = history(lab, InstanceTypes=["c5.large"], Filters=[{"Name": "availability-zone", "Values": [A]}])

    assert {row["ProductDescription"] for row in rows} == {"Linux/UNIX", "Windows"}
    assert len({row["Timestamp"] for row in rows}) == 3


def test_all_spot_prices_take_several_pages(lab: Lab) -> None:
    asked = {"ProductDescriptions": ["Linux/UNIX"], "StartTime": datetime.now(UTC)}
    first = lab.client("ec2").describe_spot_price_history(**asked)

    assert len(first["SpotPriceHistory"]) == 1000
    assert first["NextToken"]


def test_a_price_that_is_set_shows(lab: Lab) -> None:
    lab.set_spot_price("c5.large", A, 0.0123)
    lab.set_on_demand_price("c5.large", 7.5)

    rows = history(
        lab, InstanceTypes=["c5.large"], AvailabilityZone=A, ProductDescriptions=["Linux/UNIX"],
        StartTime=datetime.now(UTC),
    )  # fmt: skip
    dimension = next(iter(products(lab, instanceType="c5.large")[0]["terms"]["OnDemand"].values()))

    assert [float(row["SpotPrice"]) for row in rows] == [0.0123]
    price = next(iter(dimension["priceDimensions"].values()))["pricePerUnit"]["USD"]
    assert float(price) == 7.5


def test_the_price_list_is_filtered_and_comes_in_pages(lab: Lab) -> None:
    shared = products(lab, tenancy="Shared", operatingSystem="Linux", regionCode="us-east-1")
    metal = products(lab, tenancy="Dedicated", productFamily="Compute Instance (bare metal)")

    names = [p["product"]["attributes"]["instanceType"] for p in shared]
    assert len(names) == len(set(names)) > 1000
    assert "c5.large" in names
    assert all(".metal" in p["product"]["attributes"]["instanceType"] for p in metal)
    assert len(metal) > 100
    assert products(lab, operatingSystem="Windows") == []
    assert lab.calls()["pricing:GetProducts"] > 10


def test_instance_types_come_a_hundred_at_a_time(lab: Lab) -> None:
    ec2 = lab.client("ec2")

    first = ec2.describe_instance_types()
    small = ec2.describe_instance_types(MaxResults=5, NextToken=first["NextToken"])
    named = ec2.describe_instance_types(InstanceTypes=["c5.large"])

    assert len(first["InstanceTypes"]) == 100
    assert len(small["InstanceTypes"]) == 5
    assert not {t["InstanceType"] for t in first["InstanceTypes"]} & {
        t["InstanceType"] for t in small["InstanceTypes"]
    }
    assert [t["InstanceType"] for t in named["InstanceTypes"]] == ["c5.large"]
    assert "NextToken" not in named


def test_a_token_that_is_not_ours_is_refused(lab: Lab) -> None:
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        lab.client("ec2").describe_subnets(NextToken="nonsense")
