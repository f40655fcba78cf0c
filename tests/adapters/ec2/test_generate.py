from __future__ import annotations

import json

import msgspec
import pytest

from tests.adapters.ec2.node_classes import record
from treenail.adapters.ec2.data.generate import (
    SoldBy,
    all_of,
    prices_text,
    region_record,
    region_text,
    types_text,
    with_figures,
)
from treenail.adapters.ec2.records import Gpu, RegionRecord, Sale, TypeRecord


def sold_by(**sold: str) -> SoldBy:
    """sold_by(a="m5 c5"): zone a sells m5 and c5."""
    return {zone: frozenset(types.split()) for zone, types in sold.items()}


def test_a_region_sells_the_known_types_where_its_offerings_say() -> None:
    types = [record("c5"), record("m5"), record("z9")]

    found = region_record(
        "here", types, sold_by(a="m5 c5", b="m5 mac"), sold_by(id2="mac m5", id1="c5 m5"), {"m5": 0.1}, {}
    )

    assert found == RegionRecord(
        "here", {"a": "id1", "b": "id2"}, (Sale("c5", ("a",), None), Sale("m5", ("a", "b"), 0.1))
    )
    assert found.spot_prices == {}


def test_spot_prices_are_of_the_zones_in_turn() -> None:
    spot = {("m5", "b"): 0.03, ("c5", "b"): 0.01}

    found = region_record(
        "here",
        [record("c5"), record("m5")],
        sold_by(a="m5 c5", b="m5"),
        sold_by(id1="m5 c5", id2="m5"),
        {"m5": 0.1},
        spot,
    )

    assert found.sales == (Sale("c5", ("a",), None, (None,)), Sale("m5", ("a", "b"), 0.1, (None, 0.03)))
    assert found.spot_prices == {("m5", "b"): 0.03}


@pytest.mark.parametrize(
    "by_id",
    [sold_by(id1="m5", id2="m5", id3="m5 c5"), sold_by(id1="m5", id2="z9", id3="m5 c5")],
)
def test_zones_that_cannot_be_told_apart_have_no_id(by_id: SoldBy) -> None:
    found = region_record("here", [], sold_by(a="m5", b="m5", c="m5 c5"), by_id, {}, {})

    assert found.zones == {"a": "", "b": "", "c": "id3"}


def test_figures_that_are_given_replace_those_known_and_the_others_stay() -> None:
    types = [record("c5", branch_interfaces=1, network_mbps=10), record("m5", branch_interfaces=2)]

    found = with_figures(types, {"c5": 9, "z9": 7}, {"m5": 750})

    assert found == (
        record("c5", branch_interfaces=9, network_mbps=10),
        record("m5", branch_interfaces=2, network_mbps=750),
    )


def test_of_a_type_in_two_lots_the_first_holds() -> None:
    assert all_of([record("m5", cpus=2)], [record("c5"), record("m5", cpus=8)]) == (
        record("c5"),
        record("m5", cpus=2),
    )


def test_what_is_written_reads_back_as_it_was_one_type_to_a_line() -> None:
    types = (record("c5", local_storage_gb=9), record("m5", gpus=(Gpu("L4", "NVIDIA", 2, 22888),)))
    sales = (Sale("c5", ("a",), None), Sale("m5", ("a",), 0.1, (0.03,)))
    region = RegionRecord("here", {"a": "id1"}, sales)

    assert msgspec.json.decode(types_text(types), type=tuple[TypeRecord, ...]) == types
    assert len(types_text(types).splitlines()) == 2 + len(types)
    assert msgspec.json.decode(region_text(region), type=RegionRecord) == region
    assert len(region_text(region).splitlines()) == 2 + len(sales)


def test_prices_are_written_one_type_to_a_line_and_sorted() -> None:
    prices = {"there": {"m5": 0.1}, "here": {"z9": 2.0, "c5": 0.25}}

    text = prices_text(prices)

    assert json.loads(text) == prices
    assert text.splitlines()[1:4] == ['"here":{', '"c5":0.25,', '"z9":2.0']
