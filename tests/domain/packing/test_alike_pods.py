from __future__ import annotations

from dataclasses import replace
from math import ceil, inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.problems import asking, instance_type, offer, pods, problem
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.pods import HostPort
from treenail.domain.model.resources import PODS
from treenail.domain.packing.nodes.alike import nodes_for
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import PackingSettings

SMALL = instance_type("c5.large", cpu=2, memory=4, price=0.085, pods=6)
HUGE = instance_type("c5.18xlarge", cpu=72, memory=144, price=3.0, pods=700)

TYPES = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 50)), min_size=1, max_size=5)


def least(pods: int, types: list[tuple[int, int]]) -> float:
    """What nodes for so many pods cost at least, by trying every one as the last."""
    costs = [0.0]
    for some in range(1, pods + 1):
        costs.append(min((price + costs[max(some - held, 0)] for held, price in types if held), default=inf))
    return costs[pods]


@given(st.integers(1, 40), TYPES)
def test_no_nodes_for_alike_pods_cost_less(pods: int, types: list[tuple[int, int]]) -> None:
    holds, prices = [held for held, _ in types], [float(price) for _, price in types]

    nodes = nodes_for(pods, holds, prices)

    if not any(holds):
        assert nodes == []
        return
    assert sum(each.pods * each.copies for each in nodes) == pods
    assert all(0 < each.pods <= holds[each.at] for each in nodes)
    assert sum(prices[each.at] * each.copies for each in nodes) == least(pods, types)


@given(st.integers(257, 2_000), TYPES.filter(lambda types: any(held for held, _ in types)))
def test_many_alike_pods_cost_at_most_a_node_more_than_those_that_cost_least(
    pods: int, types: list[tuple[int, int]]
) -> None:
    holds, prices = [held for held, _ in types], [float(price) for _, price in types]

    nodes = nodes_for(pods, holds, prices)

    assert sum(each.pods * each.copies for each in nodes) == pods
    assert all(0 < each.pods <= holds[each.at] for each in nodes)
    per_pod = min(price / held for held, price in types if held)
    cost = sum(prices[each.at] * each.copies for each in nodes)
    assert per_pod * pods - 1e-6 <= cost <= per_pod * pods + max(prices)


@pytest.mark.parametrize("count", [7, 13, 16, 40, 90])
def test_small_pods_get_small_nodes_where_these_have_room_for_few_and_only_a_huge_one_for_more(
    count: int,
) -> None:
    plan = pack(problem(pods("web", count, asking("100m", "64Mi")), offers=(offer(types=(SMALL, HUGE)),)))

    assert {claim.instance_types[0] for claim in plan.claims} == {"c5.large"}
    assert len(plan.claims) == ceil(count / 6)


def test_so_do_pods_of_several_kinds() -> None:
    web, api = pods("web", 9, asking("100m", "64Mi")), pods("api", 9, asking("150m", "32Mi"))

    plan = pack(problem((*web, *api), offers=(offer(types=(SMALL, HUGE)),)))

    assert [claim.instance_types[0] for claim in plan.claims] == ["c5.large"] * 3


def test_more_nodes_than_first_fit_makes_are_not_made_fewer_where_they_save_a_quarter() -> None:
    thrifty = instance_type("r5.8xlarge", cpu=29, memory=58, price=1.5, pods=29)
    dear = instance_type("m5.16xlarge", cpu=55, memory=440, price=6.0, pods=110)

    plan = pack(problem(pods("web", 700, asking("900m", "16Mi")), offers=(offer(types=(thrifty, dear)),)))

    assert {claim.instance_types[0] for claim in plan.claims} == {"r5.8xlarge"}
    assert len(plan.claims) == ceil(700 / 28)


@pytest.mark.parametrize("kinds", [240, 255])
def test_large_nodes_that_others_fill_are_kept_however_many_kinds_of_pods_there_are(kinds: int) -> None:
    small = instance_type("c5.4xlarge", cpu=16, memory=64, price=0.37, pods=6)
    huge = instance_type("c5.18xlarge", cpu=64, memory=256, price=3.1, pods=700)
    on_demand = asking("50m", "16Mi", selector={labels.CAPACITY_TYPE: labels.ON_DEMAND})
    alone = replace(asking("50m", "16Mi"), host_ports=(HostPort(port=80),))
    others = [pods(f"kind{number}", 1, asking(f"{50 + number}m", "16Mi")) for number in range(kinds)]

    waiting = (*sum(others, ()), *pods("web", 46, on_demand), *pods("port", 1, alone))
    plan = pack(problem(waiting, offers=(offer(types=(small, huge)),)))

    assert [claim.instance_types for claim in plan.claims] == [("c5.18xlarge",)]


def drawn_types(dice: Random) -> tuple[InstanceType, ...]:
    sizes = [(dice.choice((2, 4, 8, 16, 32, 64)), dice.choice((2, 4, 8))) for _ in range(dice.randint(2, 6))]
    return tuple(
        instance_type(
            f"t{number}.any",
            cpu=cpu,
            memory=cpu * by,
            price=round(cpu * dice.uniform(0.02, 0.06), 4),
            pods=dice.choice((4, 8, 15, 29, 58, 110, 234)),
        )
        for number, (cpu, by) in enumerate(sizes)
    )


@pytest.mark.seeds(quick=50, soak=5_000)
def test_alike_pods_never_cost_more_than_nodes_of_one_type(seed: int) -> None:
    dice = Random(seed)
    types, count = drawn_types(dice), dice.choice((1, 3, 7, 13, 20, 33, 60, 150, 300))
    spec = asking(dice.choice(("50m", "250m", "500m", "1900m")), dice.choice(("16Mi", "256Mi", "3000Mi")))
    alike = pods("web", count, spec)

    plan = pack(
        problem(alike, offers=(offer(types=types),), settings=PackingSettings(node_overhead_cost=0.0))
    )

    of_one_type = [
        ceil(count / held) * min(offering.price for offering in each.offerings)
        for each in types
        if (held := min(each.allocatable[name] // spec.requests[name] for name in ("cpu", "memory", PODS)))
    ]
    assert plan.cost <= min(of_one_type, default=inf) * (1 + 1e-9)
