from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.pods_of_workloads import asked, left_out, wish
from tests.domain.packing.problems import (
    ZONES,
    asking,
    existing_node,
    instance_type,
    is_in,
    offer,
    pool,
)
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.pods import Pod
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.packing.decide import decide
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.packing.refusal_reasons import Reason

SPOT = is_in(labels.CAPACITY_TYPE, labels.SPOT)
ON_DEMAND = is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)
NO_SPOT = tuple((zone, labels.SPOT) for zone in ZONES)


def types(out_of: Iterable[tuple[str, str]] = ()) -> tuple[InstanceType, ...]:
    return (instance_type("c5.2xlarge", cpu=8, memory=16, price=0.34, out_of=out_of),)


def two_pools(out_of: Iterable[tuple[str, str]] = ()) -> tuple[PoolOffer, ...]:
    """Return a pool of spot, and one of on-demand capacity that is its last resort."""
    spot, steady = pool("spot", SPOT, weight=10), pool("steady", ON_DEMAND)
    sold = types(out_of)
    return offer(spot, sold), offer(steady, sold)


def one_pool(*sold: InstanceType) -> tuple[PoolOffer, ...]:
    return (offer(pool(), sold),)


def bought_for(plan: PackingPlan) -> dict[str, set[str]]:
    """Return the pods that nodes of each pool are bought for."""
    found: dict[str, set[str]] = {}
    for claim in plan.claims:
        found.setdefault(claim.pool, set()).update(claim.pods)
    return found


def test_a_lighter_pool_is_bought_from_for_pods_that_wait_and_not_for_those_to_come() -> None:
    plan = decide(asked(wish("web", 2, 5), offers=two_pools(NO_SPOT), ordinarily=two_pools()))

    assert bought_for(plan) == {"steady": {"web-0", "web-1"}}
    assert left_out(plan) == {f"web-expected-{i}" for i in range(5)}
    assert {r.reason for group in plan.refused for r in group.refusals} == {Reason.NO_CAPACITY}
    assert sum(report.refused for report in plan.classes) == 5


def test_a_pool_of_both_buys_on_demand_for_pods_that_wait_and_not_for_those_to_come() -> None:
    plan = decide(asked(wish("web", 2, 5), offers=one_pool(*types(NO_SPOT)), ordinarily=one_pool(*types())))

    assert bought_for(plan) == {"default": {"web-0", "web-1"}}
    assert len(left_out(plan)) == 5


@pytest.mark.parametrize(("price", "left"), [(0.45, 0), (0.55, 5)])
def test_a_type_that_costs_half_as_much_again_is_not_bought_for_pods_to_come(price: float, left: int) -> None:
    usual = instance_type("c5.2xlarge", cpu=8, memory=16, price=0.34, ways={labels.SPOT: 1.0})
    other = instance_type("c5d.2xlarge", cpu=8, memory=16, price=price, ways={labels.SPOT: 1.0})
    gone = replace(usual, offerings=tuple(replace(one, available=False) for one in usual.offerings))

    plan = decide(asked(wish("web", 2, 5), offers=one_pool(gone, other), ordinarily=one_pool(usual, other)))

    assert len(left_out(plan)) == left


def test_a_pool_that_would_not_take_the_pods_anyway_is_not_waited_for() -> None:
    def offers(out_of: Iterable[tuple[str, str]] = ()) -> tuple[PoolOffer, ...]:
        spot, steady = two_pools(out_of)
        tainted = replace(spot.pool, taints=(Taint("team", Effect.NO_SCHEDULE, "gpu"),))
        return replace(spot, pool=tainted), steady

    plan = decide(asked(wish("web", 2, 5), offers=offers(NO_SPOT), ordinarily=offers()))

    assert len(bought_for(plan)["steady"]) == 7
    assert not left_out(plan)


def test_a_pool_at_its_limit_is_not_waited_for() -> None:
    def offers(out_of: Iterable[tuple[str, str]] = ()) -> tuple[PoolOffer, ...]:
        spot, steady = two_pools(out_of)
        return replace(spot, limits_left=steady.instance_types[0].capacity.minus({"cpu": 1})), steady

    plan = decide(asked(wish("web", 2, 5), offers=offers(NO_SPOT), ordinarily=offers()))

    assert len(bought_for(plan)["steady"]) == 7


def test_what_ran_out_for_one_workload_holds_back_no_other() -> None:
    arm = instance_type("c6g.2xlarge", cpu=8, memory=16, price=0.3, arch="arm64")

    def offers(out_of: Iterable[tuple[str, str]] = ()) -> tuple[PoolOffer, ...]:
        return tuple(replace(one, instance_types=(*one.instance_types, arm)) for one in two_pools(out_of))

    def on(some: Iterable[Pod], arch: str) -> tuple[Pod, ...]:
        return tuple(replace(p, spec=asking(1, selector={labels.ARCH: arch})) for p in some)

    amd, other = ((on(there, arch), on(rest, arch)) for (there, rest), arch in (
        (wish("amd", 1, 5), "amd64"),
        (wish("arm", 1, 5), "arm64"),
    ))  # fmt: skip
    plan = decide(asked(amd, other, offers=offers(NO_SPOT), ordinarily=offers()))

    assert left_out(plan) == {f"amd-expected-{i}" for i in range(5)}
    assert bought_for(plan)["steady"] == {"amd-0"}
    assert len(bought_for(plan)["spot"]) == 6


def test_nodes_that_are_there_take_pods_to_come_all_the_same() -> None:
    one = asked(wish("web", 0, 5), offers=two_pools(NO_SPOT), ordinarily=two_pools())

    plan = decide(replace(one, existing_nodes=(existing_node("a", {"cpu": 3, "pods": 9}),)))

    assert not plan.claims
    assert len(plan.nominations) == 3
    assert len(left_out(plan)) == 2


@given(there=st.integers(0, 9), to_come=st.integers(0, 40), cpu=st.integers(1, 6), both=st.booleans())
def test_every_pod_is_accounted_for_and_those_that_wait_get_what_they_would_alone(
    there: int, to_come: int, cpu: int, *, both: bool
) -> None:
    now, ordinarily = (one_pool(*types(out)) if both else two_pools(out) for out in (NO_SPOT, ()))
    one = asked(wish("web", there, to_come, cpu), offers=now, ordinarily=ordinarily)

    plan = decide(one)

    placed = [uid for claim in plan.claims for uid in claim.pods]
    assert sorted((*placed, *left_out(plan))) == sorted(pod.uid for pod in one.pods)
    alone = pack(replace(one, pods=tuple(pod for pod in one.pods if pod.uid not in one.to_come)))
    assert plan.claims == alone.claims


def test_where_nothing_ran_out_the_plan_is_that_of_the_packer() -> None:
    one = asked(wish("web", 3, 30), offers=two_pools())

    assert decide(one) == pack(one)
