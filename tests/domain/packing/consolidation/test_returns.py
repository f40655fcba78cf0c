"""Nodes go for the sake of a pool's weight where their own pool asks for it, at a price that it allows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from tests.domain.packing.consolidation.clusters import Cluster, Standing, node
from tests.domain.packing.problems import catalogue, is_in, offer, pods, pool
from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, BlockerKind
from treenail.domain.model.node_pools import ConsolidationPolicy
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import PoolTerms
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.problem import PoolOffer

_ON_DEMAND: Final = is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)
TYPES: Final = tuple(one for one in catalogue() if one.name in ("m5.large", "c5.large"))
C5, M5 = is_in(labels.INSTANCE_TYPE, "c5.large"), is_in(labels.INSTANCE_TYPE, "m5.large")
HEAVY: Final = offer(pool("heavy", _ON_DEMAND, M5, weight=10), TYPES)
LIGHT: Final = offer(pool("light", _ON_DEMAND, C5, weight=1), TYPES)
# m5.large costs more than c5.large.
RETURNS: Final = PoolTerms(weight=1, return_premium=0.2)


def of_light(name: str = "n0") -> Standing:
    return node(name, "c5.large", *pods(name, 1), pool="light")


def planned(
    *nodes: Standing,
    light: PoolTerms = RETURNS,
    offers: tuple[PoolOffer, ...] = (HEAVY, LIGHT),
    least_saving: float = 0.0,
) -> ConsolidationPlan:
    problem = Cluster(nodes=nodes or (of_light(),), offers=offers).problem()
    return repack(
        replace(
            problem,
            terms={"light": light, "heavy": PoolTerms(weight=10)},
            candidates=tuple(replace(one, least_saving=least_saving) for one in problem.candidates),
        )
    )


def test_a_node_is_replaced_by_a_dearer_one_of_a_heavier_pool() -> None:
    (move,) = planned().moves

    assert [claim.pool for claim in move.claims] == ["heavy"]
    assert move.back_to == ("heavy",)
    assert move.saves < 0
    assert move.premium >= 0


@pytest.mark.parametrize("premium", [None, 0.0, 0.01])
def test_a_node_stays_where_a_heavier_pool_costs_more_than_its_pool_allows(premium: float | None) -> None:
    plan = planned(light=replace(RETURNS, return_premium=premium))

    assert plan.moves == ()
    assert plan.staying[0].why.kind in {BlockerKind.PRICE, BlockerKind.NODE_POOL}


def test_a_node_returns_for_the_same_price_where_nothing_more_may_be_paid() -> None:
    same = offer(pool("heavy", _ON_DEMAND, C5, weight=10), TYPES)

    (move,) = planned(light=replace(RETURNS, return_premium=0.0), offers=(same, LIGHT)).moves

    assert move.back_to == ("heavy",)
    assert move.saves == pytest.approx(0.0, abs=1e-8)


def test_a_node_stays_while_no_heavier_pool_has_anything_to_sell() -> None:
    none_left = tuple(
        replace(one, offerings=tuple(replace(o, available=False) for o in one.offerings)) for one in TYPES
    )

    assert planned(offers=(offer(HEAVY.pool, none_left), LIGHT)).moves == ()


def test_a_node_stays_where_its_pods_would_get_one_of_no_heavier_pool() -> None:
    for other in (offer(pool("heavy", _ON_DEMAND, M5, weight=1), TYPES), LIGHT):
        assert planned(offers=(other,)).moves == ()


def test_a_node_that_replaced_another_a_short_time_ago_does_not_return() -> None:
    plan = planned(least_saving=0.01)

    assert plan.moves == ()
    assert plan.staying[0].why.block is Block.RETURN_RECENT


def test_what_savings_must_earn_says_nothing_of_a_return() -> None:
    for terms in (
        replace(RETURNS, payback=timedelta(minutes=1)),
        replace(RETURNS, policy=ConsolidationPolicy.BALANCED, cost=100.0, disruption=100.0),
    ):
        assert [move.back_to for move in planned(light=terms).moves] == [("heavy",)]


def test_budgets_hold_for_returns() -> None:
    two = (of_light("n0"), of_light("n1"))
    full = tuple(replace(one, pods=pods(one.name, 1)) for one in two)

    assert len(planned(*full, light=replace(RETURNS, allowed=1)).moves) <= 1
    assert planned(*full, light=replace(RETURNS, allowed=0)).moves == ()


def test_no_node_goes_for_one_of_a_lighter_pool_that_would_return_at_once() -> None:
    in_heavy = node("n0", "m5.large", *pods("n0", 1), pool="heavy")

    assert planned(in_heavy, offers=(LIGHT,)).moves == ()
    assert planned(in_heavy, offers=(LIGHT,)).staying[0].why.block is Block.AWAY
    # Where none returns, the cheaper one is had.
    assert planned(in_heavy, offers=(LIGHT,), light=PoolTerms(weight=1)).moves != ()
