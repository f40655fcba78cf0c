from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.problems import (
    asking,
    catalogue,
    expression,
    first_fit,
    instance_type,
    offer,
    pods,
    pool,
    problem,
)
from tests.domain.packing.validity import daemon_load, faults, price_of
from treenail.domain.model import labels
from treenail.domain.model.labels import LEFT_OPEN
from treenail.domain.model.pods import HostPort, Pod, PodSpec
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resources import total
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import Packing, PackingOrder, PackingSettings, Problem

CPUS = ("100m", "250m", "500m", "1", "1500m")
MEMORIES = ("100Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi")


def mixed(count: int) -> Problem:
    """`count` pods in 30 sizes, so that CPU and memory run out at different times."""
    sizes = [(cpu, memory) for cpu in CPUS for memory in MEMORIES]
    pod_groups = [pods(f"{cpu}-{memory}", count // len(sizes), asking(cpu, memory)) for cpu, memory in sizes]
    return problem(*pod_groups)


@pytest.mark.parametrize("count", [300, 600, 6000])
def test_mixed_pods_cost_less_than_first_fit_on_hardly_more_nodes(count: int) -> None:
    classic, cheapest = pack(first_fit(mixed(count))), pack(mixed(count))

    assert faults(mixed(count), cheapest) == []
    assert cheapest.cost < classic.cost
    assert len(cheapest.claims) <= 1.1 * len(classic.claims)
    assert cheapest.lower_bound == pytest.approx(classic.lower_bound)


def test_one_node_stays_one_node_where_splitting_saves_less_than_a_node_more_costs() -> None:
    small = instance_type("c5.xlarge", cpu=4, memory=8, price=0.16)
    large = instance_type("c5.4xlarge", cpu=16, memory=32, price=0.36)

    plan = pack(problem(pods("web", 6), offers=(offer(types=(small, large)),)))

    assert [claim.instance_types for claim in plan.claims] == [("c5.4xlarge",)]
    assert plan.lower_bound < 0.36 * 0.4


def test_one_node_is_split_where_that_saves_more() -> None:
    small = instance_type("c5.xlarge", cpu=4, memory=8, price=0.16)
    large = instance_type("c5.4xlarge", cpu=16, memory=32, price=0.40)

    plan = pack(problem(pods("web", 6), offers=(offer(types=(small, large)),)))

    assert [(len(claim.pods), claim.instance_types[0]) for claim in plan.claims] == [(3, "c5.xlarge")] * 2


def on_a_ladder(asked: Sequence[tuple[int, str | int, str]]) -> Problem:
    """Pods, so many of each that ask for so much, and types that double in size and in price."""
    types = [
        instance_type(f"m5.{cpus}x", cpu=cpus, memory=4 * cpus, price=0.05 * cpus + 0.001)
        for cpus in (2, 4, 8, 16, 32, 64)
    ]
    return problem(
        *(pods(f"web{number}", count, asking(*each)) for number, (count, *each) in enumerate(asked)),
        offers=(offer(types=tuple(types)),),
        settings=PackingSettings(node_overhead_cost=0.0),
    )


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        (((3, 2, "1Gi"), (9, 3, "10Gi")), [32, 4]),
        (((8, 1, "6Gi"), (9, 3, "6Gi"), (9, 2, "2Gi")), [32, 16, 8]),
        (((3, "500m", "10Gi"), (7, "1500m", "2Gi")), [8, 4, 2]),
    ],
)
def test_nodes_are_of_the_sizes_that_cost_least_together(
    asked: Sequence[tuple[int, str | int, str]], sizes: Sequence[int]
) -> None:
    """Looked for one after the other, they would be larger."""
    of = on_a_ladder(asked)

    plan = pack(of)

    assert faults(of, plan) == []
    assert sorted(claim.instance_types[0] for claim in plan.claims) == sorted(f"m5.{n}x" for n in sizes)


@pytest.mark.parametrize(
    "asked",
    [
        ((20, 2, "4Gi"), (24, "500m", "3Gi"), (30, "250m", "1Gi")),
        ((30, "1500m", "4Gi"), (45, "250m", "2Gi")),
    ],
)
def test_what_does_not_fill_a_large_node_goes_onto_several_small_ones(
    asked: Sequence[tuple[int, str | int, str]],
) -> None:
    of = on_a_ladder(asked)

    plan = pack(of)

    assert faults(of, plan) == []
    assert len(plan.claims) > 4
    assert plan.cost < 1.05 * plan.lower_bound


@pytest.mark.parametrize(("apart", "cpu"), [(4, 8), (4, 16), (6, 16)])
def test_those_who_can_go_nowhere_else_get_their_share_of_a_limit_before_cheaper_nodes_for_others(
    apart: int, cpu: int
) -> None:
    """And those kept apart go on to the next pool: the whole plan would go for one left out."""
    of = problem(
        pods("picky", 1, asking(3, "20Gi", selector={labels.NODEPOOL: "few"})),
        pods("apart", apart, replace(asking("500m"), host_ports=(HostPort(80),))),
        pods("some", 20, asking("1500m", "3Gi")),
        pods("more", 20, asking("250m", "5Gi")),
        offers=(offer(pool("few", weight=10), limits={"cpu": cpu}), offer(pool("many"))),
    )

    plan = pack(of)

    assert faults(of, plan) == []
    assert plan.refused == ()
    assert plan.cost < 0.8 * pack(first_fit(of)).cost


