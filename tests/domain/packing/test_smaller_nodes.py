from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.pods_of_workloads import asked, left_out, of, wish
from tests.domain.packing.problems import ZONES, asking, instance_type, is_in, offer, pods, pool
from tests.domain.reserved import count
from treenail.domain.model import labels
from treenail.domain.model.capacity_reservations import with_reserved
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import ConsolidationPolicy, Disruption
from treenail.domain.model.pods import LabelSelector, Pod, TopologySpread
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.packing.decide import decide
from treenail.domain.packing.nodes import smaller_nodes
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import MinValuesPolicy, PackingSettings, PoolOffer, Problem
from treenail.domain.scheduling.reserved_offers import Stock

SPOT = is_in(labels.CAPACITY_TYPE, labels.SPOT)
ON_DEMAND = is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)
CONSOLIDATED = Disruption(
    policy=ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED, consolidate_after=timedelta(seconds=0)
)
EMPTY_ALONE = Disruption(policy=ConsolidationPolicy.WHEN_EMPTY, consolidate_after=timedelta(seconds=0))
NEVER = Disruption(policy=ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED)


def sized(cpu: int, price: float) -> InstanceType:
    return instance_type(f"c5.{cpu}x", cpu=cpu, memory=cpu * 4, price=price, pods=250)


def types(large: float = 2.0, small: float = 0.68) -> tuple[InstanceType, ...]:
    """Return types of 48 and 16 CPUs at these prices. Three of the small ones are little dearer."""
    return sized(48, large), sized(16, small)


def one_pool(
    *requirements: Requirement, rules: Disruption = CONSOLIDATED, sold: tuple[InstanceType, ...] = ()
) -> tuple[PoolOffer, ...]:
    return (offer(replace(pool("default", *requirements), disruption=rules), sold or types()),)


def sizes(plan: PackingPlan) -> list[str]:
    return sorted(claim.instance_types[0] for claim in plan.claims)


def test_spot_nodes_for_pods_to_come_are_smaller_than_for_the_same_pods_there() -> None:
    one = asked(wish("web", 1, 40), offers=one_pool(SPOT))

    assert sizes(decide(one)) == ["c5.16x"] * 3
    assert not left_out(decide(one))
    assert sizes(decide(replace(one, to_come=frozenset()))) == ["c5.48x"]


@pytest.mark.parametrize(("small", "bought"), [(0.69, ["c5.16x"] * 3), (0.71, ["c5.48x"])])
def test_smaller_nodes_may_be_dearer_by_a_twentieth(small: float, bought: list[str]) -> None:
    one = asked(wish("web", 1, 40), offers=one_pool(SPOT, sold=types(2.0, small)))

    assert sizes(decide(one)) == bought


@pytest.mark.parametrize(("to_come", "bought"), [(15, ["c5.48x"]), (16, ["c5.16x"] * 3)])
def test_a_node_for_few_pods_to_come_may_be_large(to_come: int, bought: list[str]) -> None:
    one = asked(wish("web", 41 - to_come, to_come), offers=one_pool(SPOT))

    assert sizes(decide(one)) == bought


@pytest.mark.parametrize(("to_come", "smaller"), [(134, 3), (230, 0)])
def test_nodes_of_less_than_a_quarter_of_all_that_is_bought_stay_large(to_come: int, smaller: int) -> None:
    bought = sizes(decide(asked(wish("web", 1, to_come), offers=one_pool(SPOT))))

    assert bought.count("c5.16x") == smaller


@pytest.mark.parametrize("rules", [EMPTY_ALONE, NEVER])
def test_nodes_stay_large_where_nothing_moves_their_pods_together(rules: Disruption) -> None:
    one = asked(wish("web", 1, 40), offers=one_pool(SPOT, rules=rules))

    assert sizes(decide(one)) == ["c5.48x"]


def test_nodes_that_consolidation_replaces_with_smaller_ones_may_be_large() -> None:
    on_demand = asked(wish("web", 1, 40), offers=one_pool(ON_DEMAND))
    spot = asked(wish("web", 1, 40), offers=one_pool(SPOT))

    assert sizes(decide(on_demand)) == ["c5.48x"]
    assert sizes(decide(replace(spot, settings=PackingSettings(spot_is_replaced=True)))) == ["c5.48x"]


