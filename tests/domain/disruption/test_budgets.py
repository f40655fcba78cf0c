from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, changed, claim, claim_of, gone, node_pool, view
from treenail.domain.disruption.budgets import BudgetBook
from treenail.domain.disruption.disruption import DisruptionProposed, PoolChanged
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import Budget, Disruption
from treenail.domain.model.nodes import INSTANCE_TERMINATING, Condition, NodeView, Status
from treenail.domain.model.taints import DISRUPTED

TEN = tuple(f"c{n}" for n in range(10))


def book(*budgets: Budget, nodes: tuple[str, ...] = TEN) -> BudgetBook:
    made = BudgetBook()
    pool = replace(node_pool(), disruption=Disruption(budgets=budgets))
    made.note_pool(PoolChanged(name="default", pool=pool))
    for name in nodes:
        made.note_node(changed(view(name)))
    return made


def take(known: BudgetBook, *names: str) -> tuple[str, ...]:
    return known.take(proposal(*names), START)


def proposal(*names: str, cause: Cause = Cause.EMPTY, pool: str = "default") -> DisruptionProposed:
    return DisruptionProposed(pool=pool, candidates=names, cause=cause)


@pytest.mark.parametrize(
    ("budgets", "allowed"),
    [
        pytest.param((), 10, id="no budget"),
        pytest.param((Budget(nodes=3),), 3, id="a number"),
        pytest.param((Budget(nodes=0),), 0, id="none at all"),
        pytest.param((Budget(percent=0),), 0, id="none at all, as a percentage"),
        pytest.param((Budget(percent=20),), 2, id="a percentage"),
        pytest.param((Budget(percent=11),), 2, id="a percentage rounds up"),
        pytest.param((Budget(nodes=5), Budget(percent=10)), 1, id="the tightest holds"),
        pytest.param((Budget(nodes=1, reasons=("Drifted",)),), 10, id="for another reason"),
        pytest.param((Budget(nodes=1, reasons=("Drifted", "Empty")),), 1, id="for this reason"),
        pytest.param((Budget(),), 0, id="an empty budget"),
    ],
)
def test_as_many_nodes_go_at_a_time_as_the_budgets_say(budgets: tuple[Budget, ...], allowed: int) -> None:
    assert take(book(*budgets), *TEN) == TEN[:allowed]


def test_what_was_taken_counts_until_it_is_released() -> None:
    known = book(Budget(nodes=2))

    assert take(known, "c0") == ("c0",)
    assert take(known, "c0", "c1", "c2") == ("c1",)
    known.release(("c0", "stranger"))
    assert take(known, "c2", "c3") == ("c2",)


def test_nodes_that_are_leaving_or_not_ready_use_the_budget_up() -> None:
    known = book(Budget(nodes=2))
    known.note_node(changed(view("c0", of_claim={"deleting_since": START})))
    known.note_node(changed(view("c1", of_node={"conditions": ()})))

    assert take(known, "c2") == ()
    known.note_node(changed(view("c1")))
    assert take(known, "c2", "c3") == ("c2",)


def test_a_node_that_somebody_cordoned_uses_no_budget_up() -> None:
    known = book(Budget(nodes=1))
    known.note_node(changed(view("c0", of_node={"unschedulable": True})))

    assert take(known, "c1") == ("c1",)


def test_a_node_that_bears_our_mark_does() -> None:
    known = book(Budget(nodes=1))
    known.note_node(changed(view("c0", of_node={"taints": (DISRUPTED,)})))

    assert take(known, "c1") == ()


def test_a_node_whose_instance_is_terminated_does_not_count_any_more() -> None:
    known = book(Budget(percent=50), nodes=("c0", "c1", "c2"))
    assert take(known, "c0", "c1", "c2") == ("c0", "c1")
    terminating = (*claim_of(view()).conditions, Condition(INSTANCE_TERMINATING, Status.TRUE))
    ended = {"deleting_since": START, "conditions": terminating}

    known.note_node(changed(view("c0", of_claim=ended)))

    assert take(known, "c2") == ()
    known.note_node(changed(view("c1", of_claim=ended)))
    assert take(known, "c2") == ("c2",)


def test_a_node_counts_once_even_if_it_is_both_taken_and_leaving() -> None:
    known = book(Budget(nodes=2))
    take(known, "c0")
    known.note_node(changed(view("c0", of_claim={"deleting_since": START})))

    assert take(known, "c1", "c2") == ("c1",)


def test_a_node_that_is_gone_frees_its_place_and_shrinks_the_pool() -> None:
    known = book(Budget(percent=10))
    take(known, "c0")

    known.note_node(gone("c0"))

    assert take(known, "c0", "c1", "c2") == ("c1",)


def test_only_initialized_nodes_of_the_pool_count() -> None:
    known = book(Budget(percent=50), nodes=("c0", "c1"))
    known.note_node(changed(NodeView(claim=claim("starting"))))
    known.note_node(changed(NodeView(node=view().node)))
    known.note_node(changed(view("x0", of_claim={"pool": "other"})))

    assert take(known, "c0", "c1", "starting", "x0") == ("c0",)


def test_a_node_that_is_no_longer_initialized_is_forgotten() -> None:
    known = book(Budget(nodes=5), nodes=("c0",))

    known.note_node(changed(replace(view("c0"), node=None)))

    assert take(known, "c0") == ()


@pytest.mark.parametrize("pool", ["default", "unknown"])
def test_nothing_of_a_pool_that_is_gone_is_disrupted(pool: str) -> None:
    known = book()
    known.note_pool(PoolChanged(name="default", pool=None))

    assert known.take(proposal("c0", pool=pool), START) == ()


def test_each_node_counts_against_the_budget_of_its_own_pool() -> None:
    known = book(Budget(nodes=1))
    other = replace(node_pool("other"), disruption=Disruption(budgets=(Budget(nodes=2),)))
    known.note_pool(PoolChanged(name="other", pool=other))
    for name in ("x0", "x1", "x2"):
        known.note_node(changed(view(name, of_claim={"pool": "other"})))

    assert take(known, "x0", "c0", "c1", "x1", "x2") == ("x0", "c0", "x1")
    assert known.pools_of(("x2", "c1", "stranger")) == ("default", "other")


def test_a_budget_with_a_schedule_counts_while_its_time_lasts() -> None:
    known = book(Budget(nodes=0, schedule="0 9 * * *", duration=timedelta(hours=8)))
    asked = proposal("c0")

    assert known.take(asked, START + timedelta(hours=9)) == ()
    assert known.take(asked, START + timedelta(hours=17)) == ("c0",)


def test_a_cause_that_no_budget_names_asks_none() -> None:
    known = book(Budget(nodes=0))

    assert known.take(proposal("c0", "c1", cause=Cause.GARBAGE_COLLECTED), START) == ("c0", "c1")
