from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.node_classes import MIB, device, instance_type, node_class, record
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.adapters.ec2.records import RegionRecord, Sale, shipped_types
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, Kubelet
from treenail.domain.model.observed_capacity import Sizes
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import Resources

OD, SPOT = labels.ON_DEMAND, labels.SPOT


def small_catalogue() -> Catalogue:
    """Sell m5.large in two zones of three, mac.large by demand only, c9.large without a price, z9 nowhere."""
    region = RegionRecord(
        "here",
        {"here-b": "id-2", "here-a": "id-1", "here-c": "id-3"},
        (
            Sale("m5.large", ("here-a", "here-b"), 0.1),
            Sale("mac.large", ("here-a",), 0.5),
            Sale("c9.large", ("here-a",), None),
            Sale("a1.large", ("here-a",), 0.2),
        ),
    )
    types = (
        record("z9.large"),
        record("m5.large"),
        record("mac.large", usage_classes=("on-demand",)),
        record("c9.large"),
        record("a1.large", arch="arm64"),
    )
    return Catalogue(types, region)


def by_name(types: tuple[InstanceType, ...]) -> dict[str, InstanceType]:
    return {one.name: one for one in types}


def test_types_come_sorted_by_name_whether_sold_or_not() -> None:
    types = small_catalogue().instance_types(node_class(), DEFAULT_KUBELET)

    assert [one.name for one in types] == ["a1.large", "c9.large", "m5.large", "mac.large", "z9.large"]


def test_a_type_is_offered_in_every_zone_that_sells_it_in_every_way_it_is_sold() -> None:
    types = by_name(small_catalogue().instance_types(node_class(), DEFAULT_KUBELET))

    assert types["m5.large"].offerings == (
        Offering("here-a", OD, 0.1, zone_id="id-1"),
        Offering("here-a", SPOT, 0.1, zone_id="id-1"),
        Offering("here-b", OD, 0.1, zone_id="id-2"),
        Offering("here-b", SPOT, 0.1, zone_id="id-2"),
    )
    assert types["mac.large"].offerings == (Offering("here-a", OD, 0.5, zone_id="id-1"),)
    assert types["z9.large"].offerings == ()


def test_what_has_no_price_is_unavailable() -> None:
    types = by_name(small_catalogue().instance_types(node_class(), DEFAULT_KUBELET))

    assert [o.available for o in types["c9.large"].offerings] == [False, False]
    assert types["c9.large"].cheapest(types["c9.large"].requirements) is None


@pytest.mark.parametrize(
    ("family", "available"),
    [(AmiFamily.AL2, True), (AmiFamily.AL2023, False), (AmiFamily.WINDOWS2022, False)],
)
def test_what_the_image_cannot_boot_on_is_unavailable(family: AmiFamily, available: bool) -> None:  # noqa: FBT001
    types = by_name(small_catalogue().instance_types(node_class(family), DEFAULT_KUBELET))

    assert {o.available for o in types["a1.large"].offerings} == {available}


def test_spot_prices_are_by_type_and_zone_and_a_missing_one_makes_the_offering_unavailable() -> None:
    types = small_catalogue().instance_types(
        node_class(), DEFAULT_KUBELET, spot_prices={("m5.large", "here-b"): 0.03}
    )

    offered = [(o.zone, o.price) for o in by_name(types)["m5.large"].offerings if o.available]
    assert offered == [("here-a", 0.1), ("here-b", 0.1), ("here-b", 0.03)]


def test_new_spot_prices_change_nothing_but_the_offerings() -> None:
    catalogue = small_catalogue()
    before = catalogue.instance_types(node_class(), DEFAULT_KUBELET)

    after = catalogue.instance_types(node_class(), DEFAULT_KUBELET, spot_prices={})

    assert after != before
    assert (
        tuple(replace(one, offerings=old.offerings) for one, old in zip(after, before, strict=True)) == before
    )


