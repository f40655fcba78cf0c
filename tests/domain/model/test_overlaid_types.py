from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import instance_type, node_pool
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_overlays import NodeOverlay, PriceChange
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.overlaid_types import OverlaidTypes, overlaid, overlay_key
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.resources import NOTHING, Resources

LARGE = instance_type("m5.large", 2, price=0.1)
METAL = instance_type("m5.metal", 96, price=4.0)
FAST = instance_type("c5.large", 2, price=0.08)
TYPES = (FAST, LARGE, METAL)
FUSE = "smarter-devices/fuse"


def asks(key: str, *values: str, operator: Operator = Operator.IN) -> Requirements:
    return Requirements((Requirement.of(key, operator, values),))


def overlay(
    name: str = "own",
    *,
    weight: int = 0,
    about: Requirements | None = None,
    price: float | None = None,
    factor: float | None = None,
    capacity: Resources = NOTHING,
) -> NodeOverlay:
    change = None
    if price is not None:
        change = PriceChange(written=str(price), price=price)
    elif factor is not None:
        change = PriceChange(written=f"{factor}", factor=factor)
    return NodeOverlay(
        name=name, weight=weight, requirements=about or Requirements(), price=change, capacity=capacity
    )


def seen(*overlays: NodeOverlay, pool: NodePool | None = None) -> OverlaidTypes:
    return overlaid(TYPES, replace(pool or node_pool(), overlays=overlays))


def prices(found: OverlaidTypes, name: str = "m5.large") -> dict[tuple[str, str], float]:
    (one,) = (one for one in found.types if one.name == name)
    return {(o.zone, o.capacity_type): o.price for o in one.offerings}


def named(found: OverlaidTypes, name: str) -> InstanceType:
    return next(one for one in found.types if one.name == name)


def test_what_no_overlay_is_about_is_the_very_same() -> None:
    found = seen(overlay(about=asks(labels.INSTANCE_TYPE, "m5.large"), price=1))

    assert named(found, "c5.large") is FAST
    assert named(found, "m5.large") is not LARGE
    assert seen().types is TYPES
    assert seen(overlay(about=asks(labels.INSTANCE_TYPE, "x1.large"), price=1)).types is TYPES


def test_an_overlay_of_a_zone_and_a_way_to_buy_changes_that_offering_alone() -> None:
    about = asks(labels.ZONE, "b").with_(asks(labels.CAPACITY_TYPE, labels.SPOT))

    found = seen(overlay(about=about, factor=0.5))

    assert prices(found) == {
        ("a", "on-demand"): 0.1,
        ("a", "spot"): 0.1 * 0.4,
        ("b", "on-demand"): 0.1,
        ("b", "spot"): 0.1 * 0.4 * 0.5,
    }
    assert [o.overlay for o in named(found, "m5.large").offerings] == ["", "", "", "own"]


def test_capacity_goes_to_the_whole_type_where_one_offering_is_meant() -> None:
    found = seen(overlay(about=asks(labels.ZONE, "b"), capacity=Resources({FUSE: 3})))

    assert named(found, "m5.large").capacity == Resources({**LARGE.capacity, FUSE: 3})
    assert named(found, "m5.large").allocatable[FUSE] == 3
    assert named(found, "m5.large").overlays == ("own",)
    assert prices(found) == {(o.zone, o.capacity_type): o.price for o in LARGE.offerings}


def test_an_overlay_of_a_pool_or_of_its_own_labels_is_about_no_other_pool() -> None:
    team = replace(node_pool("batch"), labels={"example.com/team": "a"})
    by_name = overlay("by-name", about=asks(labels.NODEPOOL, "batch"), price=1)
    by_label = overlay("by-label", about=asks("example.com/team", "a"), price=1)

    for one in (by_name, by_label):
        assert set(prices(seen(one, pool=team)).values()) == {1}
        assert seen(one).types is TYPES


def test_pools_that_overlays_do_not_tell_apart_share_what_they_see() -> None:
    by_price = replace(overlay(price=1), resource_version=7)
    some, other = (replace(node_pool(name), overlays=(by_price,)) for name in ("some", "other"))

    assert overlay_key(some) == overlay_key(other)
    assert overlay_key(some) != overlay_key(replace(some, overlays=(replace(by_price, resource_version=8),)))
    asking = replace(by_price, requirements=asks(labels.NODEPOOL, "some"))
    assert overlay_key(replace(some, overlays=(asking,))) != overlay_key(replace(other, overlays=(asking,)))


def test_an_overlay_of_a_label_that_nodes_do_not_have_is_about_none() -> None:
    assert seen(overlay(about=asks("example.com/team", "a"), price=1)).types is TYPES
    without = overlay(about=asks("example.com/team", operator=Operator.DOES_NOT_EXIST), price=1)
    assert set(prices(seen(without)).values()) == {1}


def test_what_has_no_public_price_stays_without_one() -> None:
    unsold = replace(LARGE, offerings=tuple(replace(o, price=math.inf) for o in LARGE.offerings))

    found = overlaid((unsold,), replace(node_pool(), overlays=(overlay(price=0.01),)))

    assert {o.price for o in found.types[0].offerings} == {math.inf}