def test_classes_that_cannot_share_a_node_are_planned_apart() -> None:
    one = problem(pods("amd", 5, asking(2, selector={labels.ARCH: "amd64"})))
    other = problem(pods("arm", 5, asking(2, selector={labels.ARCH: "arm64"})))

    both = pack(replace(one, pods=(*one.pods, *other.pods)))

    assert both.cost == pytest.approx(pack(one).cost + pack(other).cost)
    assert both.lower_bound == pytest.approx(pack(one).lower_bound + pack(other).lower_bound)


def test_flexible_pods_fill_what_inflexible_ones_leave() -> None:
    inflexible = asking(2, selector={labels.INSTANCE_TYPE: "m5.xlarge"})

    plan = pack(problem(pods("picky", 2, inflexible), pods("any", 3, asking("500m"))))

    assert {claim.instance_types for claim in plan.claims} == {("m5.xlarge",)}


@pytest.mark.parametrize(
    ("order", "first"),
    [(PackingOrder.CPU, "cpu"), (PackingOrder.MEMORY, "memory"), (PackingOrder.EUCLIDEAN, "both")],
)
def test_first_fit_takes_the_largest_first_by_its_order(order: PackingOrder, first: str) -> None:
    of = problem(
        pods("cpu", 1, asking(7, "1Gi")),
        pods("memory", 1, asking(1, "28Gi")),
        pods("both", 1, asking(6, "24Gi")),
        offers=(offer(types=catalogue()[5:8]),),
    )

    plan = pack(first_fit(of, order=order))

    assert plan.claims[0].pods[0] == f"{first}-0"
    assert of.settings.packing is Packing.CHEAPEST


def test_first_fit_adds_to_the_claim_with_the_fewest_pods() -> None:
    zones = [pods(z, n, asking(2, selector={labels.ZONE: z})) for z, n in (("zone-a", 2), ("zone-b", 1))]

    plan = pack(first_fit(problem(*zones, pods("small", 1, asking("100m")))))

    assert [claim.pods for claim in plan.claims] == [("zone-a-0", "zone-a-1"), ("small-0", "zone-b-0")] or [
        sorted(claim.pods) for claim in plan.claims
    ] == [["zone-a-0", "zone-a-1"], ["small-0", "zone-b-0"]]


def groupings(some: Sequence[Pod]) -> Iterator[list[list[Pod]]]:
    """Yield every way to part `some` into groups."""
    if not some:
        yield []
        return
    for rest in groupings(some[1:]):
        yield [[some[0]], *rest]
        for number, group in enumerate(rest):
            yield [*rest[:number], [some[0], *group], *rest[number + 1 :]]


def price_of_group(of: Problem, group: list[Pod]) -> float:
    """Return the cheapest offering of the one pool that holds all of a group."""
    (only,) = of.offers
    needed = only.pool.template_requirements()
    for pod in group:
        (asked,) = pod.spec.alternatives()
        if not needed.compatible(asked, may_be_undefined=LEFT_OPEN):
            return inf
        needed = needed.with_(asked)
    prices = [inf]
    for each in only.instance_types:
        load = total([*(pod.spec.requests for pod in group), daemon_load(of, only.pool, each)])
        if load.fits(each.allocatable) and each.requirements.intersects(needed):
            prices.append(price_of(each, needed))
    return min(prices)


SMALL_SPECS: st.SearchStrategy[PodSpec] = st.builds(
    lambda cpu, memory, selector: asking(cpu, memory, selector=selector),
    st.sampled_from(["500m", 1, 2, 3, 7]),
    st.sampled_from([0, "1Gi", "6Gi"]),
    st.sampled_from([{}, {}, {labels.ARCH: "amd64"}, {labels.ARCH: "arm64"}, {labels.ZONE: "zone-a"}]),
)


@given(
    specs=st.lists(SMALL_SPECS, min_size=1, max_size=5),
    types=st.lists(st.sampled_from(catalogue()), min_size=1, max_size=5, unique_by=lambda t: t.name),
)
def test_no_way_to_group_pods_costs_less_than_the_bound(specs: list[PodSpec], types: list[object]) -> None:
    pod_groups = [pods(f"p{number}", 1, spec) for number, spec in enumerate(specs)]
    of = problem(*pod_groups, offers=(offer(pool(), tuple(types)),), daemons=(asking("100m"),))  # type: ignore[arg-type]
    plan = pack(of)
    bought = {uid for claim in plan.claims for uid in claim.pods}
    placed = [pod for pod in of.pods if pod.uid in bought]

    best = min(sum(price_of_group(of, group) for group in groups) for groups in groupings(placed))

    whole = min(sum(price_of_group(of, group) + 0.02 for group in groups) for groups in groupings(placed))
    assert plan.lower_bound <= best + 1e-12
    assert plan.whole_lower_bound <= whole + 1e-12
    assert plan.cost >= best - 1e-9
    assert plan.whole_cost >= whole - 1e-9


def test_steps_run_out_and_what_is_decided_stands() -> None:
    of = mixed(60)
    plans = [pack(replace(of, settings=PackingSettings(steps=steps))) for steps in (0, 30, 45, 60, 10_000)]

    deferred = [len(plan.deferred) for plan in plans]
    assert deferred[0] == 60
    assert deferred == sorted(deferred, reverse=True)
    assert 0 < deferred[2] < 60
    assert (deferred[-1], plans[-1].exhausted) == (0, False)
    assert all(faults(replace(of, settings=PackingSettings(steps=1)), plan) == [] for plan in plans)


def test_a_wish_does_not_cost_the_bound_its_truth() -> None:
    spot = (1, (expression(labels.CAPACITY_TYPE, Operator.IN, labels.ON_DEMAND),))

    plan = pack(problem(pods("web", 3, asking(preferred=[spot]))))

    assert plan.lower_bound <= plan.cost == 4 * 0.0385