def test_spot_prices_of_the_region_hold_until_others_are_given() -> None:
    sale = Sale("m5.large", ("here-a", "here-b"), 0.1, (0.02, None))
    catalogue = Catalogue([record("m5.large")], RegionRecord("here", {"here-a": "1", "here-b": "2"}, (sale,)))

    def spot(spot_prices: dict[tuple[str, str], float] | None) -> list[tuple[str, float]]:
        (one,) = catalogue.instance_types(node_class(), DEFAULT_KUBELET, spot_prices=spot_prices)
        return [(o.zone, o.price) for o in one.offerings if o.available and o.capacity_type == SPOT]

    assert spot(None) == [("here-a", 0.02)]
    assert spot({("m5.large", "here-b"): 0.03}) == [("here-b", 0.03)]


@pytest.mark.parametrize("zones", [("here-b",), (("here-b", "id-2"),)])
def test_only_the_zones_of_the_node_class_count(zones: tuple[str | tuple[str, str], ...]) -> None:
    types = by_name(small_catalogue().instance_types(node_class(), DEFAULT_KUBELET, zones=zones))

    assert {o.zone for o in types["m5.large"].offerings} == {"here-b"}
    assert types["m5.large"].label(labels.ZONE) == "here-b"
    assert types["m5.large"].label(labels.ZONE_ID) == "id-2"
    assert types["mac.large"].offerings == ()
    assert types["mac.large"].requirements[labels.ZONE].operator is Operator.DOES_NOT_EXIST


def test_an_account_may_name_its_zone_ids() -> None:
    types = small_catalogue().instance_types(node_class(), DEFAULT_KUBELET, zones=[("here-a", "id-9")])

    assert {o.zone_id for one in types for o in one.offerings} == {"id-9"}


def test_zones_are_counted_once_and_their_order_does_not_matter() -> None:
    catalogue = small_catalogue()

    one = catalogue.instance_types(node_class(), DEFAULT_KUBELET, zones=["here-b", "here-a", "here-b"])
    other = catalogue.instance_types(node_class(), DEFAULT_KUBELET, zones=["here-a", "here-b"])

    assert one is other


def test_node_classes_that_size_their_nodes_alike_share_one_result() -> None:
    catalogue = small_catalogue()
    first = catalogue.instance_types(node_class(), DEFAULT_KUBELET)

    alike = replace(node_class(), resource_version=7, user_data="#!/bin/sh", tags={"team": "a"})

    assert catalogue.instance_types(alike, Kubelet(cluster_dns=("10.0.0.10",))) is first


@pytest.mark.parametrize(
    "kubelet",
    [
        Kubelet(max_pods=10),
        Kubelet(pods_per_core=2),
        Kubelet(eviction_hard=(("memory.available", "5%"),)),
        Kubelet(eviction_hard=(("nodefs.available", "5%"),)),
    ],
)
def test_settings_that_size_nodes_are_not_mixed_up(kubelet: Kubelet) -> None:
    catalogue = small_catalogue()
    plain = by_name(catalogue.instance_types(node_class(), DEFAULT_KUBELET))

    changed = by_name(catalogue.instance_types(node_class(), kubelet))

    assert changed["m5.large"].allocatable != plain["m5.large"].allocatable


def test_volumes_and_families_are_not_mixed_up() -> None:
    sizes = [
        instance_type("c5d.xlarge", node).allocatable["ephemeral-storage"]
        for node in (
            node_class(),
            node_class(AmiFamily.AL2023, device("/dev/xvda", 100)),
            node_class(raid0=True),
            node_class(AmiFamily.WINDOWS2019),
        )
    ]

    assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize(
    ("name", "exotic"),
    [
        ("m5.large", False),
        ("c5n.18xlarge", False),
        ("i4i.metal", True),
        ("m7i.metal-24xl", True),
        ("g4dn.xlarge", True),
        ("g6f.large", True),
        ("trn1.2xlarge", True),
    ],
)
def test_bare_metal_and_types_with_chips_are_marked_exotic(name: str, exotic: bool) -> None:  # noqa: FBT001
    assert instance_type(name).exotic is exotic


@pytest.mark.parametrize(
    ("name", "specialised"),
    [
        ("m5.large", False),
        ("m6g.large", False),
        ("g5.xlarge", False),
        ("g5g.xlarge", True),
        ("hpc7g.4xlarge", True),
        ("f2.6xlarge", True),
        ("vt1.3xlarge", True),
    ],
)
def test_types_for_one_kind_of_work_are_marked_specialised(name: str, specialised: bool) -> None:  # noqa: FBT001
    assert instance_type(name).specialised is specialised


