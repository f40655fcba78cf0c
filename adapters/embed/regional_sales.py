"""Sales of a region: what it sells and for how much, as far as it is known here. Nobody is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.adapters.ec2.records import (
    RegionRecord,
    Sale,
    shipped_offerings,
    shipped_price_lists,
    shipped_region,
    shipped_regions,
)

USUAL_REGION: Final = "us-east-1"


@dataclass(frozen=True, slots=True)
class RegionalSales:
    """The sales of a region. `warning` says where the prices are not those of the region, else it is ""."""

    record: RegionRecord
    warning: str = ""


def known_regions() -> tuple[str, ...]:
    """Return the regions whose offerings are known, sorted."""
    return tuple(sorted({*shipped_regions(), *shipped_offerings()}))


def sales_in(region: str, zones: Sequence[str], prices: Mapping[str, float]) -> RegionalSales:
    """Return what a region sells, in its `zones` where it is not known which.

    `prices` per hour on demand, by type, take the place of those that come with the package. Where none of
    the region come with it, those of us-east-1 stand in.
    """
    if region in shipped_regions():
        record = shipped_region(region)
        return RegionalSales(_priced(record, _prices_of(record) | dict(prices)) if prices else record)
    listed, warning = shipped_price_lists().get(region), ""
    if listed is None:
        listed = _prices_of(shipped_region(USUAL_REGION))
        warning = (
            f"no prices of {region} are known: those of {USUAL_REGION} are used, but for types whose price "
            "an Account, a NodeClaim or --price-overrides-file says; `make catalogue` reads those of a region"
        )
    known = {**listed, **prices}
    offered = shipped_offerings().get(region)
    if offered is None:
        everywhere = tuple(Sale(name, tuple(zones), price) for name, price in sorted(known.items()))
        return RegionalSales(RegionRecord(region, dict.fromkeys(zones, ""), everywhere), warning)
    return RegionalSales(_priced(offered, known), warning)


def _prices_of(record: RegionRecord) -> dict[str, float]:
    return {s.instance_type: s.on_demand_price for s in record.sales if s.on_demand_price is not None}


def _priced(record: RegionRecord, prices: Mapping[str, float]) -> RegionRecord:
    sales = (
        Sale(sale.instance_type, sale.zones, prices.get(sale.instance_type), sale.spot_prices)
        for sale in record.sales
    )
    return RegionRecord(record.region, record.zones, tuple(sales))
