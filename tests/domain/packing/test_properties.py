from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.strategies import existing_nodes, problems
from tests.domain.packing.validity import faults
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import ExistingNode, Packing, PackingSettings, Problem


@given(problem=problems())
def test_every_plan_is_valid(problem: Problem) -> None:
    assert faults(problem, pack(problem)) == []


@given(problem=problems(steps=st.integers(0, 30)))
def test_a_plan_cut_short_is_valid_and_says_what_it_left(problem: Problem) -> None:
    plan = pack(problem)

    assert faults(problem, plan) == []
    assert plan == pack(problem)


@given(problem=problems(), rng=st.randoms(use_true_random=False))
def test_the_order_pods_come_in_does_not_matter(problem: Problem, rng: random.Random) -> None:
    shuffled = list(problem.pods)
    rng.shuffle(shuffled)

    assert pack(replace(problem, pods=tuple(shuffled))) == pack(problem)


@given(problem=problems(limited=False), more=existing_nodes(9))
def test_a_room_more_makes_no_pod_unschedulable_that_a_pool_would_take(
    problem: Problem, more: ExistingNode
) -> None:
    without = {uid for refused in pack(replace(problem, existing_nodes=())).refused for uid in refused.pods}

    for crowd in (problem.existing_nodes, (more, *problem.existing_nodes)):
        refused = {uid for r in pack(replace(problem, existing_nodes=crowd)).refused for uid in r.pods}
        assert refused <= without


@given(problem=problems())
def test_the_cheapest_is_never_dearer_than_first_fit_nor_are_its_prices_higher(problem: Problem) -> None:
    classic = pack(replace(problem, settings=PackingSettings(packing=Packing.FIRST_FIT_DESCENDING)))
    cheapest = pack(replace(problem, settings=PackingSettings()))

    placed = [sum(len(claim.pods) for claim in plan.claims) for plan in (classic, cheapest)]
    assert placed[1] >= placed[0]
    if placed[1] == placed[0]:
        assert cheapest.cost <= classic.cost + 1e-9
        assert cheapest.whole_cost <= classic.whole_cost + 1e-9