def test_between_equal_weights_each_offering_has_one_price_and_the_conflict_is_told() -> None:
    everywhere = overlay("everywhere", price=1)
    in_zone = overlay("zone-b", about=asks(labels.ZONE, "b"), price=2)

    found = seen(everywhere, in_zone)

    assert {place[0]: price for place, price in prices(found).items()} == {"a": 1, "b": 2}
    assert {(one.overlay, one.other, one.zone) for one in found.conflicts} == {("everywhere", "zone-b", "b")}
    assert str(found.conflicts[0]) == "c5.large (price as on-demand in b) with zone-b"


def test_a_conflict_below_the_overlay_that_counts_is_told_too() -> None:
    found = seen(overlay("top", weight=9, price=1), overlay("a", price=2), overlay("b", price=3))

    assert set(prices(found).values()) == {1}
    assert {(one.overlay, one.other) for one in found.conflicts} == {("a", "b")}


def test_resources_of_several_overlays_are_merged_and_each_conflicts_by_itself() -> None:
    first = overlay("a", capacity=Resources({FUSE: 1, "example.com/a": 1}))
    other = overlay("b", capacity=Resources({FUSE: 2}))

    found = seen(first, other)

    assert named(found, "m5.large").capacity[FUSE] == 2
    assert named(found, "m5.large").capacity["example.com/a"] == 1
    assert named(found, "m5.large").overlays == ("a", "b")
    assert {(one.overlay, one.resource) for one in found.conflicts} == {("a", FUSE)}
    assert str(found.conflicts[0]) == f"c5.large ({FUSE}) with b"


def test_capacity_takes_the_place_of_what_the_type_has_of_it() -> None:
    gpus = replace(LARGE, capacity=LARGE.capacity.plus(Resources({"nvidia.com/gpu": 1})))

    found = overlaid(
        (gpus,), replace(node_pool(), overlays=(overlay(capacity=Resources({"nvidia.com/gpu": 8})),))
    )

    assert found.types[0].allocatable["nvidia.com/gpu"] == 8


ABOUT = st.sampled_from(
    (
        Requirements(),
        asks(labels.ZONE, "a"),
        asks(labels.CAPACITY_TYPE, labels.SPOT),
        asks(labels.INSTANCE_TYPE, "m5.large", "c5.large"),
        asks(labels.INSTANCE_TYPE, "m5.large", operator=Operator.NOT_IN),
    )
)
OVERLAYS = st.lists(
    st.builds(
        NodeOverlay,
        name=st.sampled_from("abcdefgh"),
        weight=st.integers(0, 2),
        requirements=ABOUT,
        price=st.none()
        | st.builds(PriceChange, written=st.just("+"), factor=st.floats(0, 2), more=st.floats(-1, 1)),
        capacity=st.sampled_from((NOTHING, Resources({FUSE: 1}), Resources({FUSE: 2, "example.com/a": 1}))),
    ),
    unique_by=lambda one: one.name,
    max_size=6,
)


@given(OVERLAYS, st.randoms(use_true_random=False))
def test_the_order_in_which_overlays_are_told_means_nothing(
    overlays: list[NodeOverlay], dice: object
) -> None:
    shuffled = sorted(overlays, key=lambda _: dice.random())  # type: ignore[attr-defined]

    assert seen(*overlays) == seen(*shuffled)


@given(OVERLAYS)
def test_prices_are_never_below_zero_and_nothing_but_prices_and_extended_resources_changes(
    overlays: list[NodeOverlay],
) -> None:
    for before, after in zip(TYPES, seen(*overlays).types, strict=True):
        assert all(o.price >= 0 for o in after.offerings)
        assert {name: after.capacity[name] for name in before.capacity} == dict(before.capacity)
        unpriced = tuple(
            replace(new, price=old.price, overlay="")
            for old, new in zip(before.offerings, after.offerings, strict=True)
        )
        assert replace(after, offerings=unpriced, capacity=before.capacity, overlays=()) == before


@given(OVERLAYS)
def test_an_overlay_without_a_conflict_does_what_it_would_without_those_of_less_weight(
    overlays: list[NodeOverlay],
) -> None:
    heaviest = [one for one in overlays if one.weight == max(other.weight for other in overlays)]

    for whole, alone in zip(seen(*overlays).types, seen(*heaviest).types, strict=True):
        for one, of_heaviest in zip(whole.offerings, alone.offerings, strict=True):
            if of_heaviest.overlay:
                assert one == of_heaviest


@pytest.mark.parametrize(
    ("change", "of", "becomes"),
    [
        (PriceChange(written="-15", more=-15), 10.0, 0.0),
        (PriceChange(written="-25%", factor=0.75), 1.5, 1.125),
        (PriceChange(written="80", price=80.0), 82781.0, 80.0),
    ],
)
def test_a_change_replaces_a_price_or_adjusts_it(change: PriceChange, of: float, becomes: float) -> None:
    assert change.of(of) == becomes
