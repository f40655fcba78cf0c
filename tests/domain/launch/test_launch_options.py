from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.builders import claim, instance_type
from treenail.domain.launch.launch_options import LaunchOptions, options
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources

FAMILY = labels.INSTANCE_FAMILY


def sold(name: str, *, on_demand: float | None = None, spot: float | None = None) -> InstanceType:
    """A type sold in one zone."""
    prices = ((labels.ON_DEMAND, on_demand), (labels.SPOT, spot))
    offerings = tuple(Offering("a", way, price) for way, price in prices if price is not None)
    return replace(instance_type(name, 2, price=1), offerings=offerings)


def exotic(name: str, price: float) -> InstanceType:
    return replace(sold(name, on_demand=price), exotic=True)


def of_family(one: InstanceType, family: str) -> InstanceType:
    own = (*one.requirements.in_order(), Requirement(FAMILY, frozenset((family,))))
    return replace(one, requirements=Requirements(own))


def wanting(types: Sequence[InstanceType], *wanted: Requirement, **fields: object) -> NodeClaim:
    names = tuple(t.name for t in types)
    return replace(claim("c1"), instance_types=names, requirements=Requirements(wanted), **fields)  # type: ignore[arg-type]


def bought(types: Sequence[InstanceType], *wanted: Requirement, **fields: object) -> tuple[str, list[str]]:
    """Return how a claim is bought, and the types it is bought from."""
    capacity_type, overrides = options(wanting(types, *wanted, **fields), LaunchOptions(types))
    return capacity_type, [o.instance_type for o in overrides]


def families(least: int, *values: str) -> Requirement:
    return Requirement(FAMILY, frozenset(values or ("c", "m", "r")), min_values=least)


def test_types_that_cannot_hold_the_claim_any_more_are_left_out() -> None:
    small, large = instance_type("small", 2, price=1), instance_type("large", 8, price=4)

    _, names = bought((small, large), requests=Resources.parse({"cpu": "3"}))

    assert set(names) == {"large"}


def test_what_is_exotic_is_left_out_where_there_is_something_else() -> None:
    assert bought((exotic("g5.xlarge", 1), sold("m5.large", on_demand=2)))[1] == ["m5.large"]
    assert bought((exotic("g5.xlarge", 1),))[1] == ["g5.xlarge"]


def test_the_price_that_spot_must_not_exceed_is_not_that_of_an_exotic_type() -> None:
    types = (exotic("c5.metal", 0.5), sold("m5.large", on_demand=2, spot=1))

    assert bought(types) == (labels.SPOT, ["m5.large"])


def test_spot_above_the_cheapest_on_demand_is_left_out() -> None:
    types = (sold("c5.large", on_demand=1, spot=0.5), sold("m5.large", on_demand=2, spot=1.5))

    assert bought(types) == (labels.SPOT, ["c5.large"])


def test_the_ceiling_is_what_the_claim_may_buy_on_demand() -> None:
    types = (sold("c5.large", on_demand=1, spot=2),)

    assert bought(types, Requirement(labels.CAPACITY_TYPE, frozenset((labels.SPOT,))))[0] == labels.SPOT


def test_the_cut_is_made_before_it_is_decided_how_to_buy() -> None:
    cheap = [sold(f"t{n:02}", on_demand=1 + n / 100) for n in range(60)]
    spot = sold("z1.large", on_demand=3, spot=1.7)

    capacity_type, names = bought((*cheap, spot), families(1))
    assert (capacity_type, names) == (labels.ON_DEMAND, [])  # no type has a family: too few values

    typed = [of_family(t, "c") for t in cheap]
    assert bought((*typed, of_family(spot, "c")), families(1)) == (
        labels.ON_DEMAND,
        [t.name for t in cheap],
    )


def test_with_min_values_neither_exotic_nor_dear_types_are_left_out() -> None:
    types = (
        of_family(sold("c5.large", on_demand=1, spot=0.5), "c"),
        of_family(sold("m5.large", on_demand=2, spot=1.5), "m"),
        of_family(replace(exotic("r5.metal", 9), offerings=(Offering("a", labels.SPOT, 4),)), "r"),
    )

    assert bought(types, families(2)) == (labels.SPOT, ["c5.large", "m5.large", "r5.metal"])


@pytest.mark.parametrize(("least", "there"), [(1, True), (2, True), (3, False)])
def test_where_the_types_left_have_too_few_values_there_is_nothing_to_choose_from(
    *, least: int, there: bool
) -> None:
    types = (of_family(sold("c5.large", on_demand=1), "c"), of_family(sold("m5.large", on_demand=2), "m"))

    assert bool(bought(types, families(least))[1]) is there


def test_the_cut_keeps_what_min_values_need_though_it_is_dear() -> None:
    cheap = [of_family(sold(f"t{n:02}", on_demand=1 + n / 100), "c") for n in range(60)]
    dear = of_family(sold("m5.24xlarge", on_demand=50), "m")

    _, names = bought((*cheap, dear), families(2))

    assert names == [*(t.name for t in cheap[:59]), "m5.24xlarge"]


def test_what_ran_out_leaves_too_few_values() -> None:
    ran_out = Offering("a", labels.ON_DEMAND, 2, available=False)
    gone = replace(sold("m5.large", on_demand=2), offerings=(ran_out,))
    types = (of_family(sold("c5.large", on_demand=1), "c"), of_family(gone, "m"))

    assert bought(types, families(2))[1] == []


@pytest.mark.parametrize(
    "other",
    [
        {"instance_types": ("b",)},
        {"requests": Resources({"cpu": 1500})},
        {"requirements": Requirements([Requirement(labels.CAPACITY_TYPE, frozenset({labels.ON_DEMAND}))])},
        {"generation": Generation.V1ALPHA5},
    ],
)
def test_claims_that_ask_for_the_same_share_a_choice_and_others_do_not(other: dict[str, object]) -> None:
    types = [sold(name, on_demand=2.0, spot=1.0) for name in "ab"]
    first = wanting(types)
    unlike = replace(first, name="unlike", **other)  # type: ignore[arg-type]
    buyable = LaunchOptions(types)

    assert buyable.draft(replace(first, name="alike")) is buyable.draft(first)
    assert buyable.draft(unlike) is not buyable.draft(first)
    assert buyable.choose(unlike) == options(unlike, LaunchOptions(types))
