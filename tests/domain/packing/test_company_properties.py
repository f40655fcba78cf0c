"""What holds of every plan, whatever pods ask about each other, their volumes and their ports."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.company_strategies import crowds, lone_pods, sociable_problems, sociable_rooms
from tests.domain.packing.completeness import missed
from tests.domain.packing.neighbours import bound_by_others
from tests.domain.packing.validity import could_host, faults
from tests.domain.packing.wishes import in_order, possible, required
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import ExistingNode, Packing, PackingSettings, Problem


def refused(plan: PackingPlan) -> set[str]:
    return {uid for one in plan.refused for uid in one.pods}


@given(problem=sociable_problems())
def test_every_plan_is_valid(problem: Problem) -> None:
    assert faults(problem, pack(problem)) == []


@given(problem=sociable_problems(steps=st.integers(0, 30)))
def test_a_plan_cut_short_is_valid_and_the_same_each_time(problem: Problem) -> None:
    plan = pack(problem)

    assert faults(problem, plan) == []
    assert plan == pack(problem)


@given(problem=sociable_problems(), rng=st.randoms(use_true_random=False))
def test_the_order_pods_come_in_does_not_matter(problem: Problem, rng: random.Random) -> None:
    shuffled = list(problem.pods)
    rng.shuffle(shuffled)

    assert pack(replace(problem, pods=tuple(shuffled))) == pack(problem)


@given(problem=sociable_problems(limited=False))
def test_a_pod_that_is_refused_has_no_place_left(problem: Problem) -> None:
    assert missed(problem, pack(problem)) == []


@given(problem=sociable_problems(limited=False), more=sociable_rooms(9))
def test_a_room_more_makes_no_pod_unschedulable_but_for_what_pods_ask_about_each_other(
    problem: Problem, more: ExistingNode
) -> None:
    crowd = replace(problem, existing_nodes=(more, *problem.existing_nodes))
    pods = {pod.uid: pod for pod in problem.pods}

    for uid in refused(pack(crowd)) - refused(pack(problem)):
        pod = pods[uid]
        taken = not any(could_host(problem, offer, pod.spec) for offer in problem.offers)
        assert taken or pod.spec.volumes or bound_by_others(crowd, pod)


@given(problem=lone_pods())
def test_a_wish_that_was_given_up_could_not_be_fulfilled(problem: Problem) -> None:
    plan = pack(problem)
    (pod,) = problem.pods

    for wishes in in_order(pod.spec):
        wanted = required(problem, wishes)
        if possible(wanted):
            assert faults(wanted, plan) == []
            assert refused(plan) == set()
            break


@given(problem=crowds(limited=False))
def test_a_crowd_is_seated_as_all_in_it_ask_and_nobody_is_left_out(problem: Problem) -> None:
    plan = pack(problem)

    assert faults(problem, plan) == []
    assert missed(problem, plan) == []


@given(problem=crowds(limited=False))
def test_the_cheapest_places_no_fewer_than_first_fit_and_costs_no_more(problem: Problem) -> None:
    classic = pack(replace(problem, settings=PackingSettings(packing=Packing.FIRST_FIT_DESCENDING)))
    cheapest = pack(replace(problem, settings=PackingSettings()))

    assert len(refused(cheapest)) <= len(refused(classic))
    if refused(cheapest) == refused(classic) and cheapest.nominations == classic.nominations:
        assert cheapest.cost <= classic.cost + 1e-9
