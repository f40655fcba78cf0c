"""Write the shipped catalogue anew from what AWS publishes; README.md beside this says from where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from treenail.adapters.ec2.described import DescribedType, record_of
from treenail.adapters.ec2.records import TYPES_FILE, RegionRecord, Sale, TypeRecord


class VpcLimit(msgspec.Struct, rename="camel", frozen=True):
    """What a VPC allows an instance type."""

    branch_interfaces: int


class Place(msgspec.Struct, rename="pascal", frozen=True):
    """An item of DescribeInstanceTypeOfferings: `location` is a zone's name or id, as was asked."""

    instance_type: str
    location: str


def type_records(
    described: Iterable[DescribedType],
    vpc_limits: Mapping[str, VpcLimit],
    network_mbps: Mapping[str, int],
) -> tuple[TypeRecord, ...]:
    """Return the records of all types that can be nodes, sorted by name."""
    no_limit = VpcLimit(branch_interfaces=0)
    return tuple(
        record_of(
            one,
            branch_interfaces=vpc_limits.get(one.instance_type, no_limit).branch_interfaces,
            network_mbps=network_mbps.get(one.instance_type),
        )
        for one in sorted(described, key=lambda one: one.instance_type)
        if one.runs_nodes
    )


def region_record(
    region: str,
    records: Iterable[TypeRecord],
    by_zone: Iterable[Place],
    by_zone_id: Iterable[Place],
    prices: Mapping[str, float],
) -> RegionRecord:
    """Return what `region` sells of `records`.

    The API names zones and their ids in two separate answers; a name and an id are the same zone where
    exactly the same types are sold.

    Raises:
        ValueError: a zone's name has no single id by that rule.
    """
    sold, sold_by_id = _sold(by_zone), _sold(by_zone_id)
    zones: dict[str, str] = {}
    for zone, types in sorted(sold.items()):
        same = [zone_id for zone_id, others in sold_by_id.items() if others == types]
        if len(same) != 1:
            raise ValueError(f"zone {zone} sells the same types as {sorted(same)}, not as one zone id")
        zones[zone] = same[0]
    sales = (
        Sale(record.name, tuple(zone for zone in zones if record.name in sold[zone]), prices.get(record.name))
        for record in records
    )
    return RegionRecord(region, zones, tuple(sale for sale in sales if sale.zones))


def _sold(places: Iterable[Place]) -> Mapping[str, set[str]]:
    sold: defaultdict[str, set[str]] = defaultdict(set)
    for place in places:
        sold[place.location].add(place.instance_type)
    return sold


def types_text(records: Iterable[TypeRecord]) -> str:
    """Write `records` as JSON, one to a line, so that a change of one type changes one line."""
    return f"[\n{_lines(records)}\n]\n"


def region_text(record: RegionRecord) -> str:
    """Write `record` as JSON, one sale to a line."""
    region, zones = _json(record.region), _json(record.zones)
    return f'{{"region":{region},"zones":{zones},"sales":[\n{_lines(record.sales)}\n]}}\n'


def _lines(items: Iterable[msgspec.Struct]) -> str:
    return ",\n".join(map(_json, items))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


Input = Annotated[Path, typer.Option(exists=True, dir_okay=False)]


def main(
    *,
    region: str,
    instance_types: Input,
    offerings: Input,
    offerings_by_zone_id: Input,
    prices: Input,
    vpc_limits: Input,
    network_mbps: Input,
) -> None:
    """Write the data of all instance types, and that of one region, beside this file."""
    decode = msgspec.json.decode
    described = decode(instance_types.read_bytes(), type=list[DescribedType] | dict[str, DescribedType])
    records = type_records(
        described.values() if isinstance(described, dict) else described,
        decode(vpc_limits.read_bytes(), type=dict[str, VpcLimit]),
        decode(network_mbps.read_bytes(), type=dict[str, int]),
    )
    sold = region_record(
        region,
        records,
        decode(offerings.read_bytes(), type=list[Place]),
        decode(offerings_by_zone_id.read_bytes(), type=list[Place]),
        decode(prices.read_bytes(), type=dict[str, float]),
    )
    here = Path(__file__).parent
    (here / TYPES_FILE).write_text(types_text(records), encoding="utf-8")
    (here / f"{region}.json").write_text(region_text(sold), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
