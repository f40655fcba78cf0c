"""Writes the files of the shipped catalogue from AWS's answers; README.md beside this describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from treenail.adapters.ec2.instance_types import SpotPrices
from treenail.adapters.ec2.records import PRICES_FILE, TYPES_FILE, RegionRecord, Sale, TypeRecord

# The types that each zone sells, by the zone's name or by its id.
SoldBy = Mapping[str, frozenset[str]]


def with_figures(
    records: Iterable[TypeRecord], branch_interfaces: Mapping[str, int], network_mbps: Mapping[str, int]
) -> tuple[TypeRecord, ...]:
    """Return `records` with the figures that AWS publishes elsewhere; those not given stay as they are."""
    return tuple(
        msgspec.structs.replace(
            one,
            branch_interfaces=branch_interfaces.get(one.name, one.branch_interfaces),
            network_mbps=network_mbps.get(one.name, one.network_mbps),
        )
        for one in records
    )


def all_of(*lots: Iterable[TypeRecord]) -> tuple[TypeRecord, ...]:
    """Return the types of all lots, sorted by name; what an earlier lot says of one holds."""
    found: dict[str, TypeRecord] = {}
    for lot in lots:
        for one in lot:
            found.setdefault(one.name, one)
    return tuple(found[name] for name in sorted(found))


def region_record(
    region: str,
    records: Iterable[TypeRecord],
    by_zone: SoldBy,
    by_zone_id: SoldBy,
    prices: Mapping[str, float],
    spot_prices: SpotPrices,
) -> RegionRecord:
    """Return what `region` sells of `records`.

    The API names zones and their ids in two separate answers; a name and an id are the same zone where
    exactly the same types are sold, and only there. The id of a zone that cannot be told is empty.
    """
    zones = {zone: _id_of(zone, by_zone, by_zone_id) for zone in sorted(by_zone)}
    sales: list[Sale] = []
    for record in records:
        sold = tuple(zone for zone in zones if record.name in by_zone[zone])
        spot = tuple(spot_prices.get((record.name, zone)) for zone in sold)
        if sold:
            sales.append(Sale(record.name, sold, prices.get(record.name), spot if spot_prices else ()))
    return RegionRecord(region, zones, tuple(sales))


def _id_of(zone: str, by_zone: SoldBy, by_zone_id: SoldBy) -> str:
    types = by_zone[zone]
    alike = [other for other, sold in by_zone.items() if sold == types]
    ids = [zone_id for zone_id, sold in by_zone_id.items() if sold == types]
    return ids[0] if len(alike) == len(ids) == 1 else ""


def types_text(records: Iterable[TypeRecord]) -> str:
    """Write `records` as JSON, one to a line, so that a change of one type changes one line."""
    return f"[\n{_lines(records)}\n]\n"


def region_text(record: RegionRecord) -> str:
    """Write `record` as JSON, one sale to a line."""
    region, zones = _json(record.region), _json(record.zones)
    return f'{{"region":{region},"zones":{zones},"sales":[\n{_lines(record.sales)}\n]}}\n'


def prices_text(prices: Mapping[str, Mapping[str, float]]) -> str:
    """Write the prices of regions and types as JSON, one type to a line."""
    regions = ",\n".join(f"{_json(region)}:{{\n{_prices(prices[region])}\n}}" for region in sorted(prices))
    return f"{{\n{regions}\n}}\n"


def _prices(prices: Mapping[str, float]) -> str:
    return ",\n".join(f"{_json(name)}:{_json(prices[name])}" for name in sorted(prices))


def write_prices(folder: Path, prices: Mapping[str, Mapping[str, float]]) -> None:
    """Write the file of prices by region and type into `folder`."""
    (folder / PRICES_FILE).write_text(prices_text(prices), encoding="utf-8")


def write(folder: Path, records: Iterable[TypeRecord], regions: Iterable[RegionRecord]) -> None:
    """Write the files of the types and of the regions into `folder`."""
    (folder / TYPES_FILE).write_text(types_text(records), encoding="utf-8")
    for region in regions:
        (folder / f"{region.region}.json").write_text(region_text(region), encoding="utf-8")


def _lines(items: Iterable[msgspec.Struct]) -> str:
    return ",\n".join(map(_json, items))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
