from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest

from tests.adapters.ec2.facts_of_then import CHANGES, Change, as_of_then
from tests.adapters.ec2.node_classes import instance_type, node_class
from tests.adapters.ec2.published import Published, published_types
from treenail.adapters.cli.catalogue import as_json
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.adapters.ec2.records import TypeRecord, shipped_region, shipped_types
from treenail.domain.model import labels
from treenail.domain.model.node_classes import DEFAULT_KUBELET
from treenail.domain.model.resources import amount_of

# EC2 sells none of these any more, in no region.
GONE = {f"g4ad.{size}" for size in ("xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge")}
# These are newer than the reference.
NEW_FAMILIES = {"r9g", "r9gd"}
NEW = {"t8i.nano", "t8i.micro", "t8i.small", "t8i.medium", "trn2.3xlarge", "trn2u.48xlarge"}

Printed = Mapping[str, Mapping[str, str]]


@cache
def published() -> dict[str, Published]:
    return published_types()


def printed(records: tuple[TypeRecord, ...]) -> dict[str, Printed]:
    """Return what `treenail catalogue -o json` would print of `records`."""
    types = Catalogue(records, shipped_region("us-east-1")).instance_types(node_class(), DEFAULT_KUBELET)
    return {one.name: as_json(one) for one in types}  # type: ignore[misc]


@cache
def now() -> dict[str, Printed]:
    return printed(shipped_types())


@cache
def then() -> dict[str, Printed]:
    return printed(as_of_then(shipped_types()))


def differing(found: Mapping[str, Printed], compare: Callable[[Printed, Published], bool]) -> set[str]:
    """Return the types of both lists of which `compare` says no."""
    both = published().keys() & found.keys()
    return {name for name in both if not compare(found[name], published()[name])}


def same_allocatable(found: Printed, one: Published) -> bool:
    return found["allocatable"] == one.allocatable


def same_labels(found: Printed, one: Published) -> bool:
    # Regions are not part of the reference.
    return {k: v for k, v in found["labels"].items() if k != labels.REGION} == one.labels


def test_every_published_type_is_shipped_but_for_those_that_are_sold_no_more() -> None:
    newer = {one.name for one in shipped_types() if one.family in NEW_FAMILIES} | NEW

    assert published().keys() - now().keys() == GONE
    assert now().keys() - published().keys() == newer
    assert len(published().keys() & now().keys()) == 1358


def test_with_the_facts_of_that_time_every_type_has_the_allocatable_that_karpenter_publishes() -> None:
    assert differing(then(), same_allocatable) == set()


def test_with_the_facts_of_that_time_every_type_has_the_labels_that_karpenter_publishes() -> None:
    assert differing(then(), same_labels) == set()


def test_allocatable_differs_today_only_where_limits_and_network_cards_are_known_better() -> None:
    limits, cards, *_ = CHANGES
    better = {one.name for one in shipped_types() if one != limits.earlier(one) or one != cards.earlier(one)}

    assert differing(now(), same_allocatable) == better
    assert len(better) == 60


def test_labels_differ_today_only_where_speeds_and_bandwidths_are_known_better() -> None:
    *_, speeds, bandwidths = CHANGES
    better = {
        one.name for one in shipped_types() if one != speeds.earlier(one) or one != bandwidths.earlier(one)
    }

    assert differing(now(), same_labels) == better
    assert len(better) == 69


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.field)
def test_no_change_is_named_that_is_none(change: Change) -> None:
    names = {one.name: one for one in shipped_types()} | {one.family: one for one in shipped_types()}

    assert all(change.earlier(names[name]) != names[name] for name in change.before)


@pytest.mark.parametrize(
    ("name", "cpu", "memory"),
    [
        ("t4g.small", "1930m", "1408312Ki"),
        ("t4g.medium", "1930m", "3377496Ki"),
        ("t4g.xlarge", "3920m", "15136012Ki"),
        ("m5.large", "1930m", "7220184Ki"),
    ],
)
def test_a_type_is_never_thought_larger_than_its_nodes_turn_out(name: str, cpu: str, memory: str) -> None:
    allocatable = instance_type(name).allocatable

    assert allocatable["cpu"] <= amount_of("cpu", cpu)
    assert allocatable["memory"] <= amount_of("memory", memory)
