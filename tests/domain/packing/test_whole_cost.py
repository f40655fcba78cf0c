"""What counts is what nodes cost in all: their prices, their volumes, and what they cost beside these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from tests.domain.packing.problems import asking, first_fit, instance_type, offer, pods, pool, problem
from tests.domain.packing.validity import faults
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.pods import HostPort
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import PackingSettings, Problem

# Per core, the small ones cost least.
TINY = instance_type("t4g.small", cpu=2, memory=3, price=0.0168, ways={"on-demand": 1.0})
MIDDLE = instance_type("c6g.4xlarge", cpu=16, memory=32, price=0.544, ways={"on-demand": 1.0})
LARGE = instance_type("c6g.8xlarge", cpu=32, memory=64, price=1.088, ways={"on-demand": 1.0})
TYPES = (TINY, MIDDLE, LARGE)
SMALL = instance_type("c6g.2xlarge", cpu=8, memory=16, price=0.272, ways={"on-demand": 1.0})


def replace_zones(one: InstanceType, zones: Sequence[str]) -> InstanceType:
    (price,) = {offering.price for offering in one.offerings}
    return instance_type(
        one.name,
        cpu=one.capacity["cpu"] // 1000,
        memory=one.capacity["memory"] // 2**30,
        price=price,
        zones=zones,
        ways={"on-demand": 1.0},
    )


def web(count: int, **settings: object) -> Problem:
    """So many pods of one core and 1 GiB, and types of which the smallest is cheapest for each of them."""
    of = PackingSettings(**settings)  # type: ignore[arg-type]
    return problem(pods("web", count, asking(1, "1Gi")), offers=(offer(types=TYPES),), settings=of)


def types_of(plan: PackingPlan) -> list[str]:
    return sorted(claim.instance_types[0] for claim in plan.claims)


def test_many_small_pods_get_no_node_each_though_that_would_have_the_lowest_price() -> None:
    plan = pack(web(105))

    assert faults(web(105), plan) == []
    assert types_of(plan) == ["c6g.8xlarge"] * 3 + ["t4g.small"] * 12
    assert plan.whole_cost == pytest.approx(plan.cost + 15 * 0.02)


@pytest.mark.parametrize("count", [5, 10, 14, 31, 50, 200])
def test_there_are_no_more_than_three_nodes_for_each_of_first_fits_and_three_more(count: int) -> None:
    """Ten of the smallest would cost a twentieth less than what is bought for ten pods."""
    of = replace(web(count), offers=(offer(types=(*TYPES, SMALL)),))

    plan, classic = pack(of), pack(first_fit(of))

    assert len(plan.claims) <= 3 * len(classic.claims) + 3
    assert plan.whole_cost <= classic.whole_cost


def test_there_is_one_for_twenty_pods_however_few_first_fit_has() -> None:
    huge = instance_type("u7.224xlarge", cpu=896, memory=3072, price=12.0, pods=737, ways={"on-demand": 1.0})
    of = replace(web(300), offers=(offer(types=(LARGE, huge)),))

    plan, classic = pack(of), pack(first_fit(of))

    assert len(classic.claims) == 1
    assert types_of(plan) == ["c6g.8xlarge"] * 10


def test_there_are_more_where_they_save_a_third() -> None:
    huge = instance_type("c6a.32xlarge", cpu=128, memory=256, price=4.896)
    of = replace(web(20), offers=(offer(types=(TINY, huge)),))

    assert types_of(pack(of)) == ["t4g.small"] * 20


def test_those_that_cannot_share_nodes_have_no_three_more_each() -> None:
    kinds = [pods(f"web{n}", 4, asking(1, "1Gi", selector={labels.ZONE: f"zone-{n}"})) for n in range(8)]
    zones = [f"zone-{n}" for n in range(8)]
    xlarge = instance_type("c6g.xlarge", cpu=4, memory=8, price=0.136, zones=zones, ways={"on-demand": 1.0})
    sold = (replace_zones(TINY, zones), xlarge, replace_zones(MIDDLE, zones))
    of = problem(*kinds, offers=(offer(types=sold),))

    plan, classic = pack(of), pack(first_fit(of))

    assert faults(of, plan) == []
    assert len(classic.claims) == 8
    assert len(plan.claims) <= 3 * 8 + 3


def test_where_a_node_costs_nothing_beside_its_price_the_price_is_all_that_counts() -> None:
    plan = pack(web(105, node_overhead_cost=0.0))

    assert types_of(plan) == ["t4g.small"] * 105
    assert plan.whole_cost == plan.cost
    assert plan.whole_lower_bound == plan.lower_bound


def test_volumes_count_as_much_as_what_a_node_costs_beside_them() -> None:
    bare = web(105, node_overhead_cost=0.0)
    with_volumes = replace(bare, offers=(replace(bare.offers[0], volume_cost=0.02),))

    assert len(pack(with_volumes).claims) == 15


def test_what_a_pool_says_of_its_nodes_comes_before_the_setting() -> None:
    free = offer(replace(pool(), node_overhead_cost=0.0), types=TYPES)
    dear = offer(replace(pool(), node_overhead_cost=0.02), types=TYPES)

    assert len(pack(replace(web(105), offers=(free,))).claims) == 105
    assert len(pack(replace(web(105, node_overhead_cost=0.0), offers=(dear,))).claims) == 15


def test_a_claim_says_what_its_node_costs_beside_its_price() -> None:
    of = web(1)

    (claim,) = pack(replace(of, offers=(replace(of.offers[0], volume_cost=0.003),))).claims

    assert claim.price == pytest.approx(0.0168)
    assert claim.surcharge == pytest.approx(0.023)


def test_of_nodes_that_cost_the_same_there_are_fewer() -> None:
    half = instance_type("m5.large", cpu=8, memory=64, price=0.4)
    whole = instance_type("m5.xlarge", cpu=16, memory=128, price=0.8)
    of = problem(
        pods("web", 14, asking(1, "1Gi")),
        offers=(offer(types=(half, whole)),),
        settings=PackingSettings(node_overhead_cost=0.0),
    )

    assert types_of(pack(of)) == ["m5.xlarge"]


def test_fewer_nodes_are_not_bought_at_a_higher_price_than_first_fit_pays() -> None:
    """Two of the small ones hold what one large one does, which costs more, and less in all."""
    small = instance_type("m5.large", cpu=8, memory=64, price=0.40, ways={"on-demand": 1.0})
    large = instance_type("m5.xlarge", cpu=17, memory=128, price=0.81, ways={"on-demand": 1.0})
    alone = replace(asking(6, "1Gi"), host_ports=(HostPort(port=80),))
    of = problem(
        pods("alone", 2, alone), pods("web", 2, asking(1, "1Gi")), offers=(offer(types=(small, large)),)
    )

    plan = pack(of)

    assert plan.cost <= pack(first_fit(of)).cost + 1e-9
    assert faults(of, plan) == []


@pytest.mark.seeds(quick=30, soak=3_000)
def test_prices_are_never_higher_than_first_fits_nor_is_the_whole_cost(seed: int) -> None:
    dice = Random(seed)
    types = tuple(
        instance_type(
            f"t{number}.any",
            cpu=(cpu := dice.choice((2, 4, 8, 16, 32, 64))),
            memory=cpu * dice.choice((2, 4, 8)),
            price=round(cpu * dice.uniform(0.005, 0.06), 4),
            pods=dice.choice((8, 15, 29, 58, 110)),
        )
        for number in range(dice.randint(2, 7))
    )
    some = [
        pods(
            f"web{number}",
            dice.choice((1, 3, 10, 40)),
            replace(
                asking(dice.choice(("100m", "500m", 1, 3)), dice.choice(("64Mi", "1Gi", "5Gi"))),
                host_ports=(HostPort(port=80),) if dice.random() < 0.2 else (),
            ),
        )
        for number in range(dice.randint(1, 5))
    ]
    overhead = dice.choice((0.0, 0.02, 0.02, 0.2))
    of = problem(*some, offers=(offer(types=types),), settings=PackingSettings(node_overhead_cost=overhead))

    plan, classic = pack(of), pack(first_fit(of, node_overhead_cost=overhead))

    assert faults(of, plan) == []
    assert plan.cost <= classic.cost + 1e-9
    assert plan.whole_cost <= classic.whole_cost + 1e-9
