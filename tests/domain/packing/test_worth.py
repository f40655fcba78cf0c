"""Whether a move is worth it, by the terms of the pools."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.packing.movable import candidates, dollars, going, terms_of_all
from tests.sentences import said as sentence
from treenail.domain.model.node_pools import ConsolidationPolicy
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, PoolTerms
from treenail.domain.packing.consolidation.worth import (
    DOUBLE_RUNNING,
    EVICTION_DOLLARS,
    balanced_scores,
    move_dollars,
    objection_to,
)

ANY_SAVING = PoolTerms()
HOUR = timedelta(hours=1)


def balanced(*, cost: float = 1.0, disruption: float = 10.0) -> PoolTerms:
    return PoolTerms(policy=ConsolidationPolicy.BALANCED, cost=cost, disruption=disruption)


def paid_back_in(hours: float) -> PoolTerms:
    return PoolTerms(payback=hours * HOUR)


def objection(*removed: CandidateNode, saves: float, new_cost: float = 0.5, **terms: PoolTerms) -> str | None:
    return sentence(
        objection_to(removed, saves=saves, new_cost=new_cost, terms=terms or {"default": ANY_SAVING})
    )


# --- any saving


def test_any_saving_is_worth_it_but_what_only_rounding_makes_of_none() -> None:
    assert objection(going(), saves=1e-6) is None
    assert objection(going(), saves=0.1 + 0.2 - 0.3) == "Can't replace with a cheaper node"
    assert objection(going(), saves=-0.1) == "Can't replace with a cheaper node"


def test_a_node_is_deleted_though_its_price_is_not_known() -> None:
    assert objection(going(price=None), saves=0.0, new_cost=0.0) is None


def test_a_node_of_a_pool_of_unknown_terms_stays() -> None:
    said = objection(going(), going(pool="other"), saves=1.0, default=ANY_SAVING)

    assert said == 'It is not known on which terms nodes of NodePool "other" are consolidated'


# --- hysteresis


def test_a_recent_replacement_is_replaced_only_to_save_more_than_it_did() -> None:
    recent = going(least_saving=0.05)

    said = objection(recent, saves=0.05)

    assert said is not None
    assert "Replacing it would save $0.05/h, not more than the $0.05/h" in said
    assert objection(recent, saves=0.06) is None
    assert objection(recent, saves=0.01, new_cost=0.0) is None


def test_a_node_of_which_it_is_unreadable_what_it_was_bought_for_may_be_deleted_alone() -> None:
    unreadable = going(least_saving=math.inf)

    said = objection(unreadable, going("other"), saves=9.0)

    assert said is not None
    assert said.endswith("what it was bought for is unreadable")
    assert objection(unreadable, saves=0.1, new_cost=0.0) is None


def test_recent_replacements_are_replaced_together_only_to_save_more_than_all_did() -> None:
    recent = (going("one", least_saving=0.05), going("two", least_saving=0.04), going("three"))

    assert objection(*recent, saves=0.09) is not None
    assert objection(*recent, saves=0.1) is None


# --- only empty nodes


def test_a_pool_of_which_only_empty_nodes_go_keeps_those_with_pods() -> None:
    terms = PoolTerms(policy=ConsolidationPolicy.WHEN_EMPTY)
    costs_nothing = replace(going(pods=1), eviction_costs={"node-1-0": -3.0})

    said = objection(going(pods=1), saves=0.1, new_cost=0.0, default=terms)

    assert said == 'NodePool "default" has consolidation policy WhenEmpty, but node is not empty'
    assert objection(costs_nothing, saves=0.1, new_cost=0.0, default=terms) is None


# --- Balanced


@pytest.mark.parametrize(
    ("saves", "pods", "score"),
    [
        # A tenth of the cost for a fifth of the disruption is just enough.
        (0.1, 1, 0.5),
        (0.0999, 1, 0.4995),
        (0.4, 1, 2.0),
        (0.3, 11, 0.25),
        (0.0, 0, 0.0),
        (-0.2, 0, 0.0),
    ],
)
def test_balanced_approves_from_half_of_the_average_saving_for_the_disruption(
    saves: float, pods: int, score: float
) -> None:
    node, terms = going(pods=pods), {"default": balanced()}

    assert balanced_scores((node,), saves=saves, terms=terms)["default"].value == pytest.approx(score)
    said = objection_to((node,), saves=saves, new_cost=0.0, terms=terms)
    assert (said is None) == (score >= 0.5)


def test_deleting_the_only_node_of_a_pool_scores_exactly_one() -> None:
    node = going(price=0.3, pods=7, surcharge=0.02)
    terms = {"default": balanced(cost=node.cost, disruption=node.disruption)}

    assert balanced_scores((node,), saves=node.cost, terms=terms)["default"].value == 1.0


def test_a_move_across_pools_needs_each_balanced_pool_and_asks_no_other() -> None:
    # Three quarters of the saving of 0.4 are due to a: 0.3 of its cost for 0.2 of its disruption.
    move = (going(pool="a", price=0.6), going(pool="b", price=0.2), going(pool="c", price=0.0))
    terms = {"a": balanced(), "b": balanced(cost=2.0), "c": ANY_SAVING}

    scores = balanced_scores(move, saves=0.4, terms=terms)

    assert {pool: one.value for pool, one in scores.items()} == pytest.approx({"a": 1.5, "b": 0.25})
    assert list(scores) == ["a", "b"]
    said = objection_to(move, saves=0.4, new_cost=0.4, terms=terms)
    assert sentence(said) == (
        'NodePool "b" has consolidation policy Balanced: the move scores 0.25, less than 0.50'
    )
    assert objection_to(move, saves=0.4, new_cost=0.4, terms=terms | {"b": balanced()}) is None


def test_nothing_is_worth_it_to_a_balanced_pool_whose_sums_are_not_known() -> None:
    for terms in (balanced(cost=0.0), balanced(disruption=0.0)):
        assert balanced_scores((going(),), saves=1.0, terms={"default": terms})["default"].value == 0.0
        assert objection(going(), saves=1.0, default=terms) is not None


# --- payback


def test_a_move_costs_what_its_evictions_and_its_double_running_cost() -> None:
    assert move_dollars((going(pods=3), going(pods=0)), 0.0) == pytest.approx(5 * EVICTION_DOLLARS)
    doubled = move_dollars((going(pods=0),), 1.2)
    assert doubled == pytest.approx(EVICTION_DOLLARS + 1.2 * (DOUBLE_RUNNING / HOUR))


def test_what_saves_cents_is_worth_it_only_if_there_is_time_to_earn_what_it_costs() -> None:
    # 10 pods and the node: 5.5 cents; five minutes of $0.24/h: 2 cents.
    node = going(pods=10)

    said = objection(node, saves=0.03, new_cost=0.24, default=paid_back_in(2))

    assert said == (
        'NodePool "default" wants moves to pay back within 2h0m0s: '
        "this one would earn $0.06 by then, but costs $0.075"
    )
    assert objection(node, saves=0.03, new_cost=0.24, default=paid_back_in(3)) is None
    assert objection(node, saves=0.04, new_cost=0.24, default=paid_back_in(2)) is None


def test_a_node_saves_no_longer_than_it_would_have_lived() -> None:
    soon = going(pods=10, remaining=HOUR / 2)

    assert objection(soon, saves=0.1, new_cost=0.24, default=paid_back_in(2)) is not None
    assert objection(soon, saves=0.2, new_cost=0.24, default=paid_back_in(2)) is None
    assert objection(replace(soon, remaining=-HOUR), saves=9.0, default=paid_back_in(2)) is not None


def test_of_several_nodes_each_saves_its_part_for_as_long_as_it_would_have_lived() -> None:
    # $0.1/h for two hours and $0.1/h for one: 30 cents; four evictions, 2 cents.
    move = (going("one", price=0.2), going("two", price=0.2, remaining=HOUR))

    said = objection(*move, saves=0.2, new_cost=24 * 0.2, default=paid_back_in(2))

    assert said is not None
    assert "this one would earn $0.3 by then, but costs $0.42" in said


def test_each_pool_must_be_paid_back_its_part_of_what_a_move_costs() -> None:
    light, heavy = going(pool="a", price=0.2, pods=0), going(pool="b", price=0.2, pods=60)

    said = objection(light, heavy, saves=0.2, a=paid_back_in(2), b=paid_back_in(2))

    assert said is not None
    assert said.startswith('NodePool "b" wants moves to pay back')
    assert objection(light, heavy, saves=0.2, a=paid_back_in(2), b=ANY_SAVING) is None


# --- properties


@given(st.lists(candidates, min_size=1, max_size=4), terms_of_all, dollars, dollars, dollars)
def test_what_is_worth_it_stays_so_if_it_saves_more(
    removed: list[CandidateNode],
    terms: dict[str, PoolTerms],
    saves: float,
    more: float,
    new_cost: float,
) -> None:
    if objection_to(removed, saves=saves, new_cost=new_cost, terms=terms) is None:
        assert objection_to(removed, saves=saves + more, new_cost=new_cost, terms=terms) is None


@given(candidates, terms_of_all, st.floats(0.0, 1.0), dollars)
def test_a_node_that_is_not_worth_deleting_is_in_no_move_by_itself(
    node: CandidateNode, terms: dict[str, PoolTerms], part: float, new_cost: float
) -> None:
    if objection_to((node,), saves=node.cost, new_cost=0.0, terms=terms) is not None:
        assert objection_to((node,), saves=node.cost * part, new_cost=new_cost, terms=terms) is not None


@given(st.permutations((going(pool="a"), going(pool="b", pods=9), going(pool="a", price=0.4))), terms_of_all)
def test_the_order_of_nodes_does_not_matter(
    removed: list[CandidateNode], terms: dict[str, PoolTerms]
) -> None:
    in_order = sorted(removed, key=lambda node: (node.pool, node.cost))

    assert (objection_to(removed, saves=0.3, new_cost=0.3, terms=terms) is None) == (
        objection_to(in_order, saves=0.3, new_cost=0.3, terms=terms) is None
    )


@given(st.lists(candidates, min_size=1, max_size=5), dollars, dollars)
def test_the_scores_of_balanced_pools_are_the_ratio_of_the_shares(
    removed: list[CandidateNode], saves: float, cost: float
) -> None:
    terms = {pool: balanced(cost=cost + 0.1, disruption=40.0) for pool in ("a", "b", "c")}
    total = sum(node.cost for node in removed)

    scores = balanced_scores(removed, saves=saves, terms=terms)

    assert list(scores) == sorted({node.pool for node in removed})
    for pool, score in scores.items():
        own = [node for node in removed if node.pool == pool]
        part = sum(node.cost for node in own) / total if total else len(own) / len(removed)
        disruption = sum(1 + len(node.pods) for node in own)
        assert score.value == pytest.approx(saves * part / (cost + 0.1) / (disruption / 40.0))