def test_on_demand_nodes_of_a_pool_of_both_may_be_large_where_spot_ran_out() -> None:
    gone = tuple((zone, labels.SPOT) for zone in ZONES)
    sold = (
        instance_type("c5.48x", cpu=48, memory=192, price=2.0, pods=250, out_of=gone),
        instance_type("c5.16x", cpu=16, memory=64, price=0.68, pods=250, out_of=gone),
    )

    assert sizes(decide(asked(wish("web", 1, 40), offers=one_pool(sold=sold)))) == ["c5.48x"]


def test_of_two_pools_only_the_nodes_that_stay_large_are_smaller() -> None:
    (steady,) = one_pool(ON_DEMAND)
    (spot,) = one_pool(SPOT)
    offers = (replace(spot, pool=replace(spot.pool, name="spot")), steady)
    fixed = asking(1, selector={labels.CAPACITY_TYPE: labels.ON_DEMAND})
    there, to_come = (of("db", (replace(p, spec=fixed) for p in some)) for some in wish("db", 1, 40))

    plan = decide(asked(wish("web", 1, 40), (there, to_come), offers=offers))

    assert sizes(plan) == ["c5.16x"] * 3 + ["c5.48x"]


def test_a_pod_that_only_a_large_node_holds_has_one_beside_the_smaller_ones() -> None:
    plan = decide(asked(wish("web", 1, 40), wish("db", 0, 1, cpu=46), offers=one_pool(SPOT)))

    assert sizes(plan) == ["c5.16x"] * 3 + ["c5.48x"]
    assert not left_out(plan)


def test_where_the_smallest_size_is_dear_today_twice_of_it_is_tried() -> None:
    sold = (sized(64, 2.7), sized(32, 1.38), sized(16, 1.0))

    assert sizes(decide(asked(wish("web", 1, 60), offers=one_pool(SPOT, sold=sold)))) == ["c5.32x"] * 2


def test_a_large_node_stays_where_each_node_costs_much_beside_its_price() -> None:
    one = asked(wish("web", 1, 40), offers=one_pool(SPOT))

    assert sizes(decide(replace(one, settings=PackingSettings(node_overhead_cost=1.0)))) == ["c5.48x"]


def test_a_large_node_stays_where_the_limit_of_nodes_leaves_no_room_for_three() -> None:
    (of_pool,) = one_pool(SPOT)
    limited = (replace(of_pool, limits_left=Resources({"nodes": 2})),)

    assert sizes(decide(asked(wish("web", 1, 40), offers=limited))) == ["c5.48x"]


def test_no_pool_of_less_weight_is_bought_from_for_smaller_nodes() -> None:
    heavy, light = one_pool(SPOT, sold=(sized(48, 2.0),)) + one_pool(SPOT, sold=(sized(16, 0.6),))
    offers = (replace(heavy, pool=replace(heavy.pool, name="heavy", weight=10)), light)

    assert sizes(decide(asked(wish("web", 1, 40), offers=offers))) == ["c5.48x"]


@pytest.mark.parametrize("unwanted", [{"baseline": 1600}, {"exotic": True}, {"specialised": True}])
def test_types_that_are_left_out_beside_an_ordinary_one_take_no_large_nodes_place(
    unwanted: dict[str, object],
) -> None:
    small = replace(sized(8, 0.3), name="t3.8x", **unwanted)  # type: ignore[arg-type]

    plan = decide(asked(wish("web", 1, 40), offers=one_pool(SPOT, sold=(sized(48, 2.0), small))))

    assert sizes(plan) == ["c5.48x"]


def test_a_dear_workload_in_the_decision_pays_for_no_others_smaller_nodes() -> None:
    gpu = instance_type("p5.8x", cpu=8, memory=64, price=30.0, pods=250, more={"nvidia.com/gpu": 8})
    training = of("train", pods("train", 1, asking(4, more={"nvidia.com/gpu": 8})))
    sold = (sized(48, 2.0), sized(16, 1.0), gpu)

    plan = decide(asked(wish("web", 1, 40), (training, ()), offers=one_pool(SPOT, sold=sold)))

    assert sizes(plan) == ["c5.48x", "p5.8x"]


def test_capacity_that_is_reserved_is_used_whatever_its_size() -> None:
    both = is_in(labels.CAPACITY_TYPE, labels.SPOT, labels.RESERVED)
    buying = replace(pool("default", both), disruption=CONSOLIDATED)
    sold = with_reserved(types(), [count("cr-1", of="c5.48x", zone="zone-a", left=1)])

    plan = decide(asked(wish("web", 1, 40), offers=Stock.of(sold).offers(buying, None, taken={})))

    assert [claim.reservation for claim in plan.claims] == ["cr-1"]


