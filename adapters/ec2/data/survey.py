"""A survey of one region: everything it sells now, asked of AWS from scratch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from treenail.adapters.ec2.data.generate import SoldBy
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.prices import OnDemand, Spot
from treenail.adapters.ec2.discovery.types import InstanceTypes, Zoned, offerings
from treenail.adapters.ec2.instance_types import SpotPrices
from treenail.adapters.ec2.records import TypeRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The offerings of a region, with prices in US dollars (in China yuan) per hour.

    `spot_prices` is empty where nobody asked for them.
    """

    region: str
    types: tuple[TypeRecord, ...]
    by_zone: SoldBy
    by_zone_id: SoldBy
    prices: Mapping[str, float]
    spot_prices: SpotPrices


def survey(aws: Aws, caches: AnswerCaches, *, spot: bool) -> Survey:
    """Ask for all types of the region of `aws`, where they are sold and what they cost.

    A type that cannot be understood is left out, and told to the log of `caches`. What no API tells is as
    it is shipped.

    Raises:
        PortError: a call got no answer. Older answers are not used instead.
    """
    return Survey(
        region=aws.clients.region,
        types=InstanceTypes(aws, caches).read(),
        by_zone=_sold_by(aws, "availability-zone"),
        by_zone_id=_sold_by(aws, "availability-zone-id"),
        prices=OnDemand(aws, caches).listed(),
        spot_prices=Spot(aws, caches).latest() if spot else {},
    )


def _sold_by(aws: Aws, by: Zoned) -> SoldBy:
    sold: defaultdict[str, set[str]] = defaultdict(set)
    for name, zone in offerings(aws, by):
        sold[zone].add(name)
    return {zone: frozenset(types) for zone, types in sold.items()}
