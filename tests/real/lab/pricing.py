"""The price list service, which moto lacks: GetProducts for EC2 instances on demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from tests.real.lab.wire import Call, StartResponse, answer_json, refuse
from tests.real.lab.world import World

_MOST: Final = 100
_TERM: Final = "JRTCKXETXF"
_PER_HOUR: Final = "6YS6EN2CT7"


def get_products(world: World, region: str, call: Call, start: StartResponse) -> list[bytes]:
    """Answer a call of GetProducts: one product per type with a price, all of Linux in `region`."""
    if call.action != "GetProducts":
        message = f"the price list of the laboratory has no {call.action}"
        return refuse(start, call, code="InvalidParameterException", message=message, status=400)
    asked = json.loads(call.body or b"{}")
    filters = {f["Field"]: f["Value"] for f in asked.get("Filters", ())}
    prices = {name: world.on_demand_price(name) for name in world.priced_types()}
    found = _found(
        tuple(prices.items()), region, asked.get("ServiceCode", ""), tuple(sorted(filters.items()))
    )
    first = int(asked.get("NextToken") or 0)
    end = first + min(int(asked.get("MaxResults") or _MOST), _MOST)
    page = {"FormatVersion": "aws_v1", "PriceList": found[first:end]}
    return answer_json(start, {**page, "NextToken": str(end)} if end < len(found) else page)


# It is asked for a page at a time, and prices seldom change.
@lru_cache(maxsize=8)
def _found(
    prices: tuple[tuple[str, float | None], ...],
    region: str,
    service: str,
    filters: tuple[tuple[str, str], ...],
) -> list[str]:
    if service != "AmazonEC2":
        return []
    products = (_product(name, price, region) for name, price in prices if price is not None)
    return [json.dumps(product) for product in products if _has(product, dict(filters))]


def _has(product: Mapping[str, Any], filters: Mapping[str, str]) -> bool:
    said = {**product["product"]["attributes"], "productFamily": product["product"]["productFamily"]}
    return all(said.get(field, "").lower() == value.lower() for field, value in filters.items())


def _product(name: str, price: float, region: str) -> dict[str, Any]:
    metal = ".metal" in name
    sku = hashlib.blake2b(f"{region}/{name}".encode(), digest_size=8).hexdigest().upper()
    term, rate = f"{sku}.{_TERM}", f"{sku}.{_TERM}.{_PER_HOUR}"
    dimension = {
        "unit": "Hrs",
        "beginRange": "0",
        "endRange": "Inf",
        "rateCode": rate,
        "appliesTo": [],
        "description": f"${price} per On Demand Linux {name} Instance Hour",
        "pricePerUnit": {"USD": f"{price:.10f}"},
    }
    attributes = {
        "servicecode": "AmazonEC2",
        "regionCode": region,
        "locationType": "AWS Region",
        "instanceType": name,
        "tenancy": "Dedicated" if metal else "Shared",
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "licenseModel": "No License required",
        "operation": "RunInstances",
    }
    return {
        "serviceCode": "AmazonEC2",
        "product": {
            "sku": sku,
            "productFamily": "Compute Instance (bare metal)" if metal else "Compute Instance",
            "attributes": attributes,
        },
        "terms": {"OnDemand": {term: {"sku": sku, "priceDimensions": {rate: dimension}}}},
        "publicationDate": "2026-07-20T00:00:00Z",
    }
