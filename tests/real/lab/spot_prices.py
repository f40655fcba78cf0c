"""DescribeSpotPriceHistory: a price per type, zone and product that was another one some hours ago."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Final
from uuid import uuid4

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES
from moto.ec2.responses.spot_instances import SpotInstances

from tests.real.lab.paging import page
from tests.real.lab.world import World

_MOST: Final = 1000
_ANSWER: Final = "DescribeSpotPriceHistoryResponse"
# What each product costs beside Linux, and what it cost so many hours ago beside what it costs now.
_PRODUCTS: Final = {"Linux/UNIX": 1.0, "Windows": 1.9}
_HISTORY: Final = ((1, 1.0), (9, 1.04), (30, 0.93))
# Names of the filters, and the parameters that say the same.
_FIELDS: Final = {
    "instance-type": ("InstanceType", "InstanceTypes"),
    "product-description": ("ProductDescription", "ProductDescriptions"),
    "availability-zone": ("AvailabilityZone", "AvailabilityZone"),
}


def install(world: World) -> None:
    """Patch moto."""

    def describe_spot_price_history(self: Any) -> str:
        history = list(_history(world, self.region, _wanted(self), _since(self)))
        found = page(self, "SpotPriceHistory", history, most=_MOST, usual=_MOST)
        return _answer(found["SpotPriceHistory"], found.get("NextToken", ""))

    SpotInstances.describe_spot_price_history = describe_spot_price_history


def _answer(rows: Iterable[Mapping[str, Any]], token: str) -> str:
    """Write the answer. Every controller reads some thousand rows, over which moto itself takes a second."""
    items = "".join(
        f"<item><instanceType>{row['InstanceType']}</instanceType>"
        f"<availabilityZone>{row['AvailabilityZone']}</availabilityZone>"
        f"<productDescription>{row['ProductDescription']}</productDescription>"
        f"<spotPrice>{row['SpotPrice']}</spotPrice>"
        f"<timestamp>{row['Timestamp']:%Y-%m-%dT%H:%M:%S.000Z}</timestamp></item>"
        for row in rows
    )
    return (
        f'<{_ANSWER} xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>{uuid4()}</requestId>'
        f"<nextToken>{token}</nextToken><spotPriceHistorySet>{items}</spotPriceHistorySet></{_ANSWER}>"
    )


def _wanted(request: Any) -> Mapping[str, list[str]]:
    """Return the patterns each field of a row must match one of, where there are any."""
    wanted: dict[str, list[str]] = {}
    filters = request._filters_from_querystring()
    for name, (field, parameter) in _FIELDS.items():
        asked = request._get_param(parameter) or []
        patterns = [asked] if isinstance(asked, str) else [*asked]
        patterns += filters.get(name, [])
        if patterns:
            wanted[field] = patterns
    return wanted


def _since(request: Any) -> datetime | None:
    start = request._get_param("StartTime")
    if isinstance(start, str):
        start = datetime.fromisoformat(start)
    if start is not None and start.tzinfo is None:
        start = start.replace(tzinfo=UTC)
    return start if start is None else start.astimezone(UTC)


def _history(
    world: World, region: str, wanted: Mapping[str, list[str]], since: datetime | None
) -> Iterator[dict[str, Any]]:
    now = datetime.now(UTC).replace(microsecond=0)
    for name, zone in _sold(region):
        price = world.spot_price(name, zone)
        for product, dearer in _PRODUCTS.items():
            row = {"InstanceType": name, "AvailabilityZone": zone, "ProductDescription": product}
            if price is None or not _matches(row, wanted):
                continue
            for hours, factor in _HISTORY:
                at = now - timedelta(hours=hours)
                yield {**row, "SpotPrice": f"{price * dearer * factor:.6f}", "Timestamp": at}
                # The price at the start of the time asked for was set before it.
                if since is not None and at <= since:
                    break


def _sold(region: str) -> Iterator[tuple[str, str]]:
    for offering in INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, ()):
        name = offering["InstanceType"]
        if "spot" in INSTANCE_TYPES.get(name, {}).get("SupportedUsageClasses", ()):
            yield name, offering["Location"]


def _matches(row: Mapping[str, str], wanted: Mapping[str, list[str]]) -> bool:
    return all(any(fnmatchcase(row[field], p) for p in patterns) for field, patterns in wanted.items())