@pytest.mark.parametrize(
    ("name", "baseline"),
    [
        ("m5.large", None),
        ("trn1.2xlarge", None),
        ("t2.nano", 50),
        ("t2.xlarge", 900),
        ("t3.micro", 200),
        ("t3a.large", 600),
        ("t4g.medium", 400),
        ("t4g.2xlarge", 3200),
    ],
)
def test_burstable_types_have_their_baseline_of_cpu(name: str, baseline: int | None) -> None:
    assert instance_type(name).baseline == baseline


def test_every_burstable_type_that_is_shipped_has_a_baseline() -> None:
    assert all(one.baseline for one in shipped_types() if one.name[0] == "t" and one.name[1].isdigit())


def test_memory_learned_from_nodes_replaces_the_estimate_of_that_type_alone() -> None:
    catalogue = small_catalogue()
    estimated = catalogue.instance_types(node_class(), DEFAULT_KUBELET)

    learned = catalogue.instance_types(
        node_class(), DEFAULT_KUBELET, learned=Sizes(memory=(("m5.large", 7600 * MIB),))
    )

    assert by_name(learned)["m5.large"].capacity["memory"] == 7600 * MIB
    assert by_name(learned)["m5.large"].overhead == by_name(estimated)["m5.large"].overhead
    assert by_name(learned)["m5.large"].offerings == by_name(estimated)["m5.large"].offerings
    others = [(one, old) for one, old in zip(learned, estimated, strict=True) if one.name != "m5.large"]
    assert all(one is old for one, old in others)


def test_what_is_kept_free_as_a_percentage_is_of_the_memory_learned() -> None:
    tenth = Kubelet(eviction_hard=(("memory.available", "10%"),))

    (found,) = [
        one
        for one in small_catalogue().instance_types(
            node_class(), tenth, learned=Sizes(memory=(("m5.large", 7600 * MIB),))
        )
        if one.name == "m5.large"
    ]

    assert found.overhead.eviction_threshold["memory"] == 760 * MIB


def test_what_nodes_lacked_is_taken_off_what_is_left_by_the_memory_learned() -> None:
    room = Resources({"memory": 5000 * MIB, "pods": 8})
    learned = Sizes(memory=(("m5.large", 7900 * MIB),), room=(("m5.large", room),))

    shown = by_name(small_catalogue().instance_types(node_class(), DEFAULT_KUBELET, learned=learned))

    short = shown["m5.large"]
    assert (short.capacity["memory"], short.allocatable["memory"]) == (7900 * MIB, 5000 * MIB)
    assert (short.capacity["pods"], short.allocatable["pods"]) == (58, 8)


def test_what_was_learned_of_unknown_types_changes_nothing() -> None:
    catalogue = small_catalogue()

    learned = catalogue.instance_types(
        node_class(),
        DEFAULT_KUBELET,
        learned=Sizes(memory=(("x1.huge", MIB),), room=(("x1.huge", Resources({"pods": 1})),)),
    )

    assert learned == catalogue.instance_types(node_class(), DEFAULT_KUBELET)


def test_equal_lessons_share_one_result() -> None:
    catalogue = small_catalogue()
    first, again = (
        catalogue.instance_types(
            node_class(),
            DEFAULT_KUBELET,
            learned=Sizes(memory=(("m5.large", 7),), room=(("m5.large", Resources({"pods": 8})),)),
        )
        for _ in range(2)
    )

    assert again is first


def test_the_shipped_catalogue_knows_zones_and_prices() -> None:
    catalogue = Catalogue.shipped()

    assert catalogue.zones == tuple(f"us-east-1{letter}" for letter in "abcdef")
    assert catalogue.on_demand_price("m5.large") == 0.096
    assert catalogue.on_demand_price("m5.huge") is None


def test_a_region_without_data_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'mars-1' are shipped, only of us-east-1"):
        Catalogue.shipped("mars-1")
