"""Prices of instance types: on demand from the price list, spot from its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.regional import Regional
from treenail.adapters.ec2.instance_types import SpotPrices
from treenail.adapters.ec2.records import shipped_price_lists, shipped_region, shipped_regions
from treenail.domain.model.errors import UnavailableError

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_pricing.type_defs import FilterTypeDef

_RETRY_SECONDS: Final = 600.0
_PRICES_PAGE: Final = 100
_HISTORY_PAGE: Final = 1000
_LINUX: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
# How the price list calls virtual machines and bare metal, which it sells by the host.
_KINDS: Final = (("Shared", "Compute Instance"), ("Dedicated", "Compute Instance (bare metal)"))
# Regions whose prices are in no list we could ask for.
_UNLISTED: Final = ("us-gov-", "us-iso")
_STAND_IN_REGION: Final = "us-east-1"

OnDemandPrices: TypeAlias = Mapping[str, float]


class _Dimension(msgspec.Struct, rename="camel", frozen=True):
    price_per_unit: dict[str, str] = {}


class _Term(msgspec.Struct, rename="camel", frozen=True):
    price_dimensions: dict[str, _Dimension] = {}


class _Terms(msgspec.Struct, frozen=True):
    on_demand: dict[str, _Term] = msgspec.field(name="OnDemand", default_factory=dict)


class _Attributes(msgspec.Struct, rename="camel", frozen=True):
    instance_type: str = ""


class _Product(msgspec.Struct, frozen=True):
    attributes: _Attributes = _Attributes()


class _Listed(msgspec.Struct, frozen=True):
    """An item of the price list; only the fields named are read."""

    product: _Product = _Product()
    terms: _Terms = _Terms()


_DECODER: Final = msgspec.json.Decoder(_Listed)


class OnDemand(Regional[OnDemandPrices]):
    """The prices per hour on demand, in dollars (in China yuan), remembered for twelve hours.

    Before the list was ever read, and where it cannot be (`isolated`: there is no way to it), the prices
    that come with the package stand in: those of the region or, failing that, of us-east-1. A type that
    is listed no more keeps its last price.
    """

    def __init__(self, aws: Aws, caches: AnswerCaches, *, isolated: bool = False) -> None:
        region = aws.clients.region
        self._currency = "CNY" if region.startswith("cn-") else "USD"
        self._listed = not isolated and not region.startswith(_UNLISTED)
        self._prices = shipped_prices(region)
        super().__init__(aws, caches, "on-demand prices", retry_seconds=_RETRY_SECONDS, stand_in=self._prices)

    def read(self, *, ahead: float = 0.0) -> OnDemandPrices:
        """Return the price of each type; those that would be old in `ahead` seconds are looked up anew."""
        return super().read(ahead=ahead) if self._listed else self._prices

    def fresh(self, *, ahead: float = 0.0) -> bool:
        """Return whether `read` would return at once."""
        return not self._listed or super().fresh(ahead=ahead)

    def current(self) -> OnDemandPrices:
        """Return the last prices that were read, or their stand-ins. Asks AWS nothing."""
        return self._prices

    def last(self) -> OnDemandPrices | None:
        """Return the last prices, however old; None before any were asked for."""
        return super().last() if self._listed else self._prices

    def listed(self) -> OnDemandPrices:
        """Return what the price list says now, and nothing else.

        Raises:
            PortError: it could not be read, or has nothing for the region.
        """
        listed = {name: price for kind in _KINDS for name, price in self._ask(self._region, *kind)}
        if not listed:
            raise UnavailableError(f"the price list has nothing for {self._region}")
        return listed

    def _find(self, _region: str) -> OnDemandPrices:
        self._prices = {**self._prices, **self.listed()}
        return self._prices

    def _ask(self, region: str, tenancy: str, family: str) -> Iterator[tuple[str, float]]:
        wanted = {
            "capacitystatus": "Used",
            "marketoption": "OnDemand",
            "operatingSystem": "Linux",
            "preInstalledSw": "NA",
            "productFamily": family,
            "regionCode": region,
            "tenancy": tenancy,
        }
        filters: list[FilterTypeDef] = [
            {"Field": name, "Type": "TERM_MATCH", "Value": value} for name, value in wanted.items()
        ]
        ask = partial(
            self._aws.clients.pricing.get_products,
            ServiceCode="AmazonEC2",
            Filters=filters,
            MaxResults=_PRICES_PAGE,
        )
        for page in self._aws.pages("pricing", "GetProducts", ask):
            for text in page["PriceList"]:
                name, price = _read(text, self._currency)
                if name and price > 0:
                    yield name, price


class Spot(Regional[SpotPrices]):
    """The prices of spot per hour, in dollars, by type and zone; remembered for twelve hours.

    There are none before the history was ever read. What is missing in a later reading keeps its price.
    """

    def __init__(self, aws: Aws, caches: AnswerCaches) -> None:
        self._clock = caches.clock
        self._prices: SpotPrices = {}
        super().__init__(aws, caches, "spot prices", retry_seconds=_RETRY_SECONDS, stand_in=self._prices)

    def current(self) -> SpotPrices:
        """Return the last prices that were read, none before that. Asks AWS nothing."""
        return self._prices

    def _find(self, _region: str) -> SpotPrices:
        latest = self.latest()
        if not latest:
            # A region may have no spot at all; more likely something is wrong, and worth another look.
            raise UnavailableError("the history of spot prices is empty")
        self._prices = {**self._prices, **latest}
        return self._prices

    def latest(self) -> SpotPrices:
        """Return the last price of each type and zone that the history tells now, and nothing else.

        Raises:
            PortError: it could not be read.
        """
        latest: dict[tuple[str, str], tuple[datetime, float]] = {}
        ask = partial(
            self._aws.clients.ec2.describe_spot_price_history,
            StartTime=self._clock.now(),
            ProductDescriptions=_LINUX,
            MaxResults=_HISTORY_PAGE,
        )
        for page in self._aws.pages("ec2", "DescribeSpotPriceHistory", ask):
            for entry in page["SpotPriceHistory"]:
                pool = entry["InstanceType"], entry["AvailabilityZone"]
                said = entry["Timestamp"], float(entry["SpotPrice"])
                latest[pool] = max(said, latest.get(pool, said))
        return {pool: price for pool, (_, price) in latest.items()}


def _read(text: str, currency: str) -> tuple[str, float]:
    """Return the type and the price per hour that an item of the price list tells, 0 where it tells none."""
    try:
        item = _DECODER.decode(text)
        amounts = [
            float(dimension.price_per_unit.get(currency, 0))
            for term in item.terms.on_demand.values()
            for dimension in term.price_dimensions.values()
        ]
    except (msgspec.DecodeError, ValueError):
        return "", 0.0
    return item.product.attributes.instance_type, max(amounts, default=0.0)


def shipped_prices(region: str) -> OnDemandPrices:
    """Return the on-demand prices that come with the package; a missing one is that of us-east-1."""
    record = shipped_region(region if region in shipped_regions() else _STAND_IN_REGION)
    sold = {
        sale.instance_type: sale.on_demand_price for sale in record.sales if sale.on_demand_price is not None
    }
    return {**sold, **shipped_price_lists().get(region, {})}