def test_pods_that_would_rather_be_in_two_zones_still_are() -> None:
    web = LabelSelector(match_labels=(("app", "web"),))
    over_zones = TopologySpread(topology_key=labels.ZONE, max_skew=1, hard=False, selector=web)
    spec = replace(asking(1), spread=(over_zones,))
    there, to_come = (
        of("web", (replace(pod, spec=spec, labels={"app": "web"}) for pod in some))
        for some in wish("web", 5, 75)
    )
    small = instance_type("c5.16x", cpu=16, memory=64, price=0.66, pods=250, zones=("zone-b",))

    plan = decide(asked((there, to_come), offers=one_pool(SPOT, sold=(sized(48, 2.0), small))))

    zones = [set(claim.requirements[labels.ZONE].values) for claim in plan.claims for _ in claim.pods]
    assert [zones.count({zone}) for zone in ZONES] == [40, 40]
    assert sizes(plan) == ["c5.16x"] * 3 + ["c5.48x"]


def test_an_error_costs_the_smaller_nodes_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("no sizes")

    monkeypatch.setattr(smaller_nodes.SmallerNodes, "planned_nodes", fail)

    plan = decide(asked(wish("web", 1, 40), offers=one_pool(SPOT)))

    assert sizes(plan) == ["c5.48x"]
    assert plan.problems == ("smaller nodes were not found: ArithmeticError: no sizes",)


@pytest.mark.parametrize("policy", MinValuesPolicy)
def test_smaller_nodes_are_not_had_for_less_choice_than_min_values_asks_for(policy: MinValuesPolicy) -> None:
    choice = replace(is_in(labels.INSTANCE_TYPE, "c5.16x", "c5.48x", "c5.64x"), min_values=2)
    offers = one_pool(SPOT, choice, sold=(*types(), sized(64, 2.7)))
    one = replace(asked(wish("web", 1, 40), offers=offers), settings=PackingSettings(min_values=policy))

    plan = decide(one)

    assert [claim.instance_types for claim in plan.claims] == [("c5.48x", "c5.64x")]


def test_pods_left_out_as_spot_ran_out_are_refused_beside_smaller_nodes_for_others() -> None:
    def offers(large: float) -> tuple[PoolOffer, ...]:
        arm = replace(sized(8, large), name="c6g.8x")
        of_arm = arm.requirements.with_((is_in(labels.ARCH, "arm64"),))
        sold = (*types(), replace(arm, requirements=Requirements(of_arm.values())))
        return one_pool(SPOT, sold=sold)

    def on(name: str, arch: str) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
        spec = asking(1, selector={labels.ARCH: arch})
        there, rest = (of(name, (replace(p, spec=spec) for p in some)) for some in wish(name, 0, 40))
        return there, rest

    one = asked(on("amd", "amd64"), on("arm", "arm64"), offers=offers(3.0), ordinarily=offers(0.3))

    plan = decide(one)

    assert left_out(plan) == {f"arm-expected-{i}" for i in range(40)}
    assert sizes(plan) == ["c5.16x"] * 3
    assert sum(report.refused for report in plan.classes) == 40


@given(
    there=st.integers(0, 20),
    to_come=st.integers(0, 120),
    cpu=st.integers(1, 20),
    small=st.floats(0.3, 1.2),
    limit=st.none() | st.integers(16, 500),
)
def test_every_pod_has_a_place_or_none_as_without_care_and_at_most_a_twentieth_dearer(
    there: int, to_come: int, cpu: int, small: float, limit: int | None
) -> None:
    (of_pool,) = one_pool(SPOT, sold=types(2.0, small))
    left = None if limit is None else Resources.parse({"cpu": limit})
    offers = (replace(of_pool, limits_left=left),)
    one: Problem = asked(wish("web", there, to_come, cpu), offers=offers)

    plan, careless = decide(one), decide(replace(one, to_come=frozenset()))

    assert left_out(plan) == left_out(careless)
    assert sorted(uid for claim in plan.claims for uid in claim.pods) == sorted(
        uid for claim in careless.claims for uid in claim.pods
    )
    assert plan.cost <= careless.cost * 1.05 + 1e-9
    assert limit is None or sum(claim.largest["cpu"] for claim in plan.claims) <= limit * 1000
