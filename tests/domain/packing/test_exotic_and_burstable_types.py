"""Burstable, specialised and exotic types: bought where they are named, or nothing else has as much room."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest

from tests.domain.packing.consolidation.clusters import Cluster, Standing
from tests.domain.packing.problems import (
    asking,
    first_fit,
    instance_type,
    is_in,
    offer,
    pods,
    pool,
    problem,
)
from tests.domain.packing.validity import faults
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import Problem

M5 = instance_type("m5.large", cpu=2, memory=8, price=0.096)
T3 = replace(instance_type("t3.large", cpu=2, memory=8, price=0.083), baseline=600)
HPC = replace(instance_type("hpc7.large", cpu=2, memory=8, price=0.05), specialised=True)
METAL = replace(instance_type("m5.metal", cpu=2, memory=8, price=0.04), exotic=True)
GPU = replace(instance_type("g5.large", cpu=2, memory=8, price=0.03, more={"nvidia.com/gpu": 1}), exotic=True)
ARM_GPU = replace(
    instance_type("g5g.large", cpu=2, memory=8, price=0.02, more={"nvidia.com/gpu": 1}),
    exotic=True,
    specialised=True,
)
ALL = (M5, T3, HPC, METAL, GPU)


def planned(
    of: PodSpec, *requirements: Requirement, types: Iterable[InstanceType] = ALL, count: int = 1
) -> PackingPlan:
    sold = offer(pool("default", *requirements), types=tuple(types))
    return pack(problem(pods("web", count, of), offers=(sold,)))


def bought(of: PodSpec, *requirements: Requirement, types: Iterable[InstanceType] = ALL) -> tuple[str, ...]:
    """Return the types of the one claim for a pod."""
    (claim,) = planned(of, *requirements, types=types).claims
    return claim.instance_types


def test_a_pod_within_the_baseline_gets_a_burstable_type() -> None:
    assert bought(asking("400m")) == ("t3.large", "m5.large")


def test_a_pod_that_asks_for_more_than_the_baseline_gets_an_ordinary_type() -> None:
    assert bought(asking("700m")) == ("m5.large",)


def test_what_kubelet_and_daemons_take_counts_against_the_baseline() -> None:
    # Of 600m the kubelet keeps 80m.
    daemons = (asking("200m"),)
    of = problem(pods("web", 1, asking("321m")), offers=(offer(types=ALL),), daemons=daemons)
    less = problem(pods("web", 1, asking("320m")), offers=(offer(types=ALL),), daemons=daemons)

    assert pack(of).claims[0].instance_types == ("m5.large",)
    assert pack(less).claims[0].instance_types == ("t3.large", "m5.large")


def test_where_daemons_take_the_whole_baseline_no_burstable_type_is_bought() -> None:
    of = problem(pods("web", 1, asking("1m")), offers=(offer(types=ALL),), daemons=(asking("600m"),))

    assert pack(of).claims[0].instance_types == ("m5.large",)


@pytest.mark.parametrize(
    "requirement",
    [
        is_in(labels.INSTANCE_TYPE, "t3.large", "m5.large"),
        is_in(labels.INSTANCE_FAMILY, "t3", "m5"),
        is_in(labels.INSTANCE_CATEGORY, "t", "m"),
    ],
)
def test_a_pool_that_lists_a_burstable_type_gets_it_in_full(requirement: Requirement) -> None:
    assert bought(asking("1500m"), requirement) == ("t3.large", "m5.large")


def test_a_pod_that_names_a_burstable_family_gets_it_in_full() -> None:
    assert bought(asking("1500m", selector={labels.INSTANCE_FAMILY: "t3"})) == ("t3.large",)


def test_a_pool_that_excludes_some_types_has_not_named_the_others() -> None:
    others = Requirement.of(labels.INSTANCE_FAMILY, Operator.NOT_IN, ("hpc7",))

    assert bought(asking("1500m"), others) == ("m5.large",)


def test_a_specialised_type_is_bought_where_it_is_named() -> None:
    assert bought(asking(1), is_in(labels.INSTANCE_FAMILY, "hpc7", "m5")) == ("hpc7.large", "m5.large")
    assert bought(asking(1, selector={labels.INSTANCE_FAMILY: "hpc7"})) == ("hpc7.large",)


def test_pods_of_a_specialised_type_share_its_node_with_no_others() -> None:
    named = pods("mpi", 1, asking("500m", selector={labels.INSTANCE_FAMILY: "hpc7"}))
    of = problem(named, pods("web", 1, asking("500m")), offers=(offer(types=ALL),))

    plan = pack(of)

    assert sorted(claim.instance_types[0] for claim in plan.claims) == ["hpc7.large", "t3.large"]
    assert faults(of, plan) == []


def test_types_with_chips_and_bare_metal_are_bought_for_those_that_ask_for_them() -> None:
    assert bought(asking("500m", more={"nvidia.com/gpu": 1})) == ("g5.large",)
    assert bought(asking("500m", selector={labels.INSTANCE_SIZE: "metal"})) == ("m5.metal",)


ON_GPU = asking("500m", more={"nvidia.com/gpu": 1})


def test_gpus_beside_arm64_are_bought_where_they_are_named_or_no_others_have_as_much_room() -> None:
    of_both = is_in(labels.INSTANCE_FAMILY, "g5g", "g5")

    assert bought(ON_GPU, types=(*ALL, ARM_GPU)) == ("g5.large",)
    assert bought(ON_GPU, types=(GPU, ARM_GPU)) == ("g5.large",)
    assert bought(ON_GPU, of_both, types=(*ALL, ARM_GPU)) == ("g5g.large", "g5.large")
    assert bought(ON_GPU, types=(M5, ARM_GPU)) == ("g5g.large",)


def test_a_pod_that_asks_for_what_only_gpus_beside_arm64_have_gets_them() -> None:
    arm = replace(
        ARM_GPU,
        requirements=ARM_GPU.requirements.without([labels.ARCH]).with_([is_in(labels.ARCH, "arm64")]),
    )
    of = asking("500m", more={"nvidia.com/gpu": 1}, selector={labels.ARCH: "arm64"})

    assert bought(of, types=(*ALL, arm)) == ("g5g.large",)


@pytest.mark.parametrize("special", [T3, HPC, METAL, GPU, ARM_GPU])
def test_where_nothing_else_has_as_much_room_any_type_is_bought(special: InstanceType) -> None:
    small = instance_type("m5.medium", cpu=1, memory=4, price=0.048)

    assert bought(asking("1500m"), types=(special, small)) == (special.name,)
    assert bought(asking("1500m"), types=(special,)) == (special.name,)


@pytest.mark.parametrize("special", [T3, HPC, METAL, GPU, ARM_GPU])
def test_where_ordinary_types_ran_out_any_type_is_bought(special: InstanceType) -> None:
    out = tuple(replace(o, available=False) for o in M5.offerings)

    assert bought(asking("1500m"), types=(special, replace(M5, offerings=out))) == (special.name,)


def test_where_one_zone_has_only_such_types_the_pods_of_that_zone_get_them() -> None:
    ordinary = instance_type("m5.large", cpu=2, memory=8, price=0.096, zones=("zone-a",))
    in_zone = asking("1500m", selector={labels.ZONE: "zone-b"})

    assert bought(in_zone, types=(ordinary, HPC)) == ("hpc7.large",)


def test_min_values_find_the_types_with_chips_that_they_need() -> None:
    two = replace(Requirement.of(labels.INSTANCE_TYPE, Operator.EXISTS), min_values=2)

    assert set(bought(asking(1), two, types=(M5, METAL))) == {"m5.large", "m5.metal"}


def replaced_by(of: InstanceType, cpu: str) -> list[tuple[str, ...]]:
    """Return the types that replace a node of one type with a pod on it."""
    there = Standing(name="n", type=of, pods=pods("web", 1, asking(cpu)))
    on_demand = offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)), types=ALL)
    plan = repack(Cluster(nodes=(there,), offers=(on_demand,)).problem())
    return [claim.instance_types for move in plan.moves for claim in move.claims]


def test_consolidation_replaces_a_node_by_a_burstable_one_only_within_the_baseline() -> None:
    assert replaced_by(M5, "500m") == [("t3.large",)]
    assert replaced_by(M5, "700m") == []


@pytest.mark.parametrize("special", [T3, HPC, METAL, GPU, ARM_GPU])
def test_consolidation_leaves_a_node_that_costs_less_than_an_ordinary_one(special: InstanceType) -> None:
    assert replaced_by(special, "1500m") == []


def scattered(seed: int) -> tuple[Problem, Problem]:
    """Return a random problem in which some types are not ordinary, and the same with ordinary ones only."""
    dice = Random(seed)
    plain = tuple(
        instance_type(
            f"{dice.choice('mtg')}{number}.any",
            cpu=(cpu := dice.choice((1, 2, 4, 8, 16))),
            memory=cpu * dice.choice((2, 4, 8)),
            price=round(cpu * dice.uniform(0.005, 0.06), 4),
            zones=dice.choice((("zone-a",), ("zone-b",), ("zone-a", "zone-b"))),
        )
        for number in range(dice.randint(2, 9))
    )
    special_gpus: dict[str, object] = {"specialised": True, "exotic": True}
    kinds: tuple[dict[str, object], ...] = ({}, {}, {"specialised": True}, {"exotic": True}, special_gpus)
    special = tuple(
        replace(one, **dice.choice((*kinds, {"baseline": one.capacity["cpu"] // 4})))  # type: ignore[arg-type]
        for one in plain
    )
    selectors: tuple[dict[str, str], ...] = ({}, {}, {labels.ZONE: "zone-a"}, {labels.INSTANCE_CATEGORY: "t"})
    waiting = [
        pods(
            f"web{number}",
            dice.choice((1, 3, 10)),
            asking(
                dice.choice(("100m", "500m", 1, 3)),
                dice.choice(("64Mi", "1Gi", "5Gi")),
                selector=dice.choice(selectors),
            ),
        )
        for number in range(dice.randint(1, 4))
    ]
    return (
        problem(*waiting, offers=(offer(types=special),)),
        problem(*waiting, offers=(offer(types=plain),)),
    )


@pytest.mark.parametrize("seed", range(120))
def test_whatever_types_are_set_aside_the_same_pods_get_nodes_at_no_more_than_first_fits_cost(
    seed: int,
) -> None:
    of, ordinary = scattered(seed)

    plan, classic = pack(of), pack(first_fit(of))

    assert faults(of, plan) == []
    assert {uid for one in plan.refused for uid in one.pods} == {
        uid for one in pack(ordinary).refused for uid in one.pods
    }
    assert plan.cost <= classic.cost + 1e-9
    assert plan.lower_bound <= plan.cost + 1e-9
    assert plan.whole_lower_bound <= plan.whole_cost + 1e-9
