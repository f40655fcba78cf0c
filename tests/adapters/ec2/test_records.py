from __future__ import annotations

from treenail.adapters.ec2.records import (
    shipped_price_lists,
    shipped_region,
    shipped_regions,
    shipped_types,
)


def test_shipped_types_are_sorted_and_each_is_there_once() -> None:
    names = [record.name for record in shipped_types()]

    assert names == sorted(set(names))
    assert len(names) == 1386


def test_every_shipped_type_can_be_a_node() -> None:
    for record in shipped_types():
        assert record.arch in {"amd64", "arm64"}
        assert min(record.cpus, record.memory_mib, record.interfaces, record.ipv4_per_interface) > 0


def test_what_a_region_sells_is_known_by_type_and_zone() -> None:
    known = {record.name for record in shipped_types()}

    for region in map(shipped_region, shipped_regions()):
        sold = [sale.instance_type for sale in region.sales]
        assert sold == sorted(set(sold))
        assert known.issuperset(sold)
        assert len(set(region.zones.values())) == len(region.zones)
        for sale in region.sales:
            assert sale.zones
            assert region.zones.keys() >= set(sale.zones)
            assert sale.on_demand_price is None or sale.on_demand_price > 0


def test_prices_alone_are_shipped_of_regions_whose_list_cannot_be_asked_for() -> None:
    lists = shipped_price_lists()

    assert sorted(lists) == ["us-gov-east-1", "us-gov-west-1"]
    assert not lists.keys() & set(shipped_regions())
    for prices in lists.values():
        assert list(prices) == sorted(prices)
        assert min(prices.values()) > 0
